/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns. Not fnmatch: to musl's a backslash between brackets is a character, and [. begins nothing; what is hidden from
 * a command, or refused, must not depend on the program.
 */
#include "base/text/wildcard.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Of a class that is none. */
#define UNKNOWN (-1)
/* Of a set that is none: its bracket stands for itself. */
#define UNENDED (-1)

static int is_of_class(const char *name, size_t len, int byte)
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
			return classes[i].is(byte) != 0;
	}
	return UNKNOWN;
}

/* The byte at *AT, or the one it protects; 0 at the end. */
static unsigned char take(const char **at, int flags)
{
	if (**at == '\\' && !(flags & WILDCARD_PLAIN))
		++*at;
	return **at ? (unsigned char)*(*at)++ : 0;
}

/* [.x.] or [=x=], as SIGN says, which is x: no character has another name here. 0 where it is wrong. */
static unsigned char take_named(const char **at, char sign)
{
	const char *name = *at + 2;

	if (!name[0] || name[1] != sign || name[2] != ']')
		return 0;
	*at = name + 3;
	return (unsigned char)name[0];
}

/* The end of a range, or a byte of its own; 0 where there is none. */
static unsigned char take_end(const char **at, int flags)
{
	return (*at)[0] == '[' && (*at)[1] == '.' ? take_named(at, '.') : take(at, flags);
}

/* A class or a character by its equals, behind which AT is moved. False where neither begins. */
static bool take_class(const char **at, unsigned char byte, int *ret_is_in)
{
	const char *name = *at + 2;
	size_t len = 0;

	if ((*at)[0] != '[' || ((*at)[1] != ':' && (*at)[1] != '='))
		return false;
	if ((*at)[1] == '=') {
		unsigned char equal = take_named(at, '=');

		*ret_is_in = equal == byte;
		return equal != 0;
	}
	while (name[len] >= 'a' && name[len] < 'z')
		len++;
	if (name[len] != ':' || name[len + 1] != ']')
		return false;
	*ret_is_in = is_of_class(name, len, byte);
	*at = name + len + 2;
	return true;
}

/* One byte, or all from one to another; UNKNOWN where an end is missing. */
static int take_range(const char **at, unsigned char byte, int flags)
{
	unsigned char from = take_end(at, flags), to = from;

	if (from && (*at)[0] == '-' && (*at)[1] != ']') {
		++*at;
		to = take_end(at, flags);
	}
	return from && to ? byte >= from && byte <= to : UNKNOWN;
}

/* Whether BYTE is in the set behind AT, which is then moved behind it; UNENDED where nothing ends it. */
static int is_in_set(const char **at, unsigned char byte, int flags)
{
	const char *set = *at;
	bool is_negated = *set == '!' || *set == '^', is_in = false;

	set += is_negated;
	for (const char *first = set; *set != ']' || set == first;) {
		int is_this;

		if (*set == '\0')
			return UNENDED;
		if (!take_class(&set, byte, &is_this))
			is_this = take_range(&set, byte, flags);
		if (is_this == UNKNOWN)
			return false;
		is_in |= is_this;
	}
	*at = set + 1;
	return is_in != is_negated;
}

/* Whether the first of the pattern, which is no star, is the first of the text; both are moved. */
static bool step(const char **pattern, const char **text, int flags)
{
	const char *at = *pattern;
	unsigned char byte = (unsigned char)**text;
	int is_in = UNENDED;

	if (!byte)
		return false;
	if (*at == '?')
		is_in = byte != '/' || !(flags & WILDCARD_PATH);
	if (*at == '[') {
		at++;
		is_in = is_in_set(&at, byte, flags);
		if (byte == '/' && flags & WILDCARD_PATH)
			is_in = is_in == UNENDED ? UNENDED : false;
	} else if (*at) {
		at++;
	}
	if (is_in == UNENDED) {
		at = *pattern;
		is_in = take(&at, flags) == byte;
	}
	*pattern = at;
	++*text;
	return is_in;
}

bool wildcard_matches(const char *pattern, const char *text, int flags)
{
	const char *star = NULL, *from = NULL;

	for (;;) {
		bool is_end = *text == '\0' || (*text == '/' && flags & WILDCARD_BELOW);

		if (*pattern == '*') {
			star = ++pattern;
			from = text;
			continue;
		}
		if (*pattern == '\0' && is_end)
			return true;
		if (*pattern && step(&pattern, &text, flags))
			continue;
		/* The last star takes one more; an earlier one could do nothing that it cannot. */
		if (!star || *from == '\0' || (*from == '/' && flags & WILDCARD_PATH))
			return false;
		text = ++from;
		pattern = star;
	}
}
