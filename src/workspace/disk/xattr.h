/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes of one object, as a list. */
#ifndef WORKSPACE_XATTR_H
#define WORKSPACE_XATTR_H

#include <stdbool.h>
#include <stddef.h>

struct xattr_item {
	char *name;
	void *value;
	size_t len;
};

struct xattr_list {
	struct xattr_item *items; /* sorted by name */
	size_t count;
};

void xattr_list_done(struct xattr_list *list);

/*
 * What both sides made of a set of which only the digest is known: each attribute as the side has it that changed it.
 * False when they changed the same one, or too many to decide. The caller frees the answer.
 */
bool xattr_merge(const struct xattr_list *ours, const struct xattr_list *theirs,
		 const char *base_digest, struct xattr_list *ret_merged);

#endif
