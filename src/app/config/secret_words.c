/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox's secrets, to be kept out of reports about it. */
#include "app/config/secret_words.h"

#include "app/config/secret_values.h"

#include <stdlib.h>
#include <string.h>

void secret_words_read(const struct strv *words, struct secret_words *ret_words)
{
	struct error ignored;

	memset(ret_words, 0, sizeof(*ret_words));
	ret_words->is_unknown = secret_values_read(words, NULL, &ret_words->secrets, &ignored) < 0;
	scrub_words_init(&ret_words->words, &ret_words->secrets);
}

void secret_words_done(struct secret_words *words)
{
	scrub_words_done(&words->words);
	secrets_done(&words->secrets);
}

void secret_words_hide(const struct secret_words *words, char **text)
{
	if (!*text)
		return;
	if (!words->is_unknown) {
		scrub_text(&words->words, text);
		return;
	}
	free(*text);
	*text = xstrdup("(not shown: the sandbox's secrets cannot be read)");
}
