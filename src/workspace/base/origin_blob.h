/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bases that were too large to be kept, where git has them.
 *
 * While such a base is still what the host has, the name of the blob that git's index gives for exactly that file is
 * written down, in `blobs` of the sandbox: records as in `touched`, with the name in the place of a link's target. When the host
 * has moved on, the blob's content is taken over, and its digest written down behind it.
 */
#ifndef WORKSPACE_ORIGIN_BLOB_H
#define WORKSPACE_ORIGIN_BLOB_H

#include "workspace/base/origin_record.h"

/* Bases whose blob is known, whose content is not, and that the host has no more. */
int origin_blobs_wanted(const struct sandbox *sandbox, const struct view_stack *stack,
			struct origin_records *ret_records, struct error *err);

/* Writes RECORD down; its link is the blob's name, its sha256 that of the content once it is kept. */
int origin_blobs_add(const struct sandbox *sandbox, const struct origin_record *record,
		     struct error *err);

#endif
