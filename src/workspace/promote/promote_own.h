/* Folders of aisbx itself, as far as promotions must stay away from them. Private to promote. */
#ifndef WORKSPACE_PROMOTE_OWN_H
#define WORKSPACE_PROMOTE_OWN_H

#include "workspace/promote/promote_parts.h"

/* Refuses, with ERROR_DENIED, what would be written at or below one of the request's own_folders, or take one away. */
int promote_refuse_own(const struct promote *promote, struct error *err);

#endif
