/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages: what programs inside ask, what they are answered, and our own questions to the host's servers. */
#include "net/rule/dns.h"

#include <string.h>

#define HEADER 12
#define CLASS_INTERNET 1
#define FLAG_ANSWER 0x8000u
#define FLAG_CUT 0x0200u
#define FLAG_RECURSION_WANTED 0x0100u
#define FLAG_RECURSION_THERE 0x0080u
#define OPCODE_BITS 0x7800u
#define POINTER 0xc0u
/* A name may point backwards; each jump goes further back, and there are only so many. */
#define JUMPS_MAX 16
#define RECORDS_MAX 64
#define ALIASES_MAX 8

struct reader {
	const uint8_t *bytes;
	size_t len, at;
};

/* A name in dotted form, lower case, bytes that no label of ours has replaced by '?'. */
struct dns_name {
	char text[256];
	size_t len;
};

static bool read_u16(struct reader *reader, uint16_t *ret_value)
{
	if (reader->len - reader->at < 2)
		return false;
	*ret_value = (uint16_t)(reader->bytes[reader->at] << 8 | reader->bytes[reader->at + 1]);
	reader->at += 2;
	return true;
}

static bool read_u32(struct reader *reader, uint32_t *ret_value)
{
	uint16_t high, low;

	if (!read_u16(reader, &high) || !read_u16(reader, &low))
		return false;
	*ret_value = (uint32_t)high << 16 | low;
	return true;
}

static bool add_label(struct dns_name *name, const uint8_t *label, size_t len)
{
	if (name->len + len + 1 >= NET_NAME_SIZE)
		return false;
	if (name->len > 0)
		name->text[name->len++] = '.';
	for (size_t i = 0; i < len; i++) {
		char c = (char)label[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		name->text[name->len++] = c > ' ' && c < 0x7f && c != '.' ? c : '?';
	}
	name->text[name->len] = '\0';
	return true;
}

/* Moves on to where the pointer leads, which must lie before LIMIT. */
static bool follow(const struct reader *reader, size_t *at, size_t *limit)
{
	size_t target;

	if (reader->len - *at < 2)
		return false;
	target = (size_t)(reader->bytes[*at] & ~POINTER) << 8 | reader->bytes[*at + 1];
	if (target >= *limit || target < HEADER)
		return false;
	*at = *limit = target;
	return true;
}

/* Where a name is being read. */
struct walk {
	size_t at, limit; /* pointers lead further back than this */
	size_t end;	  /* behind the first pointer; 0: there was none */
	int jumps;
};

/* One label, or one jump. */
static bool walk_on(const struct reader *reader, struct walk *walk, struct dns_name *name)
{
	uint8_t len = reader->bytes[walk->at];

	if ((len & POINTER) == POINTER) {
		if (!walk->end)
			walk->end = walk->at + 2;
		return ++walk->jumps <= JUMPS_MAX && follow(reader, &walk->at, &walk->limit);
	}
	if (len & POINTER || reader->len - walk->at - 1 < len ||
	    !add_label(name, reader->bytes + walk->at + 1, len))
		return false;
	walk->at += 1u + len;
	return true;
}

static bool read_name(struct reader *reader, bool may_point, struct dns_name *ret_name)
{
	struct walk walk = { .at = reader->at, .limit = reader->at };

	ret_name->len = 0;
	ret_name->text[0] = '\0';
	while (walk.at < reader->len && reader->bytes[walk.at] != 0) {
		if (!walk_on(reader, &walk, ret_name) || (walk.jumps > 0 && !may_point))
			return false;
	}
	if (walk.at >= reader->len)
		return false;
	reader->at = walk.end ? walk.end : walk.at + 1;
	return true;
}

struct header {
	uint16_t id, flags, questions, answers, authorities, additional;
};

static bool read_header(struct reader *reader, struct header *ret_header)
{
	return read_u16(reader, &ret_header->id) && read_u16(reader, &ret_header->flags) &&
	       read_u16(reader, &ret_header->questions) && read_u16(reader, &ret_header->answers) &&
	       read_u16(reader, &ret_header->authorities) &&
	       read_u16(reader, &ret_header->additional);
}

int dns_parse_query(const uint8_t *message, size_t len, struct dns_query *ret_query)
{
	struct reader reader = { message, len, 0 };
	struct header header;
	struct dns_name name;
	uint16_t class_of;

	memset(ret_query, 0, sizeof(*ret_query));
	if (!read_header(&reader, &header) || header.flags & FLAG_ANSWER)
		return -1;
	memcpy(ret_query->bytes, message, HEADER);
	ret_query->len = HEADER;
	if (header.flags & OPCODE_BITS)
		return DNS_NOTIMP;
	if (header.questions != 1 || !read_name(&reader, false, &name) ||
	    !read_u16(&reader, &ret_query->type) || !read_u16(&reader, &class_of))
		return DNS_FORMERR;
	if (class_of != CLASS_INTERNET)
		return DNS_NOTIMP;
	memcpy(ret_query->bytes, message, reader.at);
	ret_query->len = reader.at;
	ret_query->has_name = net_name_canonical(name.text, name.len, ret_query->name);
	if (!ret_query->has_name)
		memcpy(ret_query->name, name.text,
		       name.len < NET_NAME_SIZE ? name.len + 1 : NET_NAME_SIZE - 1);
	ret_query->name[NET_NAME_SIZE - 1] = '\0';
	return DNS_OK;
}

static size_t put_u16(uint8_t *out, size_t at, unsigned value)
{
	out[at] = (uint8_t)(value >> 8);
	out[at + 1] = (uint8_t)value;
	return at + 2;
}

static size_t put_record(uint8_t *out, size_t at, const struct net_address *address, uint32_t ttl)
{
	size_t size = address->is_v6 ? 16 : 4;

	at = put_u16(out, at, 0xc000u | HEADER);
	at = put_u16(out, at, address->is_v6 ? DNS_TYPE_AAAA : DNS_TYPE_A);
	at = put_u16(out, at, CLASS_INTERNET);
	at = put_u16(out, at, ttl >> 16);
	at = put_u16(out, at, ttl & 0xffff);
	at = put_u16(out, at, (unsigned)size);
	memcpy(out + at, address->bytes, size);
	return at + size;
}

size_t dns_build_answer(const struct dns_query *query, const struct dns_answer *answer,
			uint8_t out[static DNS_MESSAGE_MAX])
{
	unsigned asked = (unsigned)(query->bytes[2] << 8 | query->bytes[3]);
	size_t at = query->len, count = 0;

	memcpy(out, query->bytes, query->len);
	for (; at > HEADER && count < answer->count; count++) {
		if (at + 28 > DNS_MESSAGE_MAX)
			break;
		at = put_record(out, at, &answer->addresses[count], answer->ttl);
	}
	put_u16(out, 2,
		FLAG_ANSWER | FLAG_RECURSION_THERE |
			(asked & (FLAG_RECURSION_WANTED | OPCODE_BITS)) | (unsigned)answer->code);
	put_u16(out, 4, query->len > HEADER);
	put_u16(out, 6, (unsigned)count);
	put_u16(out, 8, 0);
	put_u16(out, 10, 0);
	return at;
}

size_t dns_build_query(const char *name, uint16_t type, uint16_t id,
		       uint8_t out[static DNS_QUESTION_MAX])
{
	size_t at = HEADER;

	memset(out, 0, HEADER);
	put_u16(out, 0, id);
	put_u16(out, 2, FLAG_RECURSION_WANTED);
	put_u16(out, 4, 1);
	while (*name) {
		size_t len = strcspn(name, ".");

		out[at++] = (uint8_t)len;
		memcpy(out + at, name, len);
		at += len;
		name += len + (name[len] == '.');
	}
	out[at++] = 0;
	at = put_u16(out, at, type);
	return put_u16(out, at, CLASS_INTERNET);
}

struct record {
	struct dns_name owner;
	uint16_t type, class_of, size;
	uint32_t ttl;
	size_t data; /* where it starts */
};

static bool read_record(struct reader *reader, struct record *ret_record)
{
	if (!read_name(reader, true, &ret_record->owner) || !read_u16(reader, &ret_record->type) ||
	    !read_u16(reader, &ret_record->class_of) || !read_u32(reader, &ret_record->ttl) ||
	    !read_u16(reader, &ret_record->size) || reader->len - reader->at < ret_record->size)
		return false;
	ret_record->data = reader->at;
	reader->at += ret_record->size;
	return true;
}

static void take_address(const struct reader *reader, const struct record *record,
			 struct dns_answer *answer)
{
	bool is_v6 = record->type == DNS_TYPE_AAAA;

	if (record->size != (is_v6 ? 16 : 4) || answer->count == DNS_ADDRESSES_MAX)
		return;
	answer->addresses[answer->count].is_v6 = is_v6;
	memcpy(answer->addresses[answer->count++].bytes, reader->bytes + record->data,
	       record->size);
}

/* One pass over the records: addresses of NAME are taken; an alias of it takes its place. Whether it was one. */
static bool read_records(struct reader reader, size_t count, uint16_t type, struct dns_name *name,
			 struct dns_answer *answer)
{
	struct record record;

	for (size_t i = 0; i < count && i < RECORDS_MAX && read_record(&reader, &record); i++) {
		struct reader alias = { reader.bytes, reader.len, record.data };

		if (record.class_of != CLASS_INTERNET || strcmp(record.owner.text, name->text) != 0)
			continue;
		if (record.type != type && record.type != DNS_TYPE_CNAME)
			continue;
		if (record.ttl < answer->ttl)
			answer->ttl = record.ttl;
		if (record.type == type)
			take_address(&reader, &record, answer);
		else
			return read_name(&alias, true, name);
	}
	return false;
}

int dns_parse_answer(const uint8_t *message, size_t len, const struct dns_query *asked,
		     struct dns_answer *ret_answer)
{
	struct reader reader = { message, len, 0 };
	struct header header;
	struct dns_name name;
	uint16_t type, class_of;

	*ret_answer = (struct dns_answer){ .ttl = UINT32_MAX };
	if (!read_header(&reader, &header) || !(header.flags & FLAG_ANSWER) ||
	    header.id != (asked->bytes[0] << 8 | asked->bytes[1]) || header.questions != 1)
		return -1;
	if (!read_name(&reader, false, &name) || !read_u16(&reader, &type) ||
	    !read_u16(&reader, &class_of))
		return -1;
	if (strcmp(name.text, asked->name) != 0 || type != asked->type ||
	    class_of != CLASS_INTERNET)
		return -1;
	ret_answer->code = header.flags & 0xf;
	ret_answer->is_cut = header.flags & FLAG_CUT;
	for (int i = 0; i < ALIASES_MAX; i++) {
		if (!read_records(reader, header.answers, type, &name, ret_answer))
			break;
	}
	if (ret_answer->count == 0)
		ret_answer->ttl = 0;
	return 0;
}
