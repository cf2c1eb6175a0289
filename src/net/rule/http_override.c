/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What servers and their frameworks take in place of the request line: headers and parameters of the query that name
 * another method, path or host. The list is by pattern, as each framework has its own spelling.
 */
#include "net/rule/http.h"

#include "base/core/str.h"

#include <string.h>

#define WORD_SIZE 64

/* Lower case, '_' as '-' (CGI knows no difference), escapes decoded; cut to what the patterns need. */
static void canonical_word(const char *text, size_t len, char out[static WORD_SIZE])
{
	size_t used = 0;

	for (const char *at = text, *end = text + len; at < end && used < WORD_SIZE - 1;) {
		char c = http_fold(http_next_byte(&at, end));

		out[used++] = c == '_' ? '-' : c;
	}
	out[used] = '\0';
}

bool http_header_overrides(const char *name, size_t len)
{
	static const char *const tails[] = { "-url", "-uri", "-path", "-prefix", "-host" };
	char word[WORD_SIZE];

	canonical_word(name, len, word);
	if (strcmp(word, "forwarded") == 0)
		return true;
	if (strstr(word, "method"))
		return !str_starts(word, "access-control-");
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		if (str_starts(word, "x-") && str_ends(word, tails[i]))
			return true;
	}
	return false;
}

static bool parameter_overrides(const char *name, size_t len)
{
	char word[WORD_SIZE];

	canonical_word(name, len, word);
	return strcmp(word, "-method") == 0 || strcmp(word, "$httpmethod") == 0 ||
	       strstr(word, "method-override") ||
	       (str_starts(word, "x-") && strstr(word, "method"));
}

bool http_query_overrides(const char *path, size_t len)
{
	const char *end = path + len, *at = memchr(path, '?', len);

	while (at && ++at < end) {
		const char *stop = at;

		while (stop < end && *stop != '=' && *stop != '&' && *stop != ';')
			stop++;
		if (parameter_overrides(at, (size_t)(stop - at)))
			return true;
		while (stop < end && *stop != '&' && *stop != ';')
			stop++;
		at = stop;
	}
	return false;
}
