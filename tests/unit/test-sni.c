/* SPDX-License-Identifier: Apache-2.0 */
/* The name in a TLS client's first bytes: whole, split, absent, doubled, broken. */
#include "net/rule/sni.h"
#include "tests/tap.h"

struct hello {
	uint8_t bytes[8192];
	size_t len;
};

static void put(struct hello *hello, const void *bytes, size_t len)
{
	memcpy(hello->bytes + hello->len, bytes, len);
	hello->len += len;
}

static void put_number(struct hello *hello, size_t value, size_t size)
{
	while (size-- > 0)
		hello->bytes[hello->len++] = (uint8_t)(value >> 8 * size);
}

static void put_name(struct hello *hello, const char *name)
{
	size_t len = strlen(name);

	put_number(hello, 0, 2);
	put_number(hello, len + 5, 2);
	put_number(hello, len + 3, 2);
	put_number(hello, 0, 1);
	put_number(hello, len, 2);
	put(hello, name, len);
}

/* A handshake message with COUNT names, no record around it. */
static void make(struct hello *hello, const char *const *names, size_t count)
{
	struct hello extensions = { .len = 0 }, body = { .len = 0 };
	static const uint8_t random[32];

	put(&extensions, "\0\x17\0\0", 4);
	for (size_t i = 0; i < count; i++)
		put_name(&extensions, names[i]);
	put(&extensions, "\0\x23\0\2xy", 6);
	put(&body, "\3\3", 2);
	put(&body, random, sizeof(random));
	put(&body, "\0\0\2\x13\1\1\0", 7);
	put_number(&body, extensions.len, 2);
	put(&body, extensions.bytes, extensions.len);
	hello->len = 0;
	put_number(hello, 1, 1);
	put_number(hello, body.len, 3);
	put(hello, body.bytes, body.len);
}

/* Cut into records of at most SIZE bytes. */
static void wrap(const struct hello *message, size_t size, struct hello *ret_wire)
{
	ret_wire->len = 0;
	for (size_t at = 0; at < message->len; at += size) {
		size_t part = message->len - at < size ? message->len - at : size;

		put(ret_wire, "\x16\3\1", 3);
		put_number(ret_wire, part, 2);
		put(ret_wire, message->bytes + at, part);
	}
}

static void test_whole(void)
{
	const char *names[] = { "Good.Example", "evil.example" };
	struct sni_hello hello;
	struct hello message, wire;
	bool waits = true;

	make(&message, names, 1);
	wrap(&message, 16384, &wire);
	tap_is_int(sni_read(wire.bytes, wire.len, &hello), SNI_NAME, "a hello with a name");
	tap_is_str(hello.name, "good.example", "in canonical form");
	for (size_t len = 0; len < wire.len; len++)
		waits &= sni_read(wire.bytes, len, &hello) == SNI_MORE;
	tap_ok(waits, "every part of it waits for the rest");
	put(&wire, "more", 4);
	tap_is_int(sni_read(wire.bytes, wire.len, &hello), SNI_NAME,
		   "what follows does not matter");
	tap_ok(hello.len == wire.len - 4, "and is not counted");
	wire.bytes[3] = (uint8_t)((message.len + 1) >> 8);
	wire.bytes[4] = (uint8_t)(message.len + 1);
	tap_is_int(sni_read(wire.bytes, wire.len, &hello), SNI_BROKEN,
		   "but in the same record there is nothing else");
	tap_is_int(sni_read(wire.bytes, wire.len - 4, &hello), SNI_BROKEN,
		   "nor is anything to come");
	for (size_t size = 1; size < 8; size++) {
		wrap(&message, size, &wire);
		tap_is_int(sni_read(wire.bytes, wire.len, &hello), SNI_NAME,
			   "in records of %zu bytes", size);
	}
	make(&message, names, 2);
	wrap(&message, 16384, &wire);
	tap_is_int(sni_read(wire.bytes, wire.len, &hello), SNI_BROKEN, "two names are no name");
	make(&message, NULL, 0);
	wrap(&message, 16384, &wire);
	tap_is_int(sni_read(wire.bytes, wire.len, &hello), SNI_ABSENT, "none");
}

static void test_names(void)
{
	static const char *const bad[] = {
		"", "a..b", "1.2.3.4", "a b", "ok.example@evil", "\xc3\xbc.de"
	};
	struct sni_hello hello;
	struct hello message, wire;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make(&message, &bad[i], 1);
		wrap(&message, 16384, &wire);
		tap_is_int(sni_read(wire.bytes, wire.len, &hello), SNI_BROKEN, "no name: %zu", i);
	}
}

static void test_others(void)
{
	static const uint8_t flood[SNI_BYTES_MAX] = { 0x16, 3, 1, 0x40, 0, 1, 0, 0x7f, 0 };
	struct sni_hello hello;

	tap_is_int(sni_read((const uint8_t *)"GET / HTTP/1.1", 14, &hello), SNI_NOT_TLS, "HTTP");
	tap_is_int(sni_read((const uint8_t *)"SSH-2.0", 7, &hello), SNI_NOT_TLS, "SSH");
	tap_is_int(sni_read((const uint8_t *)"\x16\2\0\0\4\1\0\0\0", 9, &hello), SNI_BROKEN,
		   "an old version");
	tap_is_int(sni_read((const uint8_t *)"\x16\3\1\0\0", 5, &hello), SNI_BROKEN,
		   "an empty record");
	tap_is_int(sni_read((const uint8_t *)"\x16\3\1\0\4\2\0\0\0", 9, &hello), SNI_BROKEN,
		   "another message");
	tap_is_int(sni_read(flood, sizeof(flood), &hello), SNI_BROKEN, "a hello without end");
}

/* What a server would read on behind, or take for a hello, is not another protocol. */
static void test_disguises(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum sni found;
		const char *what;
	} rows[] = {
		{ "\x15\3\1\0\2\1\x5a", 7, SNI_BROKEN, "a warning in front" },
		{ "\x14\3\3\0\1\1", 6, SNI_BROKEN, "a change of keys in front" },
		{ "\x17\3\3\0\1x", 6, SNI_BROKEN, "data in front" },
		{ "\x18\3\3\0\1x", 6, SNI_BROKEN, "a heartbeat in front" },
		{ "\x15", 1, SNI_MORE, "the beginning of a warning" },
		{ "\x15\0\0\0", 4, SNI_NOT_TLS, "something else that begins so" },
		{ "\x80\x2e\1\3\1\0\x15", 7, SNI_ABSENT, "a hello of the oldest form" },
		{ "\x80\x2e\1", 3, SNI_MORE, "the beginning of one" },
		{ "\x80\x2e\1\0\2", 5, SNI_NOT_TLS, "one that offers no TLS" },
		{ "\x80\0\0\3", 4, SNI_NOT_TLS, "a cache's request" },
	};
	struct sni_hello hello;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_is_int(sni_read((const uint8_t *)rows[i].bytes, rows[i].len, &hello),
			   rows[i].found, "%s", rows[i].what);
}

int main(void)
{
	test_whole();
	test_names();
	test_others();
	test_disguises();
	return tap_done();
}
