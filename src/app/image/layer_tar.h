/* SPDX-License-Identifier: Apache-2.0 */
/* A layer as a tar archive that depends on nothing but what the layer holds: the same content has the same digest. */
#ifndef IMAGE_LAYER_TAR_H
#define IMAGE_LAYER_TAR_H

#include "base/core/error.h"
#include "base/hash/sha256.h"

#include <stdbool.h>
#include <stdint.h>

struct layer_tar {
	const int *dir_fds; /* topmost first */
	size_t count;
	bool flattens; /* only what all of them show together; else their marks of deletion, too, as files */
	bool keeps_owners;
	int to_fd; /* -1: nowhere */
};

/* Writes names in the order of their bytes. RET_HEX is the digest of all that, *RET_BYTES how much it is. */
int layer_tar(const struct layer_tar *how, char ret_hex[static SHA256_HEX_SIZE],
	      uint64_t *ret_bytes, struct error *err);

/* The same of one layer at DIR_FD, written nowhere. */
int layer_digest(int dir_fd, bool keeps_owners, char ret_hex[static SHA256_HEX_SIZE],
		 struct error *err);

#endif
