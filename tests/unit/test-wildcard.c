/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names and paths: case by case, and that many stars cost no time. */
#include "tests/tap.h"

#include "base/text/wildcard.h"

/* As glibc's fnmatch answers each of them. */
static const struct {
	const char *pattern, *text;
	int flags;
	bool is_match;
} cases[] = {
	{ "", "", 0, true },
	{ "", "a", 0, false },
	{ "*", "", 0, true },
	{ "a*c*e", "abcde", 0, true },
	{ "a*c*e", "abcdef", 0, false },
	{ "*", "a/b", 0, true },
	{ "*", "a/b", WILDCARD_PATH, false },
	{ "*", "a/b", WILDCARD_PATH | WILDCARD_BELOW, true },
	{ "a*/b", "ax/b/c", WILDCARD_PATH | WILDCARD_BELOW, true },
	{ "a*/b", "ax/y/b", WILDCARD_PATH, false },
	{ "*/b", ".x/b", WILDCARD_PATH, true },
	{ "?", "/", WILDCARD_PATH, false },
	{ "?", "", 0, false },
	{ "[/a]", "/", WILDCARD_PATH, false },
	{ "[/a]", "a", WILDCARD_PATH, true },
	{ "[!a]", "/", WILDCARD_PATH, false },
	{ "[a-c]", "b", 0, true },
	{ "[^a-c]", "b", 0, false },
	{ "[]a]", "]", 0, true },
	{ "[a-]", "-", 0, true },
	{ "[x\\]y]*", "]z", 0, true },
	{ "[x\\]y]*", "\\y]", WILDCARD_PLAIN, true },
	{ "[a\\-c]", "b", 0, false },
	{ "[[:digit:]x]", "7", 0, true },
	{ "[[:digit:]x]", ":", 0, false },
	{ "[[:none:]]", "n", 0, false },
	{ "[a", "[a", 0, true },
	{ "[a", "a", 0, false },
	{ "a\\*", "a*", 0, true },
	{ "a\\*", "ab", 0, false },
	{ "a\\*", "a\\b", WILDCARD_PLAIN, true },
	{ "a\\", "a\\", 0, false },
	{ "[[.a.]]", "a", 0, true },
	{ "[[.a.]]", ".", 0, false },
	{ "[[.-.]]", "-", 0, true },
	{ "[[.].]]", "]", 0, true },
	{ "[[.a.]-c]", "b", 0, true },
	{ "[a-[.c.]]", "b", 0, true },
	{ "[[.ab.]]", "a", 0, false },
	{ "[[..]]", ".", 0, false },
	{ "[[.]", ".", 0, false },
	{ "[[.]", "[", 0, false },
	{ "[[=a=]]", "a", 0, true },
	{ "[[=a=]]", "=", 0, false },
	{ "[[=a]", "=", 0, true },
	{ "[[=]", "[", 0, true },
	{ "[[:]", ":", 0, true },
	{ "[[:]", "[", 0, true },
	{ "[[:digit]", "d", 0, true },
	{ "[[:digit]", "7", 0, false },
	{ "[[:digit:]-9]", "-", 0, true },
	{ "[![:digit:]]", "7", 0, false },
	{ "[![:digit:]]", "x", 0, true },
	{ "[![:none:]]", "x", 0, false },
	{ "[[::]]", ":", 0, false },
	{ "[:digit:]", "d", 0, true },
	{ "[:digit:]", "7", 0, false },
	{ "\xc3?", "\xc3\xa9", 0, true },
};

static void test_match(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		tap_is_int(wildcard_matches(cases[i].pattern, cases[i].text, cases[i].flags),
			   cases[i].is_match, "'%s' and '%s'", cases[i].pattern, cases[i].text);
}

/* Tried anew from every star, that would not end. */
static void test_stars(void)
{
	char text[400], pattern[64] = "";

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(pattern, '*', 60);
	for (size_t i = 1; i < 60; i += 2)
		pattern[i] = 'a';
	tap_ok(wildcard_matches(pattern, text, 0), "many stars");
	pattern[60] = 'b';
	tap_ok(!wildcard_matches(pattern, text, 0), "and what none of them ends with");
}

int main(void)
{
	test_match();
	test_stars();
	return tap_done();
}
