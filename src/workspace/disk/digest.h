/* SPDX-License-Identifier: Apache-2.0 */
/* The digest by which promotion knows a file's content. */
#ifndef WORKSPACE_DIGEST_H
#define WORKSPACE_DIGEST_H

#include "base/hash/sha256.h"

/*
 * SHA-256 of what FD holds. Beyond 64 MiB that of its length and of those parts that are not zero, with their places: a hole
 * of a terabyte costs nothing, wherever it is copied to, and one content still has one digest. 0, or -1 with errno.
 */
int digest_fd(int fd, char ret_hex[static SHA256_HEX_SIZE]);
#define DIGEST_WHOLE_MAX (64ll << 20)

/*
 * Whether what FD holds has the digest HEX, which may come from a record of an earlier version: those took files of up to
 * 4 GiB whole. 1, 0, or -1 with errno.
 */
int digest_matches(int fd, const char *hex);
#define DIGEST_EARLIER_WHOLE_MAX (4ll << 30)

#endif
