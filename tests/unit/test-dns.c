/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages: questions, answers, aliases, and bytes that pretend to be one of them. */
#include "net/rule/dns.h"
#include "net/rule/hosts.h"
#include "tests/tap.h"

#define TEXT(text) (const uint8_t *)(text), sizeof(text) - 1
#define HEADER(flags, answers) "\x12\x34" flags "\0\1" answers "\0\0\0\0"
#define QUESTION "\4GooD\7example\0"
#define A "\0\1\0\1"

static void test_query(void)
{
	struct dns_query query;

	tap_is_int(dns_parse_query(TEXT(HEADER("\1\0", "\0\0") QUESTION A), &query), DNS_OK,
		   "a question");
	tap_is_str(query.name, "good.example", "in canonical form");
	tap_is_int(query.type, DNS_TYPE_A, "its type");
	tap_is_int((int)query.len, 30, "its bytes are kept");
	tap_is_int(dns_parse_query(TEXT(HEADER("\x81\0", "\0\0") QUESTION A), &query), -1,
		   "an answer is not answered");
	tap_is_int(dns_parse_query(TEXT("\x12\x34\1\0\0\1\0\0\0\0\0"), &query), -1,
		   "half a header");
	tap_is_int(dns_parse_query(TEXT(HEADER("\x28\0", "\0\0") QUESTION A), &query), DNS_NOTIMP,
		   "an update");
	tap_is_int(
		dns_parse_query(TEXT("\x12\x34\1\0\0\2\0\0\0\0\0\0" QUESTION A QUESTION A), &query),
		DNS_FORMERR, "two questions");
	tap_is_int(dns_parse_query(TEXT(HEADER("\1\0", "\0\0") QUESTION "\0\1\0\3"), &query),
		   DNS_NOTIMP, "another class");
	tap_is_int(dns_parse_query(TEXT(HEADER("\1\0", "\0\0") "\xc0\x0c" A), &query), DNS_FORMERR,
		   "a name that points at itself");
	tap_is_int(dns_parse_query(TEXT(HEADER("\1\0", "\0\0") "\x3fshort"), &query), DNS_FORMERR,
		   "a label longer than the message");
	tap_is_int(dns_parse_query(TEXT(HEADER("\1\0", "\0\0") "\3a\0b\0" A), &query), DNS_OK,
		   "a NUL in a label");
	tap_ok(!query.has_name, "is no name");
	tap_is_int(dns_parse_query(TEXT(HEADER("\1\0", "\0\0") "\3a.b\0" A), &query), DNS_OK,
		   "a dot in a label");
	tap_ok(!query.has_name, "is no name either");
	tap_is_int(dns_parse_query(TEXT(HEADER("\1\0", "\0\0") "\0" A), &query), DNS_OK,
		   "the root");
	tap_ok(!query.has_name, "is no name");
}

static void test_long_names(void)
{
	uint8_t bytes[DNS_MESSAGE_MAX] = "\x12\x34\1\0\0\1\0\0\0\0\0";
	struct dns_query query;
	size_t at = 12;

	for (int i = 0; i < 4; i++) {
		bytes[at] = i < 3 ? 63 : 61;
		memset(bytes + at + 1, 'a', bytes[at]);
		at += 1u + bytes[at];
	}
	memcpy(bytes + at, "\0" A, 5);
	tap_is_int(dns_parse_query(bytes, at + 5, &query), DNS_OK, "a name of 253 bytes");
	tap_is_int((int)query.len, DNS_QUESTION_MAX, "fills the room for it");
	bytes[12 + 3 * 64] = 62;
	bytes[at] = 'a';
	memcpy(bytes + at + 1, "\0" A, 5);
	tap_is_int(dns_parse_query(bytes, at + 6, &query), DNS_FORMERR, "one more does not");
}

static void test_answer(void)
{
	struct dns_query query;
	struct dns_answer answer = { .ttl = 300 }, read;
	uint8_t out[DNS_MESSAGE_MAX];
	size_t len;

	dns_parse_query(TEXT(HEADER("\1\0", "\0\0") QUESTION A), &query);
	for (uint8_t i = 0; i < DNS_ADDRESSES_MAX; i++)
		answer.addresses[answer.count++] = (struct net_address){ false, { 1, 2, 3, i } };
	len = dns_build_answer(&query, &answer, out);
	tap_ok(memcmp(out + 12, QUESTION, 14) == 0, "the question comes back in its own case");
	tap_is_int(dns_parse_answer(out, len, &query, &read), 0, "read back");
	tap_is_int((int)read.count, DNS_ADDRESSES_MAX, "all addresses");
	tap_is_int(read.ttl, 300, "their time");
	answer = (struct dns_answer){ .code = DNS_NXDOMAIN };
	len = dns_build_answer(&query, &answer, out);
	tap_is_int(dns_parse_answer(out, len, &query, &read), 0, "no such name");
	tap_is_int(read.code, DNS_NXDOMAIN, "read back");
	query.bytes[0] ^= 1;
	tap_is_int(dns_parse_answer(out, len, &query, &read), -1, "another number");
	query.bytes[0] ^= 1;
	query.type = DNS_TYPE_AAAA;
	tap_is_int(dns_parse_answer(out, len, &query, &read), -1, "another type");
}

static int parse(const uint8_t *bytes, size_t len, struct dns_answer *ret_answer)
{
	struct dns_query asked;

	dns_parse_query(TEXT(HEADER("\1\0", "\0\0") QUESTION A), &asked);
	return dns_parse_answer(bytes, len, &asked, ret_answer);
}

#define TTL(seconds) "\0\0\0" seconds

static void test_aliases(void)
{
	struct dns_answer answer;

	/* good.example -> cdn.example -> 1.2.3.4 */
	tap_is_int(parse(TEXT(HEADER("\x81\x80", "\0\2") QUESTION A "\xc0\x0c\0\5\0\1" TTL(
				 "\x09") "\0\6\3cdn\xc0\x11"
					 "\xc0\x2a\0\1\0\1" TTL("\x1e") "\0\4\1\2\3\4"),
			 &answer),
		   0, "an alias");
	tap_is_int((int)answer.count, 1, "is followed");
	tap_is_int(answer.ttl, 9, "the shortest time counts");
	tap_is_int(parse(TEXT(HEADER("\x81\x80", "\0\1") QUESTION A
			      "\4evil\xc0\x11\0\1\0\1" TTL("\x1e") "\0\4\1\2\3\4"),
			 &answer),
		   0, "an address of somebody else");
	tap_is_int((int)answer.count, 0, "is not taken");
	tap_is_int(parse(TEXT(HEADER("\x81\x80", "\0\1") QUESTION A
			      "\xc0\x0c\0\5\0\1" TTL("\x09") "\0\2\xc0\x0c"),
			 &answer),
		   0, "an alias of itself ends");
	tap_is_int(parse(TEXT(HEADER("\x81\x80", "\xff\xff") QUESTION A "\xc0\x0c\0\1"), &answer),
		   0, "records that are not there");
	tap_is_int((int)answer.count, 0, "are not taken");
	tap_is_int(parse(TEXT(HEADER("\x81\x80", "\0\1") QUESTION A
			      "\xc0\x0c\0\1\0\1" TTL("\x1e") "\0\5\1\2\3\4\5"),
			 &answer),
		   0, "five bytes of address");
	tap_is_int((int)answer.count, 0, "are none");
}

static void test_build_query(void)
{
	uint8_t out[DNS_QUESTION_MAX];
	size_t len = dns_build_query("good.example", DNS_TYPE_AAAA, 0x1234, out);

	tap_is_int((int)len, 30, "length of a question");
	tap_ok(memcmp(out, HEADER("\1\0", "\0\0") "\4good\7example\0\0\x1c\0\1", len) == 0,
	       "its bytes");
}

/* The gateway never does. */
static void free_hosts(struct net_hosts *hosts)
{
	for (size_t i = 0; i < hosts->entry_count; i++)
		free(hosts->entries[i].name);
	free(hosts->entries);
}

static void test_hosts(void)
{
	struct net_hosts hosts;
	struct dns_answer answer;

	net_hosts_parse("# none\nnameserver 127.0.0.53\nnameserver nonsense\n"
			"options edns0 timeout:1 attempts:9\nnameserver 2001:db8::53\n"
			"nameserver 1.1.1.1\nnameserver 8.8.8.8",
			"127.0.0.1 localhost # here\n198.51.100.7\tBox.Example box\r\n"
			"2001:db8::7 box\nnonsense a\n198.51.100.8 box",
			&hosts);
	tap_is_int((int)hosts.server_count, 3, "three servers at most");
	tap_is_int((int)hosts.timeout_ms, 1000, "timeout");
	tap_is_int((int)hosts.attempts, 5, "attempts, within reason");
	tap_ok(net_hosts_find(&hosts, "box.example", DNS_TYPE_A, &answer), "a name of the file");
	tap_is_int((int)answer.count, 1, "its address");
	tap_ok(net_hosts_find(&hosts, "box", DNS_TYPE_A, &answer) && answer.count == 2,
	       "two addresses");
	tap_ok(net_hosts_find(&hosts, "box", DNS_TYPE_AAAA, &answer) && answer.count == 1,
	       "and one of IPv6");
	tap_ok(!net_hosts_find(&hosts, "here", DNS_TYPE_A, &answer), "a comment is none");
	tap_ok(!net_hosts_find(&hosts, "a", DNS_TYPE_A, &answer), "nor a broken line");
	free_hosts(&hosts);
	net_hosts_parse("", "", &hosts);
	tap_is_int((int)hosts.server_count, 1, "without a file: this machine");
	free_hosts(&hosts);
}

int main(void)
{
	test_query();
	test_long_names();
	test_answer();
	test_aliases();
	test_build_query();
	test_hosts();
	return tap_done();
}
