/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs about the user's named secrets. Only in the program with libraries. */
#ifndef APP_SECRET_VERBS_H
#define APP_SECRET_VERBS_H

#include "app/config/secret_store.h"
#include "base/core/value.h"

struct app_secret {
	const char *name;
	const char *bytes; /* the value; borrowed */
	size_t len;
	/* Scopes, or NULL; where all three are, those of the secret that is replaced stay. */
	const struct strv *hosts, *profiles, *workspaces;
	bool takes_passphrase; /* from now on the key of all is a passphrase's */
	struct secret_asker asker;
};

/* {name, scopes, set}. */
int app_secret_set(const struct app_secret *wish, struct value **ret_answer, struct error *err);

/* [{name, scopes, set, last_used}], by name. */
int app_secret_list(const struct secret_asker *asker, struct value **ret_list, struct error *err);

int app_secret_remove(const char *name, const struct secret_asker *asker, struct value **ret_answer,
		      struct error *err);

/* [{time, run_id, sandbox, as}] from the history, newest first; also of a secret that is gone. */
int app_secret_uses(const char *name, struct value **ret_list, struct error *err);

#endif
