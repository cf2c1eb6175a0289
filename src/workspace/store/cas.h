/* SPDX-License-Identifier: Apache-2.0 */
/* Contents by their digest (workspace/disk/digest.h; up to 64 MiB that is their sha256): base versions for merges, and what lost a conflict. Files of mode 0400 in the store. */
#ifndef WORKSPACE_CAS_H
#define WORKSPACE_CAS_H

#include "base/hash/sha256.h"
#include "workspace/store/store.h"

#include <stddef.h>

/* Keeps a copy of what FD holds from its start; reflinked where that works. */
int cas_keep_fd(const struct store *store, int fd, char ret_hex[static SHA256_HEX_SIZE],
		struct error *err);
int cas_keep_bytes(const struct store *store, const void *bytes, size_t len,
		   char ret_hex[static SHA256_HEX_SIZE], struct error *err);
/* For reading; ERROR_NOT_FOUND when it is not kept. */
int cas_open(const struct store *store, const char *hex, int *ret_fd, struct error *err);

#endif
