/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML door: what it reads, what it refuses and where it says so, and how little bombs cost. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/text/yaml.h"
#include "tests/tap.h"

#include <sys/resource.h>
#include <time.h>

/* A sanitizer makes everything several times slower and keeps what is freed. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static struct value *read_as(const char *text, enum yaml_scalars scalars, struct error *err)
{
	struct value *value = NULL;

	memset(err, 0, sizeof(*err));
	if (yaml_read(text, strlen(text), "t", scalars, &value, err) < 0)
		return NULL;
	return value;
}

static void refuses(const char *text, const char *want)
{
	struct error err;
	owned(value_release) struct value *value = read_as(text, YAML_TYPED, &err);
	bool good = !value && err.code == ERROR_INPUT && str_starts(err.text, want);

	tap_ok(good, "refused: %.40s", want);
	if (!good)
		printf("#  got: %s\n", value ? "a value" : err.text);
}

static void test_typed(void)
{
	struct error err;
	owned(value_release) struct value *map = read_as(
		"a: null\nb: true\nc: -12\nd: 1.5\ne: word\nf: \"12\"\ng: 0x1F\nh: 0o17\ni: ~\n"
		"j: False\nk: 1e3\nl: 0x\nm: '~'\nn: .5\np: 1e\nq: 1.2.3\nr: on\ns:\n",
		YAML_TYPED, &err);
	static const struct {
		const char *key;
		enum value_kind kind;
	} want[] = {
		{ "a", VALUE_NULL }, { "b", VALUE_BOOL }, { "c", VALUE_INT },  { "d", VALUE_REAL },
		{ "e", VALUE_TEXT }, { "f", VALUE_TEXT }, { "g", VALUE_INT },  { "h", VALUE_INT },
		{ "i", VALUE_NULL }, { "j", VALUE_BOOL }, { "k", VALUE_REAL }, { "l", VALUE_TEXT },
		{ "m", VALUE_TEXT }, { "n", VALUE_REAL }, { "p", VALUE_TEXT }, { "q", VALUE_TEXT },
		{ "r", VALUE_TEXT }, { "s", VALUE_NULL },
	};

	if (!tap_ok(map != NULL, "typed scalars are read"))
		return;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		tap_ok(value_get(map, want[i].key)->kind == want[i].kind, "kind of %s",
		       want[i].key);
	tap_is_int(value_get(map, "c")->integer, -12, "-12");
	tap_is_int(value_get(map, "g")->integer, 31, "0x1F");
	tap_is_int(value_get(map, "h")->integer, 15, "0o17");
	tap_is_int(value_get(map, "s")->line, 18, "the last line is known");
	tap_is_str(value_get_text(map, "f"), "12", "quoted stays text");
}

static void test_text(void)
{
	struct error err;
	owned(value_release) struct value *map =
		read_as("version: 1.10\nport: 010\nnothing:\nlist:\n  - yes\n  - - deep\n",
			YAML_TEXT, &err);
	const struct value *list;

	if (!tap_ok(map != NULL, "scalars are read as text"))
		return;
	tap_is_str(value_get_text(map, "version"), "1.10", "1.10 stays 1.10");
	tap_is_str(value_get_text(map, "port"), "010", "010 stays 010");
	tap_ok(value_get(map, "nothing")->kind == VALUE_NULL, "nothing is null");
	list = value_get(map, "list");
	tap_is_int(list->line, 4, "a list carries the line of its key");
	tap_is_int((long long)list->many.count, 2, "two entries");
	tap_is_int(list->many.items[1]->line, 6, "an entry carries its own");
}

static void test_whole_documents(void)
{
	struct error err;
	owned(value_release) struct value *empty = read_as("# only a comment\n", YAML_TYPED, &err);
	owned(value_release) struct value *scalar = read_as("--- 7\n", YAML_TYPED, &err);
	owned(value_release) struct value *marked = read_as("\xef\xbb\xbf"
							    "a: b\n",
							    YAML_TYPED, &err);

	tap_ok(empty && empty->kind == VALUE_NULL, "an empty document is null");
	tap_ok(scalar && scalar->kind == VALUE_INT && scalar->integer == 7,
	       "a document of one scalar");
	tap_is_str(value_get_text(marked, "a"), "b", "a byte order mark is skipped");
}

static void test_refusals(void)
{
	refuses("a: &x 1\n", "t:1:4: anchors");
	refuses("a: 1\nb: *x\n", "t:2:4: aliases");
	refuses("a: !!int 1\n", "t:1:4: tags");
	refuses("a: !!python/object {}\n", "t:1:4: tags");
	refuses("a: &x [1]\n", "t:1:4: anchors");
	refuses("- ! x\n", "t:1:3: tags");
	refuses("a:\n  <<: {b: 1}\n", "t:2:3: merge keys");
	refuses("a: 1\nb: 2\na: 3\n", "t:3:1: 'a' stands here twice (first in line 1)");
	refuses("{a: 1, \"a\": 2}\n", "t:1:8: 'a' stands here twice");
	refuses("? [a]\n: b\n", "t:1:3: a key must be text");
	refuses("a: -\n", "t:1:4: ");
	refuses("a: 1\n---\nb: 2\n", "t:2:1: more than one document");
	refuses("%YAML 1.2\n---\na: 1\n", "t:1:1: directives");
	refuses("a: 1\n...\n%TAG ! x\n---\n", "t:3:1: directives");
	refuses("a\r\n%TAG ! x\n", "t:2:1: directives");
	refuses("a\xc2\x85%TAG ! x\n", "t:2:1: directives");
	refuses("a\xe2\x80\xa8%TAG ! x\n", "t:2:1: directives");
	refuses("a: [1\nb: 2\n", "t:2:");
	refuses("a: \"\\0\"\n", "t:1:4: text holds a NUL");
	refuses("\"a\\0b\": 1\n", "t:1:1: text holds a NUL");
	refuses("a: 99999999999999999999\n", "t:1:4: the number is out of range");
	refuses("a: 1e999\n", "t:1:4: the number is out of range");
	refuses("a: -.inf\n", "t:1:4: the number is out of range");
	refuses("a: \x01\n", "t:1:");
	refuses("a: \xff\xfe\n", "t:1:");
	refuses("\ta: 1\n", "t:1:");
	refuses("a: 'open\n", "t:2:1: ");
}

static long long now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static long resident_kib(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void add_repeated(struct str *out, const char *text, size_t count)
{
	while (count-- > 0)
		str_add(out, text);
}

/* Refuses BOMB within the budget, or, where MAY_READ, reads it within the budget. */
static void bomb(const char *name, struct str *text, bool may_read)
{
	struct error err = { 0 };
	owned(value_release) struct value *value = NULL;
	long long before = now_ms();
	int result = yaml_read(str_cstr(text), text->len, "t", YAML_TYPED, &value, &err);
	long long took = now_ms() - before;

	tap_ok(may_read || result < 0, "%s: refused (%s)", name, result < 0 ? err.text : "read");
	if (SANITIZED) /* the promise is for what ships */
		took /= 10;
	tap_ok(took < 100, "%s: %lld ms", name, took);
	str_done(text);
}

static void test_bombs_of_depth(void)
{
	struct str text = STR_INIT;

	add_repeated(&text, "[", 100000);
	bomb("100,000 brackets", &text, false);
	add_repeated(&text, "{a: ", 100000);
	bomb("100,000 braces", &text, false);
	add_repeated(&text, "- ", 100000);
	bomb("100,000 dashes", &text, false);
	add_repeated(&text, "? ", 100000);
	bomb("100,000 question marks", &text, false);
	for (size_t i = 0; i < 33; i++) {
		add_repeated(&text, " ", i);
		str_add(&text, "a:\n");
	}
	bomb("33 levels", &text, false);
	add_repeated(&text, "[", 32);
	add_repeated(&text, "]", 32);
	bomb("32 levels", &text, true);
}

static void test_bombs_of_size(void)
{
	struct str text = STR_INIT;

	add_repeated(&text, "a: 1\n", 300000);
	bomb("beyond a megabyte", &text, false);
	str_add(&text, "a: \"");
	add_repeated(&text, "x", YAML_MAX_BYTES - 10);
	str_add(&text, "\"\n");
	bomb("a scalar of a megabyte", &text, true);
	add_repeated(&text, "x", YAML_MAX_BYTES - 10);
	str_add(&text, ": 1\n");
	bomb("a key of a megabyte", &text, false);
	add_repeated(&text, "- 1\n", 200000);
	bomb("200,000 values", &text, false);
	add_repeated(&text, "- \n", 300000);
	bomb("300,000 empty values", &text, false);
	for (int i = 0; i < 4990; i++)
		str_addf(&text, "%0190d: 1\n", i);
	bomb("4,990 keys that begin alike", &text, true);
	for (int i = 0; i < 4990; i++)
		str_addf(&text, "k%d: 1\n", i);
	str_add(&text, "k0: 1\n");
	bomb("one repetition among thousands", &text, false);
}

static void test_bombs_of_meaning(void)
{
	struct str text = STR_INIT;

	str_add(&text, "a: &a [x, x, x, x, x, x, x, x, x]\n");
	for (char c = 'b'; c <= 'i'; c++)
		str_addf(&text, "%c: &%c [*%c, *%c, *%c, *%c]\n", c, c, c - 1, c - 1, c - 1, c - 1);
	bomb("a billion laughs", &text, false);
	for (int i = 0; i < 50000; i++)
		str_addf(&text, "%%TAG !%d! tag:x\n", i);
	bomb("50,000 tag directives", &text, false);
	str_add(&text, "a: 1\n...\n");
	for (int i = 0; i < 50000; i++)
		str_addf(&text, "%%TAG !%d! tag:x\n", i);
	bomb("50,000 tag directives behind a document", &text, false);
	add_repeated(&text, "#\n", 500000);
	bomb("half a million comments", &text, true);
	add_repeated(&text, "\n", YAML_MAX_BYTES);
	bomb("a megabyte of line breaks", &text, true);
	add_repeated(&text, "---\n", 200000);
	bomb("200,000 documents", &text, false);
	str_add(&text, "a: |\n");
	add_repeated(&text, " x\n", 300000);
	bomb("300,000 lines of a literal", &text, true);
	str_add(&text, "a: >\n");
	add_repeated(&text, " x\n\n", 250000);
	bomb("250,000 folded lines", &text, true);
	str_add(&text, "a: \"");
	add_repeated(&text, "\\U0001F600", 100000);
	str_add(&text, "\"\n");
	bomb("100,000 escapes", &text, true);
	add_repeated(&text, "\"a\":", 200000);
	bomb("200,000 colons", &text, false);
	add_repeated(&text, "a:\n ", 200000);
	bomb("keys that climb", &text, false);
}

int main(void)
{
	long before;

	test_typed();
	test_text();
	test_whole_documents();
	test_refusals();
	before = resident_kib();
	test_bombs_of_depth();
	test_bombs_of_size();
	test_bombs_of_meaning();
	if (SANITIZED)
		tap_skip(1, "a sanitizer keeps what is freed");
	else
		tap_ok(resident_kib() - before < 32 * 1024, "bombs took %ld KiB",
		       resident_kib() - before);
	return tap_done();
}
