/* Extended attributes of one object, as a list. */
#ifndef WORKSPACE_XATTR_H
#define WORKSPACE_XATTR_H

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

#endif
