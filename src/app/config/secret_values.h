/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets as a spec names them, with their values: files of the caller's, and those that the user has stored. */
#ifndef APP_SECRET_VALUES_H
#define APP_SECRET_VALUES_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "base/hash/secrets.h"

/* What a stored secret is for; its scopes are held against it. */
struct secret_use {
	const char *workspace, *profile; /* NULL: not asked */
	const char *host;		 /* NULL: the sandbox gets it as a file or a variable */
};

/*
 * WORDS are NAME=FILE, NAME (stored), $VARIABLE=NAME (stored) and @HOST:PORT:HOW=NAME (stored, net/rule/inject.h). ERROR_LIBRARIES in the hot program when one is stored. USE NULL:
 * scopes are not asked, as for keeping them out of reports.
 */
int secret_values_read(const struct strv *words, const struct secret_use *use,
		       struct secrets *ret_secrets, struct error *err);

/*
 * Gives each placeholder among WORDS its random part, $VARIABLE~RANDOM: that of BEFORE (may be NULL) where it was there already, and the same for all
 * hosts of a variable.
 */
int secret_words_draw(struct strv *words, const struct strv *before, struct error *err);

/* Adds those that are injected as HOST:PORT:HOW=NAME, for reports. */
void secret_words_injected(const struct strv *words, struct strv *ret_list);

/* When the newest of the injected ones among WORDS was set; 0 where there is none. */
int secret_values_stamp(const struct strv *words, uint64_t *ret_set_ms, struct error *err);

/* All that the user has stored; nothing where none is. ERROR_LIBRARIES in the hot program where there are some. */
int secret_values_all(struct secrets *ret_secrets, struct error *err);

/* The name of the stored secret that WORD asks for; NULL when it names a file. */
const char *secret_word_stored(const char *word);

/* The variable that the command gets by WORD, of *RET_LEN bytes; NULL when it gets none. */
const char *secret_word_variable(const char *word, size_t *ret_len);

/* How a stored one is given, in words. */
struct value *secret_word_way(const char *word);

/* How the stored ones are locked, by the first bytes of their file. */
enum secret_lock {
	SECRET_LOCK_NONE, /* there are none */
	SECRET_LOCK_FILE,
	SECRET_LOCK_CACHED,
	SECRET_LOCK_PASSPHRASE,
	SECRET_LOCK_BROKEN,
};

enum secret_lock secret_lock_look(const char *config_dir);

#endif
