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

#include <stdbool.h>
#include <stddef.h>

#define SECRETS_MAX 100
/* Shorter ones would blot out half of a program's output. */
#define SECRET_BYTES_MIN 4
/* The least that a user may give: it must be found in output, and so must the beginning of it. */
#define SECRET_LEAST 8
#define SECRET_BYTES_MAX (64u << 10)
#define SECRETS_TOTAL_MAX (256u << 10)
#define SECRET_NAME_MAX 64

struct secret {
	char *name; /* of a file; of a variable with a $ in front; with an @ one that is injected (net/rule/inject.h) */
	char *bytes; /* by secret_alloc */
	size_t len;
	size_t text_len; /* without the line ends behind it: as programs print it */
};

struct secrets {
	struct secret *items;
	size_t count;
};

/* Memory that is in no core file, and not in swap as far as the caller's limits go; LEN may be 0. */
void *secret_alloc(size_t len);
/* Wipes and frees. */
void secret_free(void *bytes, size_t len);
/* For a process that only handles secrets: it leaves no core file, and other processes of the user cannot look into it. */
void secrets_keep_in_memory(void);

/* Whether a file or a variable can be called so. */
bool secret_name_is_valid(const char *name);
/* Whether the value is one that a user may give. */
int secret_check_length(const char *name, const char *bytes, size_t len, struct error *err);

/* Wipes and frees. */
void secrets_done(struct secrets *secrets);

/* Adds a copy of the bytes, or puts it in the place of one of that name. ERR names what is wrong with it. */
int secrets_add(struct secrets *secrets, const char *name, const void *bytes, size_t len,
		struct error *err);

void secrets_remove(struct secrets *secrets, size_t place);

/* Moves SECRET to the end of the list, whatever others are called; it has nothing to be released then. */
void secrets_append(struct secrets *secrets, struct secret *secret);

/* Those of both (each may be NULL) in one list that borrows them: the caller frees its items. */
struct secrets secrets_both(const struct secrets *first, const struct secrets *second);

/* Adds what a word NAME=FILE names. Nothing but plain files is read. */
int secrets_read_file(struct secrets *secrets, const char *word, struct error *err);

/* One that is put into requests outside: no process of the sandbox gets its value. */
bool secret_is_injected(const struct secret *secret);
/* How reports call it. */
const char *secret_shown(const char *name);
/* What stands for an injected one inside, as long as it is, of the random part of its word; the caller frees it. */
char *secret_placeholder(const struct secret *secret);

/* Those that are variables, and placeholders of injected ones, added to ENV in the place of others of their names; the caller wipes it with secrets_words_done. */
void secrets_add_variables(const struct secrets *secrets, struct strv *env);

/* As words of text, a name and a value in turn; for processes inside INJECTED is false, and they get placeholders; the caller wipes them with secrets_words_done. */
void secrets_to_words(const struct secrets *secrets, bool injected, struct strv *ret_words);
int secrets_from_words(const struct strv *words, struct secrets *ret_secrets, struct error *err);
void secrets_words_done(struct strv *words);

#endif
