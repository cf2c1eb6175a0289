/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of a tar archive, as GNU tar reads them: how a bundle gets into the clone of a target, and a directory into a sandbox. */
#ifndef STAGE_TAR_H
#define STAGE_TAR_H

#include "base/core/str.h"

#include <stdint.h>

#define TAR_BLOCK 512u

struct tar_entry {
	const char *path;
	char type; /* f d l, h: another name of the file at LINK */
	unsigned mode, uid, gid;
	uint64_t size, mtime_s;
	const char *link; /* of a link of either kind */
	uint64_t
		real_size; /* of a file with holes: its content begins with a map of the data (GNU sparse 1.0); else 0 */
};

/* Appends what stands before the entry's content. */
void tar_add_header(struct str *out, const struct tar_entry *entry);

/* How many zeros follow SIZE bytes of content. */
static inline uint64_t tar_padding(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

/* Appends what ends an archive. */
void tar_add_end(struct str *out);

#endif
