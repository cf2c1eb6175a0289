/* SPDX-License-Identifier: Apache-2.0 */
/* JSON both ways: exact output, strict input, and places named in errors. */
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "tests/tap.h"

#include <math.h>

/* Foreign bytes, fit for the name of a case. */
#define SHOWN(text) str_shown(text, (char[STR_SHOWN_SIZE]){ 0 })

static void is_written(const struct value *value, unsigned indent, const char *want)
{
	owned(str_done) struct str out = STR_INIT;

	json_write(&out, value, indent);
	tap_is_str(str_cstr(&out), want, "writes %s", SHOWN(want));
}

/* Reads TEXT and writes it again. */
static void is_read_as(const char *text, const char *want)
{
	owned(value_release) struct value *value = NULL;
	owned(str_done) struct str out = STR_INIT;
	struct error err = { 0 };

	if (json_read(text, strlen(text), NULL, &value, &err) < 0) {
		tap_ok(false, "reads %s: %s", SHOWN(text), err.text);
		return;
	}
	json_write(&out, value, 0);
	tap_is_str(str_cstr(&out), want, "reads %s", SHOWN(text));
}

static void is_refused(const char *text, size_t len, const struct json_limits *limits,
		       const char *part)
{
	struct value *value = (struct value *)(void *)&len;
	struct error err = { 0 };
	int got = json_read(text, len, limits, &value, &err);

	tap_ok(got < 0 && err.code == ERROR_INPUT && strstr(err.text, part), "refuses %s: %s",
	       SHOWN(text), err.text);
	tap_ok(value == (struct value *)(void *)&len, "and leaves the output alone");
}

static void test_text(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "\"\"" },
		{ "plain", "\"plain\"" },
		{ "\"\\/", "\"\\\"\\\\/\"" },
		{ "\xc2\x9b"
		  "2J \xe2\x80\xae \xf3\xa0\x80\xa0 \xc3\xa9",
		  "\"\\u009b2J \\u202e \\udb40\\udc20 \xc3\xa9\"" },
		{ "\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"" },
		{ "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80",
		  "\"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80\"" },
		{ "\xff"
		  "a",
		  "\"\xef\xbf\xbd"
		  "a\"" },
		{ "\xc3", "\"\xef\xbf\xbd\"" },
		{ "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(value_release) struct value *value = value_new_text(rows[i].text);

		is_written(value, 0, rows[i].want);
	}
}

static void test_utf8(void)
{
	tap_ok(utf8_valid("", 0), "no bytes are UTF-8");
	tap_ok(utf8_valid("abcdefghijklmnop\xc3\xa9", 18), "a long text is UTF-8");
	tap_ok(!utf8_valid("abcdefghijklmnop\xc3", 17), "a cut one is not");
	tap_ok(!utf8_valid("\xf4\x90\x80\x80", 4), "nothing lies above U+10FFFF");
	tap_ok(utf8_valid("\xf4\x8f\xbf\xbf", 4), "U+10FFFF itself is fine");
	tap_ok(!utf8_valid("\xe0\x80\x80", 3), "overlong forms are not");
	tap_ok(!utf8_valid("\xf0\x80\x80\x80", 4), "nor long overlong forms");
	tap_ok(!utf8_valid("\xe2\x28\xa1", 3), "nor a wrong second byte");
	tap_ok(!utf8_valid("\xe2\x82\x28", 3), "nor a wrong third byte");
	tap_ok(!utf8_valid("\x80", 1), "nor a lone second byte");
}

static void test_tree(void)
{
	owned(value_release) struct value *map = value_new_map();
	struct value *list = value_set(map, "list", value_new_list());

	is_written(list, 0, "[]");
	is_written(list, 2, "[]");
	value_append(list, value_new_int(INT64_MIN));
	value_append(list, value_new_int(INT64_MAX));
	value_append(list, value_new_bool(false));
	value_append(list, value_new_null());
	value_append(list, value_new_real(0.1));
	value_append(list, value_new_real(-2));
	value_append(list, value_new_real(1e300));
	value_append(list, value_new_real(1.0 / 3));
	value_append(list, value_new_real((double)NAN));
	value_set(map, "k\n", value_new_map());
	is_written(map, 0,
		   "{\"list\":[-9223372036854775808,9223372036854775807,false,null,0.1,-2.0,1e+300,"
		   "0.33333333333333331,null],\"k\\n\":{}}");
	owned(value_release) struct value *small = value_new_map();

	value_append(value_set(small, "a", value_new_list()), value_new_int(1));
	value_set(small, "b", value_new_bool(true));
	is_written(small, 2, "{\n  \"a\": [\n    1\n  ],\n  \"b\": true\n}");
}

static void test_deep_tree(void)
{
	owned(value_release) struct value *root = value_new_list();
	owned(str_done) struct str out = STR_INIT;
	struct value *at = root;

	for (int i = 0; i < 100; i++)
		at = value_append(at, value_new_list());
	json_write(&out, root, 0);
	tap_ok(strstr(str_cstr(&out), "[null]") && out.len == 2 * JSON_DEPTH_MAX + 4,
	       "what is too deep is written as null");
}

static void test_stream(void)
{
	owned(str_done) struct str out = STR_INIT;
	owned(strv_done) struct strv words = STRV_INIT;
	struct json json;

	strv_add(&words, "x");
	strv_add(&words, "y");
	json_init(&json, &out);
	json_open(&json, '{');
	json_key(&json, "a");
	json_open(&json, '[');
	json_int(&json, 0);
	json_int(&json, -5);
	json_open(&json, '{');
	json_close(&json, '}');
	json_close(&json, ']');
	json_key(&json, "t");
	json_text(&json, NULL);
	json_key(&json, "u");
	json_bytes(&json, "a\0b", 3);
	json_key(&json, "w");
	json_strv(&json, &words);
	json_key(&json, "b");
	json_bool(&json, true);
	json_key(&json, "n");
	json_write_null(&json);
	json_close(&json, '}');
	tap_is_str(str_cstr(&out),
		   "{\"a\":[0,-5,{}],\"t\":null,\"u\":\"a\\u0000b\",\"w\":[\"x\",\"y\"],\"b\":true,"
		   "\"n\":null}",
		   "commas stand where they belong");
}

static void test_reals(void)
{
	static const struct {
		double real;
		const char *want;
	} rows[] = {
		{ 0, "0.0" },
		{ 38, "38.0" },
		{ 41.2, "41.2" },
		{ 0.0004, "0.0" },
		{ 0.0006, "0.001" },
		{ 1.25, "1.25" },
		{ 1.005001, "1.005" },
		{ 0.999999, "1.0" },
		{ -3.5, "-3.5" },
		{ -0.0001, "0.0" },
		{ 1e18, "1e+18" },
		{ (double)INFINITY, "null" },
		{ (double)NAN, "null" },
		{ 12.034, "12.034" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(str_done) struct str out = STR_INIT;
		struct json json;

		json_init(&json, &out);
		json_write_real(&json, rows[i].real);
		tap_is_str(str_cstr(&out), rows[i].want, "a real is written as %s", rows[i].want);
	}
}

static void test_base64(void)
{
	static const char *const pairs[][2] = {
		{ "", "" },	   { "f", "Zg==" },	   { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "\xff\xfe\xfd", "//79" },
	};
	static const char *const bad[] = { "Z",	   "Zg=",      "Zh==", "Zm9=", "Z===",
					   "====", "Zg==Zg==", "Zm 9", "Zm-9", "Zm9v\n" };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		owned(str_done) struct str out = STR_INIT, back = STR_INIT;

		base64_add(&out, pairs[i][0], strlen(pairs[i][0]));
		tap_is_str(str_cstr(&out), pairs[i][1], "base64 of %zu bytes", strlen(pairs[i][0]));
		tap_ok(base64_read(&back, str_cstr(&out), out.len) &&
			       strcmp(str_cstr(&back), pairs[i][0]) == 0,
		       "and back");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		owned(str_done) struct str back = STR_INIT;

		str_add(&back, "kept");
		tap_ok(!base64_read(&back, bad[i], strlen(bad[i])) && back.len == 4,
		       "not base64: %s", SHOWN(bad[i]));
	}
}

static void test_read(void)
{
	is_read_as("{\"b\":1,\"a\":[true,false,null,1.5,\"\\u00e9\\n\"]}",
		   "{\"b\":1,\"a\":[true,false,null,1.5,\"\xc3\xa9\\n\"]}");
	is_read_as(" \n 7 \n", "7");
	is_read_as("\"text\"", "\"text\"");
	is_read_as("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"");
	is_read_as("-9223372036854775808", "-9223372036854775808");
	is_read_as("{}", "{}");
	is_read_as("[\"[{\\\"\\\\\",\"]\"]", "[\"[{\\\"\\\\\",\"]\"]");
}

static void test_refused(void)
{
	static const char *const rows[][2] = {
		{ "", "line 1" },
		{ "{\"a\":1,\n \"a\":2}", "line 2" },
		{ "[1,]", "line 1 column 4" },
		{ "[1 2]", "line 1" },
		{ "{a:1}", "line 1" },
		{ "'x'", "line 1" },
		{ "nul", "line 1" },
		{ "1 2", "line 1" },
		{ "{} x", "line 1" },
		{ "99999999999999999999", "line 1" },
		{ "1e999", "line 1" },
		{ "\"\\u0000\"", "cannot hold a NUL" },
		{ "\"\\ud800\"", "line 1" },
		{ "\"\xff\"", "" },
		{ "\"a\nb\"", "line 1" },
		{ "\"open", "line 1" },
		{ "// no comments", "line 1" },
		{ "NaN", "line 1" },
		{ "[[[[", "line 1" },
		{ "}}}}", "line 1" },
		{ "\xef\xbb\xbf{}", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_refused(rows[i][0], strlen(rows[i][0]), NULL, rows[i][1]);
	is_refused("[1]\0[2]", 7, NULL, "line 1");
}

static void test_limits(void)
{
	const struct json_limits small = { .bytes = 8, .depth = 2 };
	owned(str_done) struct str deep = STR_INIT, bomb = STR_INIT;
	struct error err = { 0 };
	struct value *value = NULL;

	is_refused("[1,2,3,4]", 9, &small, "larger than 8");
	is_refused("[\n[[]]]", 7, &small, "line 2 column 2: nested deeper than 2");
	for (int i = 0; i < 64; i++)
		str_add_char(&deep, '[');
	for (int i = 0; i < 64; i++)
		str_add_char(&deep, ']');
	tap_ok(json_read(deep.data, deep.len, NULL, &value, &err) == 0, "64 levels are read");
	value_free(value);
	for (int i = 0; i < 1000000; i++)
		str_add_char(&bomb, '[');
	is_refused(str_cstr(&bomb), bomb.len, NULL, "nested deeper than 64");
}

int main(void)
{
	test_text();
	test_utf8();
	test_tree();
	test_deep_tree();
	test_stream();
	test_reals();
	test_base64();
	test_read();
	test_refused();
	test_limits();
	return tap_done();
}
