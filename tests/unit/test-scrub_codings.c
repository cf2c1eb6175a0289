/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets in every coding, at every alignment, cut into two writes at every place and byte by byte: none gets through, and
 * what stands around them does. Secrets and surroundings come from a seed: AISBX_SEED, AISBX_ROUNDS.
 */
#include "run/scrub.h"

#include "base/core/own.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "TOKEN"
#define LABEL "[secret " NAME "]"

static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % limit;
}

/* Bytes before and after the secret that are encoded with it, and the secret. */
struct sample {
	unsigned char bytes[256];
	size_t len, secret_from, secret_len;
};

typedef void (*coding)(const struct sample *sample, struct str *out);

static void put_base64(const struct sample *sample, const char *alphabet, size_t width,
		       const char *line_end, struct str *out)
{
	size_t column = 0;

	for (size_t i = 0; i < sample->len; i += 3) {
		size_t left = sample->len - i;
		unsigned value = (unsigned)sample->bytes[i] << 16 |
				 (left > 1 ? (unsigned)sample->bytes[i + 1] << 8 : 0) |
				 (left > 2 ? sample->bytes[i + 2] : 0);

		for (size_t j = 0; j < 4; j++) {
			if (width && column++ == width) {
				str_add(out, line_end);
				column = 1;
			}
			str_add_char(out, j <= left ? alphabet[value >> (18 - 6 * j) & 63] : '=');
		}
	}
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static void base64(const struct sample *sample, struct str *out)
{
	put_base64(sample, LETTERS "+/", 0, "", out);
}

static void base64_url(const struct sample *sample, struct str *out)
{
	put_base64(sample, LETTERS "-_", 0, "", out);
}

static void base64_wrapped(const struct sample *sample, struct str *out)
{
	put_base64(sample, LETTERS "+/", 19, "\n", out);
}

static void base64_indented(const struct sample *sample, struct str *out)
{
	put_base64(sample, LETTERS "+/", 20, "\r\n    ", out);
}

static void put_hex(const struct sample *sample, const char *format, const char *between,
		    size_t width, struct str *out)
{
	char text[16];

	for (size_t i = 0; i < sample->len; i++) {
		if (i > 0)
			str_add(out, width && i % width == 0 ? "\n" : between);
		(void)snprintf(text, sizeof(text), strcmp(format, "upper") == 0 ? "%02X" : "%02x",
			       sample->bytes[i]);
		if (strcmp(format, "0x") == 0)
			str_add(out, format);
		str_add(out, text);
	}
}

static void hex_lower(const struct sample *sample, struct str *out)
{
	put_hex(sample, "lower", "", 0, out);
}

static void hex_upper(const struct sample *sample, struct str *out)
{
	put_hex(sample, "upper", "", 0, out);
}

static void hex_odd(const struct sample *sample, struct str *out)
{
	str_add(out, "f");
	put_hex(sample, "lower", "", 9, out);
}

static void hex_wrapped(const struct sample *sample, struct str *out)
{
	put_hex(sample, "lower", "", 7, out);
}

static void hex_colons(const struct sample *sample, struct str *out)
{
	put_hex(sample, "upper", ":", 15, out);
}

static void hex_prefixed(const struct sample *sample, struct str *out)
{
	put_hex(sample, "0x", ", ", 8, out);
}

/* As xxd, hexdump -C and od write it: an offset, bytes, and for the first two the same as text. */
static void put_dump(const struct sample *sample, const char *kind, struct str *out)
{
	for (size_t line = 0; line < sample->len; line += 16) {
		size_t count = sample->len - line < 16 ? sample->len - line : 16;

		str_addf(out,
			 kind[0] == 'x'	  ? "%08zx:"
			 : kind[0] == 'h' ? "%08zx "
					  : "%07zo",
			 line);
		for (size_t i = 0; i < 16; i++) {
			if (kind[0] != 'x' || i % 2 == 0)
				str_add_char(out, ' ');
			if (kind[0] == 'h' && i == 8)
				str_add_char(out, ' ');
			if (i < count)
				str_addf(out, "%02x", sample->bytes[line + i]);
			else if (kind[0] != 'o')
				str_add(out, "  ");
		}
		if (kind[0] != 'o')
			str_add(out, kind[0] == 'h' ? "  |" : "  ");
		for (size_t i = 0; kind[0] != 'o' && i < count; i++) {
			unsigned char c = sample->bytes[line + i];

			str_add_char(out, c >= ' ' && c < 0x7f ? (char)c : '.');
		}
		str_add(out, kind[0] == 'h' ? "|\n" : "\n");
	}
}

static void dump_xxd(const struct sample *sample, struct str *out)
{
	put_dump(sample, "xxd", out);
}

static void dump_hexdump(const struct sample *sample, struct str *out)
{
	put_dump(sample, "hexdump", out);
}

static void dump_od(const struct sample *sample, struct str *out)
{
	put_dump(sample, "od", out);
}

static bool is_plain(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void percent(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++) {
		if (is_plain(sample->bytes[i]))
			str_add_char(out, (char)sample->bytes[i]);
		else
			str_addf(out, i % 2 ? "%%%02x" : "%%%02X", sample->bytes[i]);
	}
}

static void percent_all(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++)
		str_addf(out, i % 3 ? "%%%02x" : "%%%02X", sample->bytes[i]);
}

static void form(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++) {
		if (sample->bytes[i] == ' ')
			str_add_char(out, '+');
		else if (is_plain(sample->bytes[i]))
			str_add_char(out, (char)sample->bytes[i]);
		else
			str_addf(out, "%%%02X", sample->bytes[i]);
	}
}

/* Only ASCII: what is beyond has other bytes in JSON. */
static void json(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++) {
		unsigned char c = sample->bytes[i];

		if (c == '"' || c == '\\' || c == '/')
			str_addf(out, "\\%c", c);
		else if (c == '\n' || c == '\t')
			str_add(out, c == '\n' ? "\\n" : "\\t");
		else if (c < ' ' || i % 5 == 0)
			str_addf(out, i % 2 ? "\\u%04x" : "\\u%04X", c);
		else
			str_add_char(out, (char)c);
	}
}

static void json_all(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++)
		str_addf(out, "\\u%04x", sample->bytes[i]);
}

static void backslash_hex(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++)
		str_addf(out, "\\x%02x", sample->bytes[i]);
}

static void backslash_octal(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++)
		str_addf(out, "\\%03o", sample->bytes[i]);
}

static void shell_quoted(const struct sample *sample, struct str *out)
{
	for (size_t i = 0; i < sample->len; i++) {
		if (sample->bytes[i] == '\n')
			str_add(out, "\\n");
		else if (is_plain(sample->bytes[i]))
			str_add_char(out, (char)sample->bytes[i]);
		else
			str_addf(out, "\\%c", sample->bytes[i]);
	}
}

static const struct {
	const char *name;
	coding encode;
} codings[] = {
	{ "base64", base64 },
	{ "base64 for addresses", base64_url },
	{ "base64 in lines", base64_wrapped },
	{ "base64 in indented lines", base64_indented },
	{ "hexadecimal", hex_lower },
	{ "hexadecimal, capitals", hex_upper },
	{ "hexadecimal behind another digit", hex_odd },
	{ "hexadecimal in lines", hex_wrapped },
	{ "hexadecimal with colons", hex_colons },
	{ "hexadecimal with 0x", hex_prefixed },
	{ "a dump by xxd", dump_xxd },
	{ "a dump by hexdump", dump_hexdump },
	{ "a dump by od", dump_od },
	{ "percent", percent },
	{ "percent, every byte", percent_all },
	{ "a form", form },
	{ "JSON", json },
	{ "JSON, every byte", json_all },
	{ "backslash and hexadecimal", backslash_hex },
	{ "backslash and octal", backslash_octal },
	{ "a shell's backslashes", shell_quoted },
};

/* Digits and letters; letters, digits and signs; long enough to span lines. All in ASCII, and none looks like a word. */
static void make_secret(struct sample *sample, unsigned kind, unsigned before)
{
	static const char signs[] = " \"\\/%+&='$!~#\n\t";
	size_t len = kind == 2 ? 32 + random_below(33) : 8 + random_below(24);

	memset(sample, 0, sizeof(*sample));
	for (unsigned i = 0; i < before; i++)
		sample->bytes[sample->len++] = (unsigned char)('G' + random_below(10));
	sample->secret_from = sample->len;
	sample->secret_len = len;
	for (size_t i = 0; i < len; i++) {
		char c = LETTERS[random_below(62)];

		if (kind == 1 && i > 0 && i + 1 < len && i % 3 == 1)
			c = signs[random_below(sizeof(signs) - 1)];
		/* Two of them, so that no other part of the stream can be taken for it. */
		sample->bytes[sample->len++] = (unsigned char)(i == 0 ? 'q' : i == 1 ? '7' : c);
	}
	for (unsigned i = 0; i < 5; i++)
		sample->bytes[sample->len++] = (unsigned char)('G' + random_below(10));
}

/* The text in two writes, cut at CUT, or with 0 byte by byte. The caller frees the answer. */
static char *scrubbed(const struct scrub_words *words, const struct str *text, size_t cut)
{
	struct scrub scrub;
	struct str out = STR_INIT;

	scrub_init(&scrub, words);
	for (size_t i = 0; cut == 0 && i < text->len; i++)
		scrub_add(&scrub, text->data + i, 1, &out);
	if (cut > 0) {
		scrub_add(&scrub, text->data, cut, &out);
		scrub_add(&scrub, text->data + cut, text->len - cut, &out);
	}
	scrub_end(&scrub, &out);
	scrub_done(&scrub);
	return str_detach(&out);
}

static void check_coding(const struct sample *sample, const struct scrub_words *words, size_t which)
{
	struct sample alone = { 0 };
	owned(str_done) struct str text = STR_INIT, plain = STR_INIT;
	owned(free_ptr) char *whole = NULL;
	size_t wrong = 0;

	/* What the middle of it looks like must not be there any more. */
	alone.len = sample->secret_len;
	memcpy(alone.bytes, sample->bytes + sample->secret_from, alone.len);
	codings[which].encode(&alone, &plain);
	str_add(&text, "before: <\n");
	codings[which].encode(sample, &text);
	str_add(&text, "\n>; after it, done\n");
	whole = scrubbed(words, &text, text.len);
	for (size_t cut = 0; cut < text.len; cut++) {
		owned(free_ptr) char *got = scrubbed(words, &text, cut);

		if (strcmp(got, whole) != 0 && wrong++ == 0)
			tap_ok(false, "%s: cut at %zu it is '%s', not '%s'", codings[which].name,
			       cut, got, whole);
	}
	if (!strstr(whole, LABEL) || strstr(whole, str_cstr(&plain)) ||
	    strncmp(whole, "before: <\n", 10) != 0 || !strstr(whole, "\n>; after it, done\n") ||
	    strlen(whole) > text.len - sample->secret_len + strlen(LABEL))
		tap_ok(false, "%s: '%s' became '%s'", codings[which].name, str_cstr(&text), whole);
	else
		tap_ok(wrong == 0, "%s, %u bytes in front, %zu long", codings[which].name,
		       (unsigned)sample->secret_from, sample->secret_len);
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

/* Ordinary text, numbers and encoded things are left as they are. */
static void test_untouched(const struct secrets *secrets)
{
	static const char *const texts[] = {
		"100% of 50%, 5%25\\n \\u00 \\x4 \\ \\\\ %zz %",
		"0x00 0xff deadbeef 00:1a:2b 2026-11-17T04:48:20 127.0.0.1:8080",
		"00000000: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............\n",
		"SGVsbG8sIHdvcmxkIQ== and eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0\n",
		"\\ud83d\\ude00 \\ud83d x \\U0001f600 \\777 \\8",
	};
	struct scrub_words words;

	scrub_words_init(&words, secrets);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		owned(str_done) struct str text = STR_INIT;

		str_add(&text, texts[i]);
		for (size_t cut = 0; cut < text.len; cut++) {
			owned(free_ptr) char *got = scrubbed(&words, &text, cut);

			if (strcmp(got, texts[i]) != 0 || cut + 1 == text.len)
				tap_is_str(got, texts[i], "untouched, cut at %zu", cut);
		}
	}
	scrub_words_done(&words);
}

static void test_pairs(void)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	owned(str_done) struct str text = STR_INIT;
	struct scrub_words words;
	struct error err = { 0 };

	(void)secrets_add(&secrets, NAME, "key-\xf0\x9f\x98\x80-\xc3\xa9", 11, &err);
	scrub_words_init(&words, &secrets);
	str_add(&text, "x=\"key-\\ud83d\\ude00-\\u00e9\";");
	for (size_t cut = 0; cut < text.len; cut++) {
		owned(free_ptr) char *got = scrubbed(&words, &text, cut);

		if (strcmp(got, "x=\"" LABEL "\";") != 0 || cut + 1 == text.len)
			tap_is_str(got, "x=\"" LABEL "\";", "characters beyond ASCII, cut at %zu",
				   cut);
	}
	scrub_words_done(&words);
}

int main(void)
{
	unsigned long rounds = setting("AISBX_ROUNDS", 2), seed = setting("AISBX_SEED", 20261117);
	struct sample sample;

	printf("# AISBX_SEED=%lu AISBX_ROUNDS=%lu\n", seed, rounds);
	random_state = seed;
	for (unsigned long i = 0; i < rounds * 9; i++) {
		owned(secrets_done) struct secrets secrets = { 0 };
		struct scrub_words words;
		struct error err = { 0 };

		make_secret(&sample, (unsigned)(i / 3 % 3), (unsigned)(i % 3));
		if (secrets_add(&secrets, NAME, (char *)sample.bytes + sample.secret_from,
				sample.secret_len, &err) < 0)
			tap_bail(err.text);
		scrub_words_init(&words, &secrets);
		for (size_t which = 0; which < sizeof(codings) / sizeof(codings[0]); which++)
			check_coding(&sample, &words, which);
		scrub_words_done(&words);
		if (i == 0)
			test_untouched(&secrets);
	}
	test_pairs();
	return tap_done();
}
