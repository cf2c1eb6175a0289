/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive becomes a layer, in a process of its own.
 *
 *   parent: reads the archive, takes its digest ──bytes──> child: libarchive, and entries put below one directory
 *                                               <──what was left out, or why not──
 *
 * What the archive says is a stranger's. The child has the archive's bytes and that directory: Landlock and a filter keep it
 * from every other file, from the network and from other programs, whatever goes wrong in it.
 */
#ifndef IMAGE_UNPACK_H
#define IMAGE_UNPACK_H

#include "base/core/error.h"
#include "base/file/archive.h"
#include "base/hash/sha256.h"

#include <stdbool.h>
#include <stdint.h>

/* What is accepted of one archive. */
#define UNPACK_ENTRIES_MAX 2000000u
#define UNPACK_FILE_BYTES (UINT64_C(16) << 30)
#define UNPACK_ALL_BYTES (UINT64_C(64) << 30)
#define UNPACK_RATIO 200u
#define UNPACK_DEPTH_MAX 128u
#define UNPACK_PATH_MAX 3800u

/* What became of the entries of an archive. */
struct unpack_counts {
	uint64_t entries, bytes;
	uint64_t set_ids;    /* files that lost a set-id bit */
	uint64_t devices;    /* left out, as are fifos and sockets */
	uint64_t attributes; /* files that lost extended attributes, capabilities among them */
};

/*
 * Unpacks what FROM_FD holds from its start into the empty directory DIR_FD. Owners are the archive's with KEEPS_OWNERS, else
 * the caller's. RET_HEX is the digest of the bytes that were unpacked. On failure the directory holds whatever it holds.
 */
int image_unpack(int from_fd, int dir_fd, bool keeps_owners, struct unpack_counts *ret_counts,
		 char ret_hex[static SHA256_HEX_SIZE], struct error *err);

/* The child's part: all entries of IN below DIR_FD. */
int unpack_entries(struct archive_in *in, int dir_fd, bool keeps_owners,
		   struct unpack_counts *counts, struct error *err);

/* From here on nothing can be reached but what lies below DIR_FD, and what is open already. 0, or -1 with errno. */
int unpack_lockdown(int dir_fd);

#endif
