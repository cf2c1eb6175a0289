/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a shell. */
#include "base/text/shell_quote.h"

#include <string.h>

void shell_quote_add(struct str *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./@%+=:,-";

	if (*word && !word[strspn(word, plain)]) {
		str_add(out, word);
		return;
	}
	str_add_char(out, '\'');
	for (; *word; word++)
		*word == '\'' ? str_add(out, "'\\''") : str_add_char(out, *word);
	str_add_char(out, '\'');
}
