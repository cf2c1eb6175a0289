/*
 * What servers and their frameworks take in place of the request line: headers and parameters of the query that name
 * another method, path or host. The list is by pattern, as each framework has its own spelling.
 */
#include "net/http.h"

#include <stdio.h>
#include <string.h>

#define WORD_SIZE 64

static int hex_value(char c)
{
	const char *digits = "0123456789abcdef";
	const char *digit = c ? strchr(digits, c | 0x20) : NULL;

	return digit ? (int)(digit - digits) : -1;
}

/* Lower case, '_' as '-' (CGI knows no difference), escapes decoded; cut to what the patterns need. */
static void canonical_word(const char *text, size_t len, char out[static WORD_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; i < len && used < WORD_SIZE - 1; i++) {
		char c = text[i];

		if (c == '%' && i + 2 < len && hex_value(text[i + 1]) >= 0 &&
		    hex_value(text[i + 2]) >= 0) {
			c = (char)(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
			i += 2;
		}
		if (c >= 'A' && c <= 'Z')
			c = (char)(c | 0x20);
		out[used++] = c == '_' ? '-' : c;
	}
	out[used] = '\0';
}

static bool ends_with(const char *word, const char *tail)
{
	size_t len = strlen(word), tail_len = strlen(tail);

	return len >= tail_len && strcmp(word + len - tail_len, tail) == 0;
}

bool http_header_overrides(const char *name, size_t len)
{
	static const char *const tails[] = { "-url", "-uri", "-path", "-prefix", "-host" };
	char word[WORD_SIZE];

	canonical_word(name, len, word);
	if (strcmp(word, "forwarded") == 0)
		return true;
	if (strstr(word, "method"))
		return strncmp(word, "access-control-", 15) != 0;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		if (word[0] == 'x' && word[1] == '-' && ends_with(word, tails[i]))
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
	       (strncmp(word, "x-", 2) == 0 && strstr(word, "method"));
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
