/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git configuration as text: looked into, and rewritten for a sandbox.
 *
 * A configuration names programs (hooks, monitors, filters, pagers, helpers), other files, and addresses with passwords in
 * them. What is not known to be harmless is left out, so that a setting of a later git is not shown by mistake.
 */
#ifndef PLAN_GIT_CONFIG_H
#define PLAN_GIT_CONFIG_H

#include "base/core/str.h"

/* The longest configuration that is read. */
#define GIT_CONFIG_MAX ((size_t)256 << 10)

/* The last value of SECTION.KEY (both in lower case) that TEXT sets; NULL: it sets none. The caller's to free. */
char *git_config_find(const struct str *text, const char *section, const char *key);

/* Each `[SECTION "ADDRESS"] KEY = VALUE`, address and value in turn; addresses without users and passwords. */
void git_config_find_addressed(const struct str *text, const char *section, const char *key,
			       struct strv *ret_pairs);

/* Adds to *ret_clean what of TEXT a sandbox may see; -1 where git would not read TEXT. */
int git_config_clean(const struct str *text, struct str *ret_clean);

/*
 * One with no more than name and e-mail (NULL: unknown) and AUTHORITIES, of addresses and the files of certificates that are
 * trusted there, in turn; NULL where there is nothing to say.
 */
char *git_config_make(const char *name, const char *email, const struct strv *authorities);

#endif
