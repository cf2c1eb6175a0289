/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of the scanner: what they match, what they refuse, and that none is slow. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "scan/syntax/pattern.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static long find(const char *text, const char *pattern)
{
	struct pattern *compiled = NULL;
	struct error err = { 0 };
	long at;

	if (pattern_compile(pattern, &compiled, &err) < 0)
		return -2;
	at = pattern_find(compiled, text, strlen(text), 0, NULL, NULL);
	pattern_free(compiled);
	return at;
}

static void test_matches(void)
{
	static const struct {
		const char *pattern, *text;
		long at;
	} rows[] = {
		{ "b", "abc", 1 },
		{ "^b", "a\nb", 2 },
		{ "a$", "ba\nc", 1 },
		{ "a.c", "a\nc abc", 4 },
		{ "a*", "bbb", 0 },
		{ "a+b", "caab", 1 },
		{ "colou?r", "a color", 2 },
		{ "x{3}", "xxyxxx", 3 },
		{ "x{2,}y", "xyxxxy", 2 },
		{ "x{0,2}y", "xxxy", 1 },
		{ "(ab|cd)+e", "abcdabe", 0 },
		{ "a|b|c", "zzc", 2 },
		{ "[a-c]x", "dxbx", 2 },
		{ "[^a-c]x", "axdx", 2 },
		{ "\\d{3}", "a12b345", 4 },
		{ "\\bcat\\b", "concat cat", 7 },
		{ "(?i)PassWord", "my password", 3 },
		{ "a\\.b", "axb a.b", 4 },
		{ "[]x]", "a]", 1 },
		{ "(?:ab){2}", "ababab", 0 },
		{ "\\s=", "a\t=", 1 },
		{ "x{,2}", "x{,2}", 0 },
		{ "a(b(c|d)?)*e", "abcbdbe", 0 },
		{ "none", "some", -1 },
		{ "(a{1,2}){2}b", "aaab", 0 },
		{ "a{0}b", "ab", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_is_int(find(rows[i].text, rows[i].pattern), rows[i].at, "'%s'",
			   rows[i].pattern);
}

static void test_refusals(void)
{
	static const char *const rows[] = {
		"(",	   ")",	     "[a",     "a**?+", "\\",  "(a)\\1", "(?=a)",
		"(?<!a)b", "x{2,1}", "x{500}", "[z-a]", "\\q", "*a",	 "((a{99}){99}){99}"
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_is_int(find("", rows[i]), -2, "refused: '%s'", rows[i]);
}

/* A matcher that goes back would be at it until the end of days. */
static void test_bombs(void)
{
	owned(str_done) struct str text = STR_INIT;

	for (unsigned i = 0; i < 20000; i++)
		str_add_char(&text, 'a');
	tap_is_int(find(str_cstr(&text), "(a*)*b"), -1, "a star of a star");
	tap_is_int(find(str_cstr(&text), "(a|a)*b"), -1, "two ways for each letter");
	tap_is_int(find(str_cstr(&text), "(a?){50}a{50}b"), -1, "many that may be missing");
}

int main(void)
{
	test_matches();
	test_refusals();
	test_bombs();
	return tap_done();
}
