/* Words in one text. */
#include "scan/among.h"

#include <string.h>

bool is_among_bytes(const char *words, const char *word, size_t len)
{
	if (len == 0 || memchr(word, ' ', len))
		return false;
	while (*words) {
		size_t next = strcspn(words, " ");

		if (next == len && memcmp(words, word, len) == 0)
			return true;
		words += next;
		words += *words == ' ';
	}
	return false;
}

bool is_among(const char *words, const char *word)
{
	return is_among_bytes(words, word, strlen(word));
}
