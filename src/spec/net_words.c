/* SPDX-License-Identifier: Apache-2.0 */
/* Network words as rules. */
#include "spec/net_words.h"

#include "base/core/own.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PREFIX "net:egress:"
#define ALL_PORTS "1-65535"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*/[]:"
#define PRESET_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-_"
#define PRESET_NAME_MAX 63
#define EXAMPLES "use example.org, *.example.net:8000-8080, udp:10.0.0.1:123, localhost:5432"

struct word {
	const char *where;
	const char *text; /* one item, between commas */
	bool is_deny;
};

static int refuse_word(const struct word *word, const char *why, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_set(err, ERROR_USAGE, "%s: '%s' is not a rule (%s)", word->where,
			 str_shown(word->text, shown), why);
}

/* Whether TEXT is "443" or "8000-8080". */
static bool is_port_range(const char *text)
{
	char *end;
	unsigned long first, last;

	if (*text < '0' || *text > '9')
		return false;
	first = last = strtoul(text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		last = strtoul(end + 1, &end, 10);
	return !*end && first >= 1 && first <= last && last <= 65535;
}

/* The ports behind a host, NULL when there are none. A colon inside [ ] is the address's. */
static const char *ports_of(const char *host)
{
	const char *colon = strrchr(host, ':');

	return colon && !strchr(colon, ']') ? colon + 1 : NULL;
}

static bool is_localhost(const char *host)
{
	return strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0;
}

/* HOST without ports: those it stands for. ONE_PORT: the port of a URL's scheme, or NULL. */
static int add_ports(const struct word *word, const char *host, const char *one_port,
		     struct strv *rules, struct error *err)
{
	bool is_udp = str_starts(host, "udp:");
	const char *name = host + (is_udp ? 4 : 0);

	/* Digits alone are a port without its host. */
	if (!name[strspn(name, "0123456789")])
		return refuse_word(word, EXAMPLES, err);
	if (word->is_deny) {
		strv_addf(rules, "%s:" ALL_PORTS, host);
		if (!is_udp)
			strv_addf(rules, "udp:%s:" ALL_PORTS, host);
		return 0;
	}
	if (is_localhost(name))
		return refuse_word(
			word, "a server of this machine is named with its port: localhost:5432",
			err);
	if (is_udp)
		return refuse_word(word, "datagrams need a port: udp:example.org:443", err);
	strv_addf(rules, "%s:%s", host, one_port ? one_port : "443");
	if (!one_port)
		strv_addf(rules, "%s:80", host);
	return 0;
}

/* [udp:]HOST:PORTS as it stands. */
static int add_place(const struct word *word, const char *place, struct strv *rules,
		     struct error *err)
{
	const char *host = place + (str_starts(place, "udp:") ? 4 : 0);
	const char *ports = ports_of(host);

	if (ports == host + 1 || !is_port_range(ports))
		return refuse_word(word, EXAMPLES, err);
	if (host[0] != '[' && memchr(host, ':', (size_t)(ports - host) - 1))
		return refuse_word(word, "an address of IPv6 stands in [ ]", err);
	strv_add(rules, place);
	return 0;
}

/* Behind "https://" or "http://": nothing but a host, perhaps with a port. */
static int add_url(const struct word *word, const char *rest, const char *scheme_port,
		   struct strv *rules, struct error *err)
{
	size_t len = strcspn(rest, "/");
	owned(free_ptr) char *host = xstrndup(rest, len);

	if (rest[len] && rest[len + 1])
		return refuse_word(word,
				   strcmp(scheme_port, "80") == 0
					   ? "a URL has no path here; requests have rules of their "
					     "own: http:HOST:80/path"
					   : "a URL has no path here; requests have rules of their "
					     "own: http:HOST:443/path",
				   err);
	if (str_starts(host, "udp:") || str_starts(host, "http:"))
		return refuse_word(word, EXAMPLES, err);
	return ports_of(host) ? add_place(word, host, rules, err)
			      : add_ports(word, host, scheme_port, rules, err);
}

/* @NAME: what it stands for is found out before the rules are planned (app/preset). */
static int add_preset(const struct word *word, const char *text, struct strv *rules,
		      struct error *err)
{
	size_t len = strspn(text + 1, PRESET_LETTERS);

	if (word->is_deny)
		return refuse_word(word, "a preset is for allow; deny its hosts one by one", err);
	if (len == 0 || len > PRESET_NAME_MAX || text[1 + len])
		return refuse_word(word, "a preset is @NAME, in small letters: @pypi", err);
	strv_add(rules, text);
	return 0;
}

static int add_item(const struct word *word, struct strv *rules, struct error *err)
{
	const char *text = word->text + (str_starts(word->text, PREFIX) ? strlen(PREFIX) : 0);
	const char *host = text + (str_starts(text, "udp:") ? 4 : 0);

	if (text[0] == '@')
		return add_preset(word, text, rules, err);

	if (str_starts(text, "http:") && !str_starts(text, "http:/")) {
		strv_add(rules, text);
		return 0;
	}
	if (!text[0] || text[strspn(text, LETTERS)])
		return refuse_word(word, EXAMPLES, err);
	if (str_starts(text, "https://"))
		return add_url(word, text + 8, "443", rules, err);
	if (str_starts(text, "http://"))
		return add_url(word, text + 7, "80", rules, err);
	return ports_of(host) ? add_place(word, text, rules, err)
			      : add_ports(word, text, NULL, rules, err);
}

/* Whether a rule, whichever word it came from, is about every host. */
static bool is_every_host(const char *rule)
{
	const char *host = rule;

	if (str_starts(rule, "udp:"))
		host += 4;
	if (str_starts(rule, "http:")) {
		size_t methods = strspn(rule + 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ,");

		host += 5 + (rule[5 + methods] == ':' ? methods + 1 : 0);
	}
	return host[0] == '*' && (!host[1] || strchr(":/", host[1]));
}

/* Where the item at TEXT ends: at a comma, but a rule about requests has commas of its own. */
static size_t item_length(const char *text)
{
	const char *body = text + (str_starts(text, PREFIX) ? strlen(PREFIX) : 0);

	if (str_starts(body, "http:") && !str_starts(body, "http:/"))
		return strlen(text);
	return strcspn(text, ",");
}

int net_words_expand(const char *word, bool is_deny, const char *where, struct strv *rules,
		     struct error *err)
{
	owned(strv_done) struct strv found = STRV_INIT;
	const char *at = word;

	for (;;) {
		size_t len = item_length(at);
		owned(free_ptr) char *text = xstrndup(at, len);
		const struct word item = { .where = where, .text = text, .is_deny = is_deny };

		if (add_item(&item, &found, err) < 0)
			return -1;
		for (size_t i = 0; i < found.count; i++) {
			if (is_every_host(found.items[i]))
				return refuse_word(&item, "every place is --net all", err);
		}
		at += len;
		if (!*at)
			break;
		at++;
	}
	for (size_t i = 0; i < found.count; i++) {
		if (!strv_has(rules, found.items[i]))
			strv_add(rules, found.items[i]);
	}
	return 0;
}
