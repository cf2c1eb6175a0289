/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox changed: from the writable layer of an overlay to counts and a list. */
#ifndef WORKSPACE_CHANGE_H
#define WORKSPACE_CHANGE_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stdint.h>

struct change_tally {
	uint64_t added, modified,
		deleted; /* files and links; a directory only where it came or went empty */
};

struct change_scan {
	const char *lower;     /* host path the layer lies on */
	const char *workspace; /* absolute; counted apart. May be NULL */
	bool user_xattr;       /* layer made inside a user namespace */
	/* Whether the sandbox saw what the host has at PATH; NULL: it saw everything. */
	bool (*shows)(const void *cookie, const char *path);
	const void *cookie;
	struct change_tally inside, outside;
	struct strv *
		list; /* git's letter, a tab, the path (relative in the workspace); NULL: counts only */
	uint64_t newest_ns; /* when an entry of the layers was last changed; realtime */
	uint64_t looked_at; /* entries so far */
	uint64_t compared;  /* bytes so far; beyond the bound equal files count as modified */
	uint64_t until_ns;  /* CLOCK_MONOTONIC; 0: two seconds from the first layer on */
	bool is_partial;    /* bounds were reached: counts are a floor */
};

/*
 * Adds the changes in layer UPPER_FD (a directory). The layer may be hostile, and so may the tree it lies on: links are
 * never followed, mounts below the lower never entered; depth, entries, compared bytes, list and time are bounded. A file
 * copied up but equal to the host's is no change.
 */
void change_scan_layer(struct change_scan *scan, int upper_fd);

#endif
