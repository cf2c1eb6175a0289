/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates that variables of the caller's name: a private authority's file often lies in HOME, which is empty inside. */
#ifndef APP_CERTIFICATES_H
#define APP_CERTIFICATES_H

#include "base/core/str.h"

/*
 * Adds each file of HOME that a variable of ENVIRON names for certificates (plan/variables.tsv): its path, then the certificates
 * in it as text, and nothing else of it. Files without any are left out. HOME is resolved, and so are the paths.
 */
void certificates_read(const char *const *environ, const char *home, struct strv *ret_files);

/* Of TEXT the blocks that are certificates; a private key beside them stays outside. */
void certificates_pick(const char *text, struct str *out);

#endif
