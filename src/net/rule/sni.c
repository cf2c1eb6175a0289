/* SPDX-License-Identifier: Apache-2.0 */
/* The name a TLS client asks for, read from its first bytes. */
#include "net/rule/sni.h"

#include <string.h>

#define RECORD_FIRST 20
#define RECORD_HANDSHAKE 22
#define RECORD_LAST 24
#define RECORD_MAX 16384u
#define VERSION_MAJOR 3
#define CLIENT_HELLO 1
#define SERVER_HELLO 2
#define EXTENSION_NAME 0
#define NAME_HOST 0

struct bytes {
	const uint8_t *at;
	size_t len;
};

/* Takes a number of SIZE bytes. */
static bool take(struct bytes *from, size_t size, size_t *ret_value)
{
	size_t value = 0;

	if (from->len < size)
		return false;
	for (size_t i = 0; i < size; i++)
		value = value << 8 | from->at[i];
	from->at += size;
	from->len -= size;
	*ret_value = value;
	return true;
}

/* Takes a field with a length of SIZE bytes in front. */
static bool take_part(struct bytes *from, size_t size, struct bytes *ret_part)
{
	size_t len;

	if (!take(from, size, &len) || from->len < len)
		return false;
	*ret_part = (struct bytes){ from->at, len };
	from->at += len;
	from->len -= len;
	return true;
}

static enum sni read_names(struct bytes extension, char *ret_name)
{
	struct bytes list, name;
	size_t kind;

	if (!take_part(&extension, 2, &list) || extension.len > 0 || !take(&list, 1, &kind) ||
	    !take_part(&list, 2, &name) || list.len > 0 || kind != NAME_HOST)
		return SNI_BROKEN;
	return net_name_canonical((const char *)name.at, name.len, ret_name) ? SNI_NAME
									     : SNI_BROKEN;
}

/* A second name would be read by some servers and not by others. */
static enum sni read_extensions(struct bytes list, char *ret_name)
{
	enum sni found = SNI_ABSENT;
	struct bytes extension;
	size_t type;

	while (list.len > 0) {
		if (!take(&list, 2, &type) || !take_part(&list, 2, &extension))
			return SNI_BROKEN;
		if (type != EXTENSION_NAME)
			continue;
		if (found != SNI_ABSENT)
			return SNI_BROKEN;
		found = read_names(extension, ret_name);
		if (found != SNI_NAME)
			return found;
	}
	return found;
}

static enum sni read_hello(struct bytes hello, char *ret_name)
{
	struct bytes session, suites, compressions, extensions;
	size_t version, random;

	if (!take(&hello, 2, &version) || version >> 8 != VERSION_MAJOR)
		return SNI_BROKEN;
	for (int i = 0; i < 32; i++) {
		if (!take(&hello, 1, &random))
			return SNI_BROKEN;
	}
	if (!take_part(&hello, 1, &session) || !take_part(&hello, 2, &suites) ||
	    !take_part(&hello, 1, &compressions))
		return SNI_BROKEN;
	if (hello.len == 0)
		return SNI_ABSENT;
	if (!take_part(&hello, 2, &extensions) || hello.len > 0)
		return SNI_BROKEN;
	return read_extensions(extensions, ret_name);
}

/* The message so far: SNI_MORE until it is whole. */
static enum sni read_message(struct bytes message, char *ret_name)
{
	size_t kind, size;

	if (!take(&message, 1, &kind) || !take(&message, 3, &size))
		return SNI_MORE;
	if (kind != CLIENT_HELLO || size > SNI_BYTES_MAX - 4)
		return SNI_BROKEN;
	if (message.len < size)
		return SNI_MORE;
	/* Keys change behind it: what stands in the same record is nothing a client would send. */
	if (message.len > size)
		return SNI_BROKEN;
	return read_hello((struct bytes){ message.at, size }, ret_name);
}

/* Takes one record, whole or RET_MISSING bytes short. SNI_MORE when there was none to take, SNI_NAME when there was. */
static enum sni take_record(struct bytes *from, struct bytes *ret_record, size_t *ret_missing)
{
	size_t kind, version, size;

	if (!take(from, 1, &kind) || !take(from, 2, &version) || !take(from, 2, &size))
		return SNI_MORE;
	if (kind != RECORD_HANDSHAKE || version >> 8 != VERSION_MAJOR || size == 0 ||
	    size > RECORD_MAX)
		return SNI_BROKEN;
	*ret_missing = size > from->len ? size - from->len : 0;
	size -= *ret_missing;
	*ret_record = (struct bytes){ from->at, size };
	from->at += size;
	from->len -= size;
	return SNI_NAME;
}

/*
 * Other ways to begin TLS. Servers read on behind a warning, or another record, and would find a ClientHello there that
 * was not checked; the oldest form of one has no room for a name.
 */
static enum sni read_disguise(const uint8_t *bytes, size_t len)
{
	bool is_record = bytes[0] >= RECORD_FIRST && bytes[0] <= RECORD_LAST;
	bool is_oldest = bytes[0] & 0x80 && (len < 3 || bytes[2] == CLIENT_HELLO);

	if (is_record && len < 2)
		return SNI_MORE;
	if (is_record && bytes[1] == VERSION_MAJOR)
		return SNI_BROKEN;
	if (is_oldest && len < 4)
		return SNI_MORE;
	return is_oldest && bytes[3] == VERSION_MAJOR ? SNI_ABSENT : SNI_NOT_TLS;
}

enum sni sni_read(const uint8_t *bytes, size_t len, struct sni_hello *ret_hello)
{
	uint8_t message[SNI_BYTES_MAX];
	struct bytes from = { bytes, len < SNI_BYTES_MAX ? len : SNI_BYTES_MAX }, record;
	enum sni found = SNI_MORE;
	size_t have = 0, missing = 0;

	if (from.len > 0 && bytes[0] != RECORD_HANDSHAKE)
		return read_disguise(bytes, from.len);
	while (found == SNI_MORE) {
		enum sni taken = take_record(&from, &record, &missing);

		if (taken == SNI_BROKEN)
			return taken;
		if (taken == SNI_MORE)
			break;
		memcpy(message + have, record.at, record.len);
		have += record.len;
		found = read_message((struct bytes){ message, have }, ret_hello->name);
	}
	ret_hello->len = (size_t)(from.at - bytes);
	/* The rest of its record would be something that stands behind it. */
	if (found == SNI_NAME && missing > 0)
		return SNI_BROKEN;
	if (found != SNI_MORE)
		return found;
	return len >= SNI_BYTES_MAX ? SNI_BROKEN : SNI_MORE;
}

bool sni_is_handshake(const uint8_t header[static SNI_RECORD_HEADER], size_t *ret_len)
{
	*ret_len = SNI_RECORD_HEADER + ((size_t)header[3] << 8 | header[4]);
	return header[0] == RECORD_HANDSHAKE;
}

bool sni_asks_again(const uint8_t answer[static SNI_ANSWER_BYTES])
{
	/* What stands in place of a random number then (RFC 8446, 4.1.3). */
	static const uint8_t again[] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
					 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
					 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
					 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };

	return answer[0] == RECORD_HANDSHAKE && answer[SNI_RECORD_HEADER] == SERVER_HELLO &&
	       memcmp(answer + SNI_ANSWER_BYTES - sizeof(again), again, sizeof(again)) == 0;
}
