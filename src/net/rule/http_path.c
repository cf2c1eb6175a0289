/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of requests as rules read them. Servers differ in what they take for the same path: a path that some reader
 * could take for another one is not plain, and of a plain one there is a strict and a loose reading.
 */
#include "net/rule/http.h"
#include "base/text/percent.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/*
 * Escapes that some server takes for a dot, a slash or an end: of those bytes themselves, of control bytes, twice encoded,
 * in more bytes than they need (UTF-8), as full-width signs, or none at all (%u002e). Also letters outside ASCII that
 * fold to one of ASCII's: long s, the Kelvin sign, and both odd forms of i.
 */
static bool is_odd_escape(const char *text, size_t len)
{
	static const char *const odd[] = { "%0",     "%1",     "%25",	 "%2e",	   "%2f",
					   "%5c",    "%7f",    "%c0",	 "%c1",	   "%e0%8",
					   "%e0%9",  "%f0%8",  "%f8",	 "%fc",	   "%ef%bc",
					   "%ef%bd", "%c5%bf", "%c4%b0", "%c4%b1", "%e2%84%aa" };

	if (percent_byte(text, len) < 0)
		return true;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		size_t size = strlen(odd[i]);

		if (size <= len && strncasecmp(text, odd[i], size) == 0)
			return true;
	}
	return false;
}

/*
 * Behind a slash: another one; dots and nothing else, also with parameters or escapes, which some servers cut off first;
 * or nothing but such parameters or spaces.
 */
static bool is_odd_segment(const char *text, size_t len)
{
	size_t dots = 0;

	if (len > 0 && (text[0] == '/' || text[0] == ';'))
		return true;
	if (len >= 3 && (strncasecmp(text, "%3b", 3) == 0 || strncmp(text, "%20", 3) == 0))
		return true;
	while (dots < len && text[dots] == '.')
		dots++;
	return dots > 0 && (dots == len || strchr("/;%", text[dots]));
}

static size_t path_end(const char *path, size_t len)
{
	const char *query = memchr(path, '?', len);

	return query ? (size_t)(query - path) : len;
}

bool http_path_is_plain(const char *path, size_t len)
{
	size_t end = path_end(path, len);

	for (size_t i = 0; i < end; i++) {
		unsigned char c = (unsigned char)path[i];

		if (c <= ' ' || c >= 0x7f || c == '\\' || c == '#')
			return false;
		if (c == '%' && is_odd_escape(path + i, end - i))
			return false;
		if (c == '/' && is_odd_segment(path + i + 1, end - i - 1))
			return false;
	}
	return end > 0 && path[0] == '/';
}

char http_next_byte(const char **at, const char *end)
{
	int escaped = percent_byte(*at, (size_t)(end - *at));
	char c = escaped < 0 ? **at : (char)escaped;

	*at += escaped < 0 ? 1 : 3;
	return c;
}

/* Steps over what some servers cut off the end of a segment: dots, spaces, and parameters from a ';' on. */
static const char *skip_tail(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && *at != '/') {
		const char *next = at;
		char c = http_next_byte(&next, end);

		if (c == ';') {
			const char *slash = memchr(at, '/', (size_t)(end - at));

			return slash ? slash : end;
		}
		if (c != '.' && c != ' ')
			return start;
		at = next;
	}
	return at;
}

char http_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool http_path_begins(const char *path, size_t len, const char *prefix, enum http_reading reading)
{
	const char *at = path, *end = path + path_end(path, len);
	const char *rule = prefix, *rule_end = prefix + strlen(prefix);
	bool is_loose = reading == HTTP_LOOSE;

	while (rule < rule_end) {
		char want, have;

		if (is_loose) {
			at = skip_tail(at, end);
			rule = skip_tail(rule, rule_end);
		}
		if (rule == rule_end)
			break;
		want = http_next_byte(&rule, rule_end);
		/* A folder's own name without the slash is the folder to a loose reader. */
		if (at == end)
			return is_loose && want == '/' && rule == rule_end;
		have = http_next_byte(&at, end);
		if (is_loose ? http_fold(have) != http_fold(want) : have != want)
			return false;
	}
	if (is_loose)
		at = skip_tail(at, end);
	return rule_end[-1] == '/' || at == end || *at == '/';
}
