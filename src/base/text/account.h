/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a word like `postgres`, `101` or `www-data:adm` means, by the text of an /etc/passwd and an /etc/group. */
#ifndef BASE_ACCOUNT_H
#define BASE_ACCOUNT_H

#include "base/core/error.h"

#include <stdint.h>

#define ACCOUNT_NAME_MAX 32

/* Owned; account_done. */
struct account {
	uint32_t uid, gid;
	char *name,
		*home; /* as passwd has them; of an id that it does not know: the number, and "/" */
};

/* Whether WORD is ID[:GID], each a number or a name. Names are what useradd accepts: nothing a shell or a file would read. */
int account_check(const char *word, struct error *err);

/*
 * Looks the checked WORD up. Both texts may come from anywhere: lines that are not of the form are passed over, and the first that
 * fits counts. Without a group of its own a known id has that of its line, another one the group of the same number.
 */
int account_find(const char *word, const char *passwd, const char *group,
		 struct account *ret_account, struct error *err);

void account_done(struct account *account);

#endif
