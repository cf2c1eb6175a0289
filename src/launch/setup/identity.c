/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming the user that the sandbox shows. */
#include "launch/setup/identity.h"

#include <grp.h>
#include <unistd.h>

int identity_take(const struct spec_ids *ids, struct error *err)
{
	/* A map of one id comes with setgroups denied: groups stay, shown as unmapped. */
	if (ids->count == 1)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(ids->gid, ids->gid, ids->gid) < 0 ||
	    setresuid(ids->uid, ids->uid, ids->uid) < 0)
		return error_errno(err, ERROR_HOST, "cannot become uid %u inside", ids->uid);
	return 0;
}
