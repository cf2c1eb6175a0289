/* SPDX-License-Identifier: Apache-2.0 */
/* Words in one text. */
#include "scan/follow/in_list.h"

#include <string.h>

bool in_list_bytes(const char *words, const char *word, size_t len)
{
	if (len == 0 || memchr(word, ' ', len))
		return false;
	/* A word at a time by hand: they are short, and looked through for nearly every name of a text. */
	for (;;) {
		size_t same = 0;

		while (same < len && words[same] == word[same] && words[same])
			same++;
		words += same;
		if (same == len && (*words == ' ' || !*words))
			return true;
		while (*words && *words != ' ')
			words++;
		if (!*words)
			return false;
		words++;
	}
}

bool in_list(const char *words, const char *word)
{
	return in_list_bytes(words, word, strlen(word));
}
