/* Words in one text. */
#include "scan/among.h"

#include <string.h>

bool is_among_bytes(const char *words, const char *word, size_t len)
{
	if (len == 0 || memchr(word, ' ', len))
		return false;
	while (words) {
		if (*words == *word && strncmp(words, word, len) == 0 &&
		    (words[len] == ' ' || !words[len]))
			return true;
		words = strchr(words, ' ');
		words += words != NULL;
	}
	return false;
}

bool is_among(const char *words, const char *word)
{
	return is_among_bytes(words, word, strlen(word));
}
