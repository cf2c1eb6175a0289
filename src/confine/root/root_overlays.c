/* SPDX-License-Identifier: Apache-2.0 */
/* The overlays of a root that stays: forgetting what they have seen of the host. */
#include "confine/root/root.h"

#include "base/core/own.h"
#include "confine/root/mount.h"

#include <stdlib.h>

void root_overlays_add(struct root_overlays *overlays, const struct root_overlay *overlay)
{
	overlays->items =
		xrealloc(overlays->items, overlays->count + 1, sizeof(overlays->items[0]));
	overlays->items[overlays->count++] = *overlay;
}

void root_overlays_done(struct root_overlays *overlays)
{
	for (size_t i = 0; i < overlays->count; i++)
		fd_close(&overlays->items[i].context_fd);
	free(overlays->items);
	*overlays = (struct root_overlays){ 0 };
}

int root_overlays_drop_names(const struct root_overlays *overlays, bool only_workspace)
{
	/* The upper of two first: its names are what keeps those of the lower one in use. */
	for (size_t i = overlays->count; i-- > 0;) {
		const struct root_overlay *overlay = &overlays->items[i];

		if (only_workspace && !overlay->has_workspace)
			continue;
		if (mount_drop_names(overlay->context_fd, overlay->is_read_only) < 0)
			return -1;
	}
	return 0;
}
