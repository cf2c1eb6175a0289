/* SPDX-License-Identifier: Apache-2.0 */
/* What promotions must stay away from: folders of aisbx itself, mounts that the sandbox never saw. Private to promote. */
#ifndef WORKSPACE_PROMOTE_OWN_H
#define WORKSPACE_PROMOTE_OWN_H

#include "workspace/promote/promote_parts.h"

/* Refuses, with ERROR_DENIED, what would be written at or below one of the request's own_folders, or take one away. */
int promote_refuse_own(const struct promote *promote, struct error *err);

/* promote_mounts.c: mounts of the host that came after the sandbox had changed what they cover are conflicts. */
int promote_find_mounts(struct promote *promote, struct error *err);

#endif
