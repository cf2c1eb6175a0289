/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox's secrets, to be kept out of reports about it: its commands, its denials. */
#ifndef APP_SECRET_WORDS_H
#define APP_SECRET_WORDS_H

#include "base/hash/secrets.h"
#include "run/scrub.h"

struct secret_words {
	struct secrets secrets;
	struct scrub_words words;
	bool is_unknown; /* there are some, or may be, and they cannot be read */
};

/* WORDS: as a spec has them. */
void secret_words_read(const struct strv *words, struct secret_words *ret_words);
void secret_words_done(struct secret_words *words);

/* Puts another text, without them, in the place of one on the heap. Without knowing them, all of it goes. */
void secret_words_hide(const struct secret_words *words, char **text);

#endif
