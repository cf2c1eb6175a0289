/* SPDX-License-Identifier: Apache-2.0 */
/* What signing and checking share. */
#ifndef APP_SIGN_PARTS_H
#define APP_SIGN_PARTS_H

#include "base/hash/crypto.h"
#include "base/core/error.h"
#include "base/core/str.h"
#include "scan/syntax/language.h"

#define SIGNATURE_FIRST_LINE "aisbx-signature 2"

/* What is signed: a file's content, and the language it is in, so that no other interpreter reads it. */
void sign_message(const struct str *content, enum scan_language language, struct str *ret_message);

/* The user's own key: 1, or 0 when there is none yet; -1. */
int sign_read_key(const char *config_dir, unsigned char ret_secret[static ED25519_SECRET],
		  struct error *err);

/* The same, made where there is none yet. The caller wipes it. */
int sign_own_key(const char *config_dir, unsigned char ret_secret[static ED25519_SECRET],
		 struct error *err);

/* SIZE bytes as base64. */
bool sign_read_word(const char *word, size_t len, unsigned char *ret, size_t size);

/* Whether KEY is the user's own or in the user's list of trusted ones. */
int sign_trusts(const char *config_dir, const unsigned char *key, bool *ret_trusted,
		struct error *err);

#endif
