/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object of an archive holds: contents one behind the other, compressed together. Only in the program with libraries.
 *
 *   {"aisbx_archive": 1, "machine", "made", "prev", "object", "bytes", "raw_bytes",
 *    "items": [{"kind", "id", "size", "sha256"}]}
 *
 * machine is random, made once for a state directory; prev is the digest of the manifest that this machine wrote before, so that a
 * missing one is noticed.
 */
#ifndef APP_ARCHIVE_MANIFEST_H
#define APP_ARCHIVE_MANIFEST_H

#include "app/archive/place.h"
#include "base/core/value.h"

#include <stdbool.h>

#define MANIFEST_BYTES_MAX ((size_t)16 << 20)
#define MANIFEST_ITEMS_MAX 32768u
/* Up to here every ratio of compression is accepted; beyond, a thousand times. */
#define MANIFEST_FREE_BYTES (UINT64_C(256) << 20)
#define MANIFEST_RATIO_MAX 1000u

enum archive_kind {
	ARCHIVE_RUN,
	ARCHIVE_LOG,
	ARCHIVE_KINDS,
};

struct archive_entry {
	enum archive_kind kind;
	const char *id, *sha256; /* the manifest's */
	uint64_t size, at;	 /* in the object, when it is not compressed */
};

struct archive_manifest {
	struct value *tree;
	const char *machine, *made, *prev, *object; /* the tree's; prev may be NULL */
	uint64_t bytes, raw_bytes;
	struct archive_entry *items;
	size_t count;
};

const char *archive_kind_name(enum archive_kind kind);

/* Whether ID is a run's. Ids become names of files: these have letters and digits alone. */
bool archive_is_id(const char *id);

/* Whether an object that decompresses from BYTES to RAW_BYTES would be taken back. */
bool archive_ratio_is_fine(uint64_t bytes, uint64_t raw_bytes);

/* TEXT may be anything: ERROR_INPUT says what is wrong with it. */
int archive_manifest_read(const char *text, size_t len, struct archive_manifest *ret_manifest,
			  struct error *err);
/* Cleanup for owned(archive_manifest_done) struct archive_manifest m. */
void archive_manifest_done(struct archive_manifest *manifest);

#endif
