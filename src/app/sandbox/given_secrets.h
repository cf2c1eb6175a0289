/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that single commands of a sandbox were given, by their words: a command may have written the value to a file, which
 * later ones print and promotions take over. Words only; values are read where they are kept.
 */
#ifndef APP_GIVEN_SECRETS_H
#define APP_GIVEN_SECRETS_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/hash/secrets.h"

/* Adds those that are not noted yet. DIR_FD is the sandbox's directory. */
int given_secrets_note(int dir_fd, const struct strv *words, struct error *err);

/* Adds the noted words to RET_WORDS. */
int given_secrets_list(int dir_fd, struct strv *ret_words, struct error *err);

/* The values of those that still exist, called by their words: one name may have had several. */
int given_secrets_read(int dir_fd, struct secrets *ret_secrets, struct error *err);

#endif
