/* SPDX-License-Identifier: Apache-2.0 */
/* How sandboxes are written down, and what only the parts of the store do to them. */
#ifndef WORKSPACE_SANDBOX_RECORD_H
#define WORKSPACE_SANDBOX_RECORD_H

#include "workspace/store/sandbox.h"

#define SANDBOX_FORK_NAME "fork"

void sandbox_meta_format(const struct sandbox *sandbox, struct str *out);
int sandbox_meta_parse(const char *bytes, size_t len, struct sandbox *sandbox, struct error *err);
void sandbox_head_format(const struct sandbox *sandbox, struct str *out);
int sandbox_head_parse(const char *bytes, size_t len, struct sandbox *sandbox, struct error *err);

/* Frees what the records hold. */
void sandbox_record_done(struct sandbox *sandbox);

/* The host as it is now becomes the base. */
int sandbox_take_base(struct sandbox *sandbox, struct error *err);

/* Completes ERR: the record could not be read. */
int sandbox_damaged(const struct sandbox *sandbox, struct error *err);

int sandbox_read_head(struct sandbox *sandbox, struct error *err);
/* Without the note of when it ends. */
int sandbox_write_head(const struct sandbox *sandbox, struct error *err);

/* Whether layers made by it have user.overlay.* marks. */
bool sandbox_has_user_xattr(const struct sandbox *sandbox);

/* Whether NAME fits the rule for names; of snapshots, too. */
bool sandbox_name_is_valid(const char *name);

bool sandbox_is_there(const struct store *store, const char *name);
bool sandbox_is_expired(const struct sandbox *sandbox);

/* sandbox_sweep without asking first whether anything can have expired. */
void sandbox_sweep_all(const struct store *store, struct strv *removed);

/* Fills the error: there is no such one, with the nearest name there is below directory DIR. */
int sandbox_not_found(int dir_fd, const char *dir, const char *what, const char *name,
		      struct error *err);

#endif
