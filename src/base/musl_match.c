/*
 * fnmatch of a program that is linked with musl, to which a backslash between brackets is a character: what is hidden from
 * a command, or refused, must not depend on the program. Bytes, as in the C locale; no flags but the three that are used.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CLASS_MAX 8

static bool is_of_class(const char *name, size_t len, int byte)
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
			return classes[i].is(byte);
	}
	return false;
}

/* The length of the class that begins at AT, behind "[:"; 0 where none does. */
static size_t class_len(const char *at)
{
	size_t len = 0;

	while (len < CLASS_MAX && at[len] >= 'a' && at[len] <= 'z')
		len++;
	return at[len] == ':' && at[len + 1] == ']' ? len : 0;
}

/* The byte at *AT, or the one it protects; 0 at the end. */
static unsigned char take(const char **at, int flags)
{
	if (**at == '\\' && !(flags & FNM_NOESCAPE))
		++*at;
	return **at ? (unsigned char)*(*at)++ : 0;
}

/* Whether BYTE is in the set behind AT, which is then moved behind it. -1 where it does not end, unless in its middle. */
static int is_in_set(const char **at, unsigned char byte, int flags)
{
	const char *set = *at;
	bool is_negated = *set == '!' || *set == '^', is_in = false;

	set += is_negated;
	for (const char *first = set; *set != ']' || set == first;) {
		size_t len = set[0] == '[' && set[1] == ':' ? class_len(set + 2) : 0;

		if (len > 0) {
			is_in |= is_of_class(set + 2, len, byte);
			set += len + 4;
			continue;
		}
		if (*set == '\0')
			return -1;
		unsigned char from = take(&set, flags), to = from;

		if (from && set[0] == '-' && set[1] != ']') {
			set++;
			to = take(&set, flags);
		}
		if (!from || !to)
			return 0;
		is_in |= byte >= from && byte <= to;
	}
	*at = set + 1;
	return is_in != is_negated;
}

/* Whether the first of the pattern, which is no star, is the first of the text; both are moved. */
static bool step(const char **pattern, const char **text, int flags)
{
	const char *at = *pattern;
	unsigned char byte = (unsigned char)**text;
	int is_in = -1;

	if (!byte)
		return false;
	if (*at == '?')
		is_in = byte != '/' || !(flags & FNM_PATHNAME);
	if (*at == '[') {
		at++;
		is_in = is_in_set(&at, byte, flags);
		if (byte == '/' && flags & FNM_PATHNAME)
			is_in = is_in < 0 ? -1 : 0;
	} else if (*at) {
		at++;
	}
	if (is_in < 0) {
		at = *pattern;
		is_in = take(&at, flags) == byte;
	}
	*pattern = at;
	++*text;
	return is_in;
}

int fnmatch(const char *pattern, const char *text, int flags)
{
	const char *star = NULL, *from = NULL;

	for (;;) {
		bool is_end = *text == '\0' || (*text == '/' && flags & FNM_LEADING_DIR);

		if (*pattern == '*') {
			star = ++pattern;
			from = text;
			continue;
		}
		if (*pattern == '\0' && is_end)
			return 0;
		if (*pattern && step(&pattern, &text, flags))
			continue;
		/* The last star takes one more; an earlier one could do nothing that it cannot. */
		if (!star || *from == '\0' || (*from == '/' && flags & FNM_PATHNAME))
			return FNM_NOMATCH;
		text = ++from;
		pattern = star;
	}
}
