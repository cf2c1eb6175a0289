/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for secrets in what is about to leave a sandbox for good: promotions, bundles, artifacts. */
#ifndef APP_SECRET_LOOK_H
#define APP_SECRET_LOOK_H

#include "base/hash/secrets.h"
#include "run/scrub.h"
#include "workspace/delta/delta.h"
#include "workspace/patch/patch.h"

/* Those that the sandbox was made with, and all that the user has stored. */
struct secret_look {
	struct secrets secrets[2];
	struct scrub_words words[2];
};

/* ERROR_LIBRARIES in the hot program when there are stored ones; an error when one cannot be read. To be released in any case. */
int secret_look_open(const struct sandbox *sandbox, struct secret_look *ret_look,
		     struct error *err);
void secret_look_close(struct secret_look *look);

/* Refuses what holds one, as it is or encoded: the bytes of FD (-1: none), or TEXT. COOKIE is the look; PATH names it. */
int secret_look_refuse(void *cookie, int fd, const char *text, size_t len, const char *path,
		       struct error *err);

/* The same for all that a delta brings. ERROR_DENIED is a secret; what cannot be read is another error. */
int secret_look_delta(struct secret_look *look, const struct view_stack *stack,
		      const struct delta *delta, struct error *err);

/* A patch on its way to a reader: "[secret NAME]" stands where one was, in contents and in names. */
struct secret_veil {
	struct secret_look look;
	struct scrub scrubs[2];
	const struct patch_sink *sink; /* borrowed */
};

/* One that was removed meanwhile is not known any more, and no error. VEIL has its sink; to be closed in any case. */
int secret_veil_open(const struct sandbox *sandbox, struct secret_veil *veil, struct error *err);
void secret_veil_close(struct secret_veil *veil);

/* A patch_sink's. What could begin a secret is held back until the next bytes, or the end. */
int secret_veil_add(void *cookie, const char *bytes, size_t len, struct error *err);
int secret_veil_end(struct secret_veil *veil, struct error *err);

/* Before a command is run whose changes will be promoted by this process: ERROR_LIBRARIES where another program must do that. */
int secret_look_ready(struct error *err);

#endif
