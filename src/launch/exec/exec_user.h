/* SPDX-License-Identifier: Apache-2.0 */
/* Who a command runs as, where its caller wants another one than the sandbox's user. Private to launch. */
#ifndef LAUNCH_EXEC_USER_H
#define LAUNCH_EXEC_USER_H

#include "base/core/str.h"
#include "launch/setup/identity.h"

/*
 * WORDS (ATTACH_USER): who, as of base/text/account.h, and variables that the caller has set whatever the account says. Looked up in
 * the files of the sandbox, which its programs may have written: the answer is one of the sandbox's ids or an error. ENV gets HOME,
 * USER and LOGNAME. Without words nothing changes.
 */
int exec_user_take(const struct spec *spec, const struct strv *words, struct strv *env,
		   struct identity *user, struct error *err);

#endif
