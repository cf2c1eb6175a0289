/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes of one object, as a list. */
#include "workspace/disk/xattr.h"

#include <stdlib.h>

void xattr_list_done(struct xattr_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].value);
	}
	free(list->items);
	*list = (struct xattr_list){ 0 };
}
