/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets: small files of the caller's that are read into memory, to be handed on and to be kept out of what is shown.
 *
 * Their values are never part of a plan, an environment or an argument list; the memory is wiped when it is let go.
 */
#ifndef BASE_SECRETS_H
#define BASE_SECRETS_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stddef.h>

#define SECRETS_MAX 100
/* Shorter ones would blot out half of a program's output. */
#define SECRET_BYTES_MIN 4
#define SECRET_BYTES_MAX (64u << 10)
#define SECRETS_TOTAL_MAX (256u << 10)
#define SECRET_NAME_MAX 64

struct secret {
	char *name;
	char *bytes;
	size_t len;
	size_t text_len; /* without the line ends behind it: as programs print it */
};

struct secrets {
	struct secret *items;
	size_t count;
};

/* Wipes and frees. */
void secrets_done(struct secrets *secrets);

/* Adds a copy of the bytes, or puts it in the place of one of that name. ERR names what is wrong with it. */
int secrets_add(struct secrets *secrets, const char *name, const void *bytes, size_t len,
		struct error *err);

/* Reads what a list of NAME=FILE names; the last one of a name counts. Nothing but plain files is read. */
int secrets_read(const struct strv *pairs, struct secrets *ret_secrets, struct error *err);

/* As words of text, a name and a value in turn; the caller wipes them with secrets_words_done. */
void secrets_to_words(const struct secrets *secrets, struct strv *ret_words);
int secrets_from_words(const struct strv *words, struct secrets *ret_secrets, struct error *err);
void secrets_words_done(struct strv *words);

#endif
