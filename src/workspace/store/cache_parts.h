/* SPDX-License-Identifier: Apache-2.0 */
/* What reading and folding warm caches share. */
#ifndef WORKSPACE_CACHE_PARTS_H
#define WORKSPACE_CACHE_PARTS_H

#include "workspace/store/cache.h"

#define CACHES "caches"
#define CACHE_KIND "aisbx-cache 1"

/* Opens the directory of the pointers, making it on first use. */
int cache_open(const struct store *store, int *ret_fd, struct error *err);

#endif
