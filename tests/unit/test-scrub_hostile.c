/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that are made to keep the scrubber waiting, or to mislead it: what it holds is bounded, how a stream is cut into
 * writes changes nothing, and all that is no secret comes out as it went in. From a seed: AISBX_SEED, AISBX_ROUNDS.
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

/* One secret, and its patterns. */
struct setting {
	struct secrets secrets;
	struct scrub_words words;
	char value[80];
	size_t len;
};

static void set_secret(struct setting *setting, const char *value, size_t len)
{
	struct error err = { 0 };

	memset(setting, 0, sizeof(*setting));
	memcpy(setting->value, value, len);
	setting->len = len;
	if (secrets_add(&setting->secrets, NAME, value, len, &err) < 0)
		tap_bail(err.text);
	scrub_words_init(&setting->words, &setting->secrets);
}

static void setting_done(struct setting *setting)
{
	scrub_words_done(&setting->words);
	secrets_done(&setting->secrets);
}

/* The few letters make parts of it turn up again and again. */
static void set_random(struct setting *setting)
{
	static const char *const alphabets[] = {
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
		"aab0",
		"0123456789abcdef",
		"\\%u0d8+ \"x/-_",
		"the quick brown fox",
	};
	const char *alphabet = alphabets[random_below(5)];
	size_t len = 8 + random_below(57);
	char value[80];

	for (size_t i = 0; i < len; i++)
		value[i] = alphabet[random_below((unsigned)strlen(alphabet))];
	/* Line ends at the end are cut off, blanks are not. */
	value[len - 1] = 'z';
	set_secret(setting, value, len);
}

static void add_base64(struct str *out, const unsigned char *bytes, size_t len, bool is_wrapped)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t bit = 0; bit < len * 8; bit += 6) {
		unsigned byte = (unsigned)(bytes[bit / 8] << 8);

		byte |= bit / 8 + 1 < len ? bytes[bit / 8 + 1] : 0;
		str_add_char(out, letters[byte >> (10 - bit % 8) & 63]);
		if (is_wrapped && random_below(9) == 0)
			str_add(out, random_below(2) ? "\r\n  " : "\n");
	}
}

/* Some bytes in one of the codings, not always well. */
static void add_coded(struct str *out, const char *bytes, size_t len)
{
	static const char *const formats[] = { "%02x",	 "%02X",   "0x%02x, ", "%02x:",
					       "%02x\n", "%%%02X", "\\x%02x",  "\\u%04x",
					       "\\%03o", "\\%o",   "\\U%08x" };
	unsigned kind = random_below(14);
	unsigned char text[160] = { 'p', 'q', 'r' };

	if (kind >= 11) {
		unsigned before = random_below(3);

		memcpy(text + before, bytes, len);
		add_base64(out, text, before + len, kind == 13);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		char one[16];
		const char *format = formats[kind];

		if (random_below(40) == 0)
			str_add_char(out, bytes[i]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(one, sizeof(one), format, (unsigned)(unsigned char)bytes[i]);
#pragma GCC diagnostic pop
		str_add(out, one);
	}
}

/* What decoders wait for, skip or count. */
static const char *const units[] = {
	"0x",
	"0X0x",
	"\\ud83d",
	"\\udbff\\ud800",
	"\\U0000d83d",
	"\\ud83d\\",
	"\\u",
	"\\u00",
	"\\",
	"\\1",
	"\\12",
	"%",
	"%4",
	"%%",
	" ",
	"\n",
	"\r",
	"\r\n",
	"\t",
	":",
	"-",
	", ",
	"'",
	"\"",
	"00000010: ",
	"00000010  ",
	"0000010 ",
	"\n00000000: 6",
	"\n0000000 61 ",
	"  |",
	"A",
	"a",
	"=",
	"+",
	"/",
	"0",
	"f",
	"ff ",
	"the ",
	"quick, ",
	"q\n",
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

/* A stretch of the secret, from its beginning or not, as it is or in some coding. */
static void add_stretch(struct str *out, const struct setting *setting)
{
	size_t from = random_below(3) ? 0 : random_below((unsigned)setting->len);
	size_t len = random_below(3) ? setting->len - from
				     : random_below((unsigned)(setting->len - from) + 1);

	if (random_below(4) == 0)
		str_add_bytes(out, setting->value + from, len);
	else
		add_coded(out, setting->value + from, len);
}

static void make_stream(struct str *out, const struct setting *setting)
{
	unsigned parts = 5 + random_below(40);

	for (unsigned i = 0; i < parts; i++) {
		const char *unit = units[random_below(UNIT_COUNT)];
		unsigned count = random_below(6) ? 1 : random_below(100);

		for (unsigned j = 0; j < count; j++)
			str_add(out, unit);
		if (random_below(3) == 0)
			add_stretch(out, setting);
	}
}

/* The stream in writes of at most STEP bytes. The most that was held behind a write is RET_HELD. */
static void scrub_in_steps(const struct scrub_words *words, const struct str *text, unsigned step,
			   struct str *out, size_t *ret_held)
{
	struct scrub scrub;

	*ret_held = 0;
	scrub_init(&scrub, words);
	for (size_t i = 0, len; i < text->len; i += len) {
		len = step > 1 && step < text->len ? 1 + random_below(step) : step;
		len = len < text->len - i ? len : text->len - i;
		scrub_add(&scrub, text->data + i, len, out);
		*ret_held = scrub.held.len > *ret_held ? scrub.held.len : *ret_held;
	}
	scrub_end(&scrub, out);
	scrub_done(&scrub);
}

/* What stands between the labels stands in the text, in that order, from its beginning to its end. */
static bool is_kept(const struct str *text, const struct str *out)
{
	const char *at = str_cstr(text), *end = at + text->len;
	const char *from = str_cstr(out), *out_end = from + out->len;
	bool is_start = true;

	for (;;) {
		const char *label = memmem(from, (size_t)(out_end - from), LABEL, strlen(LABEL));
		size_t len = (size_t)((label ? label : out_end) - from);
		const char *found = !label && !is_start && len <= (size_t)(end - at)
					    ? end - len
					    : memmem(at, (size_t)(end - at), from, len);

		if (!found || (is_start && found != at) || memcmp(found, from, len) != 0)
			return false;
		if (!label)
			return found + len == end;
		at = found + len;
		from = label + strlen(LABEL);
		is_start = false;
	}
}

/* One random stream in one write, byte by byte, and in random portions. */
static bool check_stream(const struct setting *setting)
{
	static const unsigned steps[] = { 1, 2, 7, 100 };
	owned(str_done) struct str text = STR_INIT, whole = STR_INIT;
	size_t held, limit = SCRUB_HOLD_MAX(setting->words.longest);
	bool is_good = true;

	make_stream(&text, setting);
	if (text.len == 0)
		return true;
	scrub_in_steps(&setting->words, &text, (unsigned)text.len, &whole, &held);
	is_good &= is_kept(&text, &whole) ||
		   tap_ok(false, "'%s' became '%s'", str_cstr(&text), str_cstr(&whole));
	is_good &= !memmem(str_cstr(&whole), whole.len, setting->value, setting->len) ||
		   tap_ok(false, "'%s' is left in '%s'", setting->value, str_cstr(&whole));
	for (size_t i = 0; i < 4 && is_good; i++) {
		owned(str_done) struct str out = STR_INIT;

		scrub_in_steps(&setting->words, &text, steps[i], &out, &held);
		is_good &= strcmp(str_cstr(&out), str_cstr(&whole)) == 0 ||
			   tap_ok(false, "'%s' of '%s', in portions of %u: '%s', not '%s'",
				  str_cstr(&text), setting->value, steps[i], str_cstr(&out),
				  str_cstr(&whole));
		is_good &= held <= limit ||
			   tap_ok(false, "%zu are held of '%s'", held, str_cstr(&text));
	}
	return is_good;
}

static void test_random(unsigned long rounds)
{
	unsigned long good = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		struct setting setting;

		set_random(&setting);
		good += check_stream(&setting);
		setting_done(&setting);
	}
	tap_ok(good == rounds, "%lu random streams, however they are cut", good);
}

/* A beginning of the secret in some coding, and then what might make it wait for ever. */
static void test_bound(unsigned long rounds)
{
	size_t most = 0, limit = 1;

	for (unsigned long i = 0; i < rounds; i++) {
		owned(str_done) struct str text = STR_INIT, out = STR_INIT;
		const char *unit = units[random_below(UNIT_COUNT)];
		const char *other = random_below(2) ? "" : units[random_below(UNIT_COUNT)];
		unsigned step = random_below(2) ? 1 : 4096;
		bool is_spread = random_below(2);
		struct setting setting;
		size_t held;

		set_random(&setting);
		/* Byte by byte with something in between, or a beginning and then only that. */
		for (size_t j = 0; is_spread && j < setting.len; j++) {
			str_addf(&text, "%02x", (unsigned)(unsigned char)setting.value[j]);
			for (unsigned k = random_below(50); k > 0; k--)
				str_add(&text, unit);
		}
		if (random_below(4) > 0)
			add_coded(&text, setting.value,
				  1 + random_below((unsigned)setting.len - 1));
		while (text.len < 16u << 10)
			str_addf(&text, "%s%s", unit, other);
		scrub_in_steps(&setting.words, &text, step, &out, &held);
		limit = SCRUB_HOLD_MAX(setting.words.longest);
		most = held > most ? held : most;
		if (held > limit || !is_kept(&text, &out))
			tap_ok(false, "%zu of '%s%s' were held with '%s', %zu came out", held, unit,
			       other, setting.value, out.len);
		setting_done(&setting);
	}
	tap_ok(most <= SCRUB_HOLD_MAX(64), "%lu streams that wait: %zu bytes held at most", rounds,
	       most);
}

/* A long secret in digits with wide gaps between them: more than is ever held. */
static void test_cap(void)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	owned(str_done) struct str value = STR_INIT, text = STR_INIT, out = STR_INIT;
	struct scrub_words words;
	struct error err = { 0 };
	size_t held;

	while (value.len < 4000)
		str_add_char(&value, (char)('a' + random_below(26)));
	if (secrets_add(&secrets, NAME, value.data, value.len, &err) < 0)
		tap_bail(err.text);
	scrub_words_init(&words, &secrets);
	for (size_t i = 0; i < value.len; i++)
		str_addf(&text, "%02x%60s", (unsigned)value.data[i], "");
	scrub_in_steps(&words, &text, 4096, &out, &held);
	tap_ok(held <= SCRUB_HOLD_MAX(value.len) && held > SCRUB_HOLD_MAX(value.len) / 2 &&
		       is_kept(&text, &out),
	       "digits far apart: %zu held, no more than %zu", held, SCRUB_HOLD_MAX(value.len));
	scrub_words_done(&words);
}

/* Each was once held without end, or hid or showed too much. */
static void test_found(void)
{
	static const struct {
		const char *prefix, *unit, *suffix, *wanted_end;
		size_t held_max;
	} rows[] = {
		{ "", "\\ud83d", "", "\\ud83d", 24 },
		{ "h", "\\ud83d", "", "\\ud83d", 24 },
		{ "\\ud83d\\150\\165\\156\\164\\145\\162\\062\\062", "\\ud83d", "", "\\ud83d", 64 },
		{ "68 ", "0x", "", "0x0x", 80 },
		{ "0000000: 6875 6e74 6572 3232  h", "x", "", "xxxx", 2 },
		{ "0000000: 6875 6e74 6572 3232  hunter22\r", "x", "", "xxxx", 8 },
		{ "00000000  68 75 6e 74 65 72 32 32\n", "x", "", "xxxx", 2 },
	};
	struct setting setting;

	set_secret(&setting, "hunter22", 8);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(str_done) struct str text = STR_INIT, out = STR_INIT;
		size_t held, len = strlen(rows[i].wanted_end);

		str_add(&text, rows[i].prefix);
		while (text.len < 1u << 20)
			str_add(&text, rows[i].unit);
		scrub_in_steps(&setting.words, &text, 4096, &out, &held);
		tap_ok(held <= rows[i].held_max && out.len > text.len - 320 && len <= out.len &&
			       strcmp(out.data + out.len - len, rows[i].wanted_end) == 0 &&
			       !strstr(out.data, "\\150\\165") && !strstr(out.data, "6875"),
		       "'%s' and many '%s': %zu held, %zu of %zu came out", rows[i].prefix,
		       rows[i].unit, held, out.len, text.len);
	}
	setting_done(&setting);
}

/* Lines of ordinary output, and what looks like the beginning of a secret at their end: no line waits for the next one. */
static void test_lines(unsigned long rounds)
{
	static const char *const ends[] = { "", ".", " ", "\r", "=", "0", "a1 b2", "...\\", "%" };
	size_t waiting = 0, lines = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		owned(str_done) struct str out = STR_INIT;
		struct setting setting;
		struct scrub scrub;

		set_random(&setting);
		scrub_init(&scrub, &setting.words);
		for (unsigned j = 0; j < 50; j++, lines++) {
			owned(str_done) struct str line = STR_INIT;

			for (unsigned k = random_below(20); k > 0; k--)
				str_add(&line, units[24 + random_below(UNIT_COUNT - 24)]);
			if (random_below(2))
				add_coded(&line, setting.value, 1 + random_below(SCRUB_LET_GO));
			str_addf(&line, "%s\n", ends[random_below(sizeof(ends) / sizeof(ends[0]))]);
			/* As it is or escaped, it has no line end in it. */
			scrub_add(&scrub, line.data, line.len, &out);
			waiting += scrub.held.len > 0;
		}
		scrub_done(&scrub);
		setting_done(&setting);
	}
	tap_ok(waiting * 1000 <= lines, "of %zu lines %zu wait for the next one", lines, waiting);
}

static unsigned long setting_of(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

int main(void)
{
	unsigned long rounds = setting_of("AISBX_ROUNDS", 300),
		      seed = setting_of("AISBX_SEED", 20261117);

	printf("# AISBX_SEED=%lu AISBX_ROUNDS=%lu\n", seed, rounds);
	random_state = seed;
	test_found();
	test_cap();
	test_random(rounds);
	test_bound(rounds / 4 + 1);
	test_lines(rounds / 4 + 1);
	return tap_done();
}
