/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates that variables of the caller's name: a private authority's file often lies in HOME, which is empty inside. */
#ifndef APP_CERTIFICATES_H
#define APP_CERTIFICATES_H

#include "app/prepare/plan_context.h"

#include <stdbool.h>

/*
 * Adds each file of HOME that a variable of ENVIRON names for certificates (plan/variables.tsv): its path, then the certificates
 * in it as text, and nothing else of it. Files without any are left out. HOME is resolved, and so are the paths.
 */
void certificates_read(const char *const *environ, const char *home, struct strv *ret_files);

/* Whether PAIR, as NAME=VALUE, is a variable of that kind. */
bool certificates_is_named_by(const char *pair);

/* What configuration files say in the place of such variables. */
struct authorities {
	struct strv said;  /* as NAME=PATH */
	struct strv pairs; /* for git: address ("": all others) and file, in turn */
	struct strv
		files; /* all that are shown, those of variables too: path and content, in turn */
};

/* ENV is what presets found in those of package clients, among other variables. False: they say nothing. */
bool authorities_find(const struct plan_context *around, const struct strv *env,
		      struct authorities *ret_found);
void authorities_done(struct authorities *found);

/* ENVIRON with what configuration files say (SAID, as NAME=PATH) for names that it does not set. */
void certificates_add_said(const char *const *environ, const struct strv *said,
			   struct strv *ret_environ);

/* Of TEXT the blocks that are certificates; a private key beside them stays outside. */
void certificates_pick(const char *text, struct str *out);

#endif
