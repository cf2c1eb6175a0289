/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping secrets out of a stream: however it is cut, and without a word lost. */
#include "run/scrub.h"

#include "base/core/own.h"
#include "tests/tap.h"

#include <string.h>

/* Runs TEXT through in portions of STEP bytes. The caller frees the answer. */
static char *scrubbed(const struct secrets *secrets, const char *text, size_t len, size_t step)
{
	struct scrub_words words;
	struct scrub scrub;
	struct str out = STR_INIT;

	scrub_words_init(&words, secrets);
	scrub_init(&scrub, &words);
	for (size_t i = 0; i < len; i += step)
		scrub_add(&scrub, text + i, len - i < step ? len - i : step, &out);
	scrub_end(&scrub, &out);
	scrub_done(&scrub);
	scrub_words_done(&words);
	return str_detach(&out);
}

static void add(struct secrets *secrets, const char *name, const char *value)
{
	struct error err = { 0 };

	if (secrets_add(secrets, name, value, strlen(value), &err) < 0)
		tap_ok(false, "%s", err.text);
}

static void test_cuts(void)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{ "", "" },
		{ "nothing here", "nothing here" },
		{ "hunter22", "[secret A]" },
		{ "x hunter22 y", "x [secret A] y" },
		{ "hunter22hunter22", "[secret A][secret A]" },
		{ "hunthunter22er22", "hunt[secret A]er22" },
		{ "hunter2", "hunter2" },
		{ "a.*b(c[d", "[secret REGEX]" },
		{ "aabaabaaab", "aab[secret OVERLAP]" },
		{ "first\nsecond line", "[secret LINES]" },
		{ "first\r\nsecond line", "[secret LINES]" },
		{ "<hunter22-and-more>", "<[secret LONG]>" },
		{ "hunter22-and-less", "[secret A]-and-less" },
	};
	owned(secrets_done) struct secrets secrets = { 0 };

	add(&secrets, "A", "hunter22\n");
	add(&secrets, "REGEX", "a.*b(c[d");
	add(&secrets, "OVERLAP", "aabaaab");
	add(&secrets, "LINES", "first\nsecond line\n");
	add(&secrets, "LONG", "hunter22-and-more");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t step = 1; step < 20; step++) {
			owned(free_ptr) char *got =
				scrubbed(&secrets, rows[i].text, strlen(rows[i].text), step);

			if (strcmp(got, rows[i].wanted) != 0 || step == 19)
				tap_is_str(got, rows[i].wanted, "'%s' cut into %zu", rows[i].text,
					   step);
		}
	}
}

static void test_lines(void)
{
	static const char key[] =
		"-----BEGIN KEY-----\nQUJDREVGR0g\n  indented-line\nshort\nbGFzdCBvbmU=\n"
		"-----END KEY-----\n";
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{ key, "[secret KEY]\n" },
		{ "QUJDREVGR0g\nnext", "[secret KEY]\nnext" },
		{ "x indented-line\r\nshort\n", "x [secret KEY]\r\nshort\n" },
		{ "bGFzdCBvbmU=bGFzdCBvbmU=", "[secret KEY][secret KEY]" },
		{ "-----BEGIN KEY-----", "-----BEGIN KEY-----" },
	};
	owned(secrets_done) struct secrets secrets = { 0 };

	add(&secrets, "KEY", key);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t step = 1; step < 20; step++) {
			owned(free_ptr) char *got =
				scrubbed(&secrets, rows[i].text, strlen(rows[i].text), step);

			if (strcmp(got, rows[i].wanted) != 0 || step == 19)
				tap_is_str(got, rows[i].wanted, "lines: row %zu cut into %zu", i,
					   step);
		}
	}
}

/* Thousands of lines must not make each byte cost as much. */
static void test_many_lines(void)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	owned(str_done) struct str value = STR_INIT, text = STR_INIT;
	struct error err = { 0 };

	for (unsigned i = 0; value.len + 12 < SECRET_BYTES_MAX; i++)
		str_addf(&value, "%c%08u\n", 'A' + (int)(i % 50), i);
	while (text.len < 512u << 10)
		str_addf(&text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij ");
	str_add(&text, "A00000000");
	tap_ok(secrets_add(&secrets, "MANY", value.data, value.len, &err) == 0, "many lines");
	owned(free_ptr) char *got = scrubbed(&secrets, text.data, text.len, 65536);

	tap_ok(strlen(got) == text.len + 4 && strstr(got, "ij [secret MANY]"),
	       "much passes, and one of many lines is found behind them");
}

static void test_text(void)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{ "resolve nothing.example", "resolve nothing.example" },
		{ "resolve topsecretvalue.evil.example", "resolve [secret T].evil.example" },
		{ "TopSecretValueTOPSECRETVALUE", "[secret T][secret T]" },
		{ "cut off: topsecretv", "cut off: [secret T]" },
		{ "only like it: top", "only like it: top" },
		{ "resolve 546f70536563.72657456616c7565.evil.example",
		  "resolve [secret T].evil.example" },
		{ "GET /VG9wU2VjcmV0VmFsdWU of x", "GET /[secret T] of x" },
	};
	owned(secrets_done) struct secrets secrets = { 0 };
	struct scrub_words words;
	char *none = NULL;

	add(&secrets, "T", "TopSecretValue\n");
	scrub_words_init(&words, &secrets);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(free_ptr) char *text = xstrdup(rows[i].text);

		scrub_text(&words, &text);
		tap_is_str(text, rows[i].wanted, "%s", rows[i].text);
	}
	scrub_text(&words, &none);
	tap_ok(!none, "no text stays none");
	scrub_words_done(&words);
}

/* Two that share a part: neither of them may be shown in full. */
static void test_shared_part(void)
{
	owned(secrets_done) struct secrets secrets = { 0 };

	add(&secrets, "HEAD", "abcdefgh");
	add(&secrets, "TAIL", "efghijkl");
	owned(free_ptr) char *got = scrubbed(&secrets, "-abcdefghijkl-", 14, 3);

	tap_is_str(got, "-[secret HEAD][secret TAIL]-", "two that share a part");
}

static void test_held_back(void)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	owned(str_done) struct str out = STR_INIT;
	struct scrub_words words;
	struct scrub scrub;

	add(&secrets, "A", "hunter22");
	scrub_words_init(&words, &secrets);
	scrub_init(&scrub, &words);
	scrub_add(&scrub, "ready> ", 7, &out);
	tap_is_str(str_cstr(&out), "ready> ", "what cannot be a secret goes on at once");
	scrub_add(&scrub, "hun", 3, &out);
	tap_is_str(str_cstr(&out), "ready> ", "what may become one waits");
	scrub_add(&scrub, "gry", 3, &out);
	tap_is_str(str_cstr(&out), "ready> hungry", "until it does not");
	scrub_done(&scrub);
	scrub_words_done(&words);
}

/* A long one of one letter is the worst there is for looking again and again. */
static void test_bounded(void)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	size_t len = SECRET_BYTES_MAX - 1, total = 4u << 20;
	owned(free_ptr) char *value = xmalloc(len + 1), *text = xmalloc(total);
	char name[16];
	struct error err;

	memset(value, 'a', len);
	value[len] = 'b';
	memset(text, 'a', total);
	tap_ok(secrets_add(&secrets, "LONG", value, len + 1, &err) == 0, "64 KiB are taken");
	owned(free_ptr) char *got = scrubbed(&secrets, text, total, 65536);

	tap_ok(strlen(got) == total, "4 MiB that nearly are a secret of 64 KiB come out whole");
	for (int i = 0; i < 120; i++) {
		(void)snprintf(name, sizeof(name), "S%d", i);
		(void)snprintf(value, len, "value-%d-of-many", i);
		if (secrets_add(&secrets, name, value, strlen(value), &err) < 0)
			break;
	}
	tap_ok(secrets.count == SECRETS_MAX && strstr(err.text, "more than 100"), "a hundred: %s",
	       err.text);
	owned(free_ptr) char *many = scrubbed(&secrets, "x value-98-of-many y", 20, 7);

	tap_is_str(many, "x [secret S98] y", "the last of them is found");
}

static void refuses(const char *name, const char *value, size_t len, const char *wanted)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	struct error err = { 0 };

	tap_ok(secrets_add(&secrets, name, value, len, &err) < 0 && strstr(err.text, wanted) &&
		       secrets.count == 0,
	       "refused: %s", err.text);
}

static void test_refusals(void)
{
	owned(free_ptr) char *big = xcalloc(1, SECRET_BYTES_MAX + 1);
	owned(secrets_done) struct secrets secrets = { 0 };
	struct error err = { 0 };

	refuses("A", "", 0, "empty");
	refuses("A", "x", 1, "too short");
	refuses("A", "abc\n\n", 5, "too short");
	refuses("A", big, SECRET_BYTES_MAX + 1, "64 KiB");
	refuses("../A", "value", 5, "letters");
	refuses("", "value", 5, "letters");
	refuses("$A", "value\0", 6, "null byte");
	tap_ok(secrets_read_file(&secrets, "A=/dev/zero", &err) < 0 &&
		       strstr(err.text, "no plain file"),
	       "%s", err.text);
	tap_ok(secrets_read_file(&secrets, "A=/nonexistent/file", &err) < 0 &&
		       strstr(err.text, "/nonexistent/file"),
	       "%s", err.text);
	tap_ok(secret_check_length("A", "1234567\n", 8, &err) < 0 && strstr(err.text, "8 bytes"),
	       "%s", err.text);
	tap_ok(secret_check_length("A", "12345678", 8, &err) == 0, "eight bytes are enough");
}

static void test_words(void)
{
	owned(secrets_done) struct secrets secrets = { 0 }, again = { 0 };
	struct strv words = STRV_INIT;
	struct error err = { 0 };

	tap_ok(secrets_add(&secrets, "BYTES", "\0\xff\n\x80z", 5, &err) == 0, "any byte is taken");
	secrets_to_words(&secrets, false, &words);
	tap_ok(secrets_from_words(&words, &again, &err) == 0 && again.count == 1 &&
		       again.items[0].len == 5 &&
		       memcmp(again.items[0].bytes, "\0\xff\n\x80z", 5) == 0,
	       "and comes back from words");
	words.items[1][2] = 'g';
	secrets_done(&again);
	tap_ok(secrets_from_words(&words, &again, &err) < 0, "words that are none: %s", err.text);
	words.items[1][3] = '\0';
	tap_ok(secrets_from_words(&words, &again, &err) < 0, "half a byte: %s", err.text);
	secrets_words_done(&words);
	strv_add(&words, "ALONE");
	tap_ok(secrets_from_words(&words, &again, &err) < 0, "a name alone: %s", err.text);
	secrets_words_done(&words);
}

/* Tokens of a JSON file are found by themselves, and nothing else of it. */
static void test_json(void)
{
	static const char file[] = "{\"type\": \"service_account_of_some_kind\", \"url\": "
				   "\"https://Auth.example/Token0123456789\",\n\"say\": \"a "
				   "sentence With 20 letters\", \"token\": "
				   "\"eyJhbGciOi.J9x_0aB\\/+7Qz\", \"id\": "
				   "\"0123456789abcdef0123456789abcdef\"}";
	static const char text[] =
		"service_account_of_some_kind https://Auth.example/Token0123456789 "
		"eyJhbGciOi.J9x_0aB\\/+7Qz 0123456789abcdef0123456789abcdef";
	owned(secrets_done) struct secrets secrets = { 0 };
	owned(free_ptr) char *got = NULL;

	add(&secrets, "J", file);
	got = scrubbed(&secrets, text, strlen(text), 7);
	tap_is_str(got,
		   "service_account_of_some_kind https://Auth.example/Token0123456789 "
		   "[secret J] [secret J]",
		   "tokens of a JSON file");
}

int main(void)
{
	test_cuts();
	test_json();
	test_lines();
	test_many_lines();
	test_text();
	test_shared_part();
	test_held_back();
	test_bounded();
	test_refusals();
	test_words();
	return tap_done();
}
