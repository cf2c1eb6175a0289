/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: what a sandbox changed, sealed, so that it can be applied to one directory after another.
 *
 * One line per path, sorted: the new side, the old side, the path; contents by their sha256. The bundle's own name is
 * the sha256 of those lines: a stage that verified a name verified exactly these contents, made from exactly those.
 */
#ifndef STAGE_BUNDLE_H
#define STAGE_BUNDLE_H

#include "base/core/error.h"
#include "base/hash/sha256.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUNDLE_CHANGES_MAX 100000

struct bundle_side {
	char type;		      /* f d l, 0 when absent */
	unsigned mode;		      /* permissions; 0 for links */
	char sha256[SHA256_HEX_SIZE]; /* of a file; else "" */
	char *link;		      /* where a link leads; else NULL */
	uint64_t mtime_s;
};

struct bundle_change {
	char *path; /* relative, raw bytes */
	struct bundle_side old, new;
};

struct bundle {
	struct bundle_change *items;
	size_t count;
};

void bundle_init(struct bundle *bundle);
void bundle_done(struct bundle *bundle);
void bundle_side_done(struct bundle_side *side);

/* Adds an empty change. ERROR_DENIED when there are too many. */
int bundle_add(struct bundle *bundle, const char *path, struct bundle_change **ret_change,
	       struct error *err);

void bundle_drop_last(struct bundle *bundle);

/* Kind, permissions and content; times do not count. */
bool bundle_sides_equal(const struct bundle_side *a, const struct bundle_side *b);

/* The lines, and back. What is read holds no path that leads out of a directory. */
void bundle_write(const struct bundle *bundle, struct str *out);
int bundle_read(const char *bytes, size_t len, struct bundle *bundle, struct error *err);

enum bundle_take {
	BUNDLE_NOTHING,	 /* the target has it already */
	BUNDLE_NEW,	 /* the target gets the bundle's */
	BUNDLE_KEEP,	 /* the target's own stays */
	BUNDLE_MERGE,	 /* both changed a text: three-way */
	BUNDLE_CONFLICT, /* neither side was chosen */
};

/* What becomes of CHANGE where the target has NOW, under a strategy of promote (NULL: fail). */
enum bundle_take bundle_decide(const struct bundle_change *change, const struct bundle_side *now,
			       const char *strategy);

/* Permissions of the result: the bundle's where it changed them or nothing is there, else the target's. */
unsigned bundle_mode(const struct bundle_change *change, const struct bundle_side *now);

#endif
