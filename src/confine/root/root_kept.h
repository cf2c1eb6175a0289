/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a named sandbox keeps: per unit a writable top and the sealed layers below it, on the host's disk.
 *
 * Both hold the host's own ids: for root callers they are used through clones that are mapped into the sandbox's user
 * namespace, so each start can have another block of ids. Names are those of base/hash/path_hash.h.
 */
#ifndef CONFINE_ROOT_KEPT_H
#define CONFINE_ROOT_KEPT_H

#include "confine/root/mount.h"
#include "confine/root/root_unit.h"

/* Opens the top and the directory of the layers. Nothing is done for a spec that keeps nothing. */
int kept_open(struct root_builder *builder, struct error *err);

/* Closes both, or leaves what is slow to close to the parts' held ones. */
void kept_close(struct root_builder *builder);

/* A unit: the host's directory SOURCE, shown at TARGET. */
struct kept_unit {
	const char *source, *target;
};

/*
 * Makes the unit's top where there is none yet, with the attributes of what lies below it, and fresh scratch space; adds
 * the top and the sealed layers to *layers, before anything else is.
 */
int kept_add(struct root_builder *builder, const struct kept_unit *unit,
	     struct overlay_layers *layers, struct error *err);

/*
 * When the unit is mounted, and before anything can be written to it: records which unit its top belongs to. One that
 * could not be mounted leaves nothing behind: what lies there belongs to another unit then.
 */
int kept_settle(struct root_builder *builder, const struct kept_unit *unit, bool is_mounted,
		struct error *err);

/* Whether the changes of the unit at UNIT_PATH have something at PATH, which lies below it: made or deleted inside. */
bool kept_has(const struct root_builder *builder, const char *unit_path, const char *path);

/*
 * Whether a sandbox's own stands at PATH, an entry of a list: in the changes of the root, or where the host has no directory
 * any more those of the one that it had.
 */
bool kept_has_entry(const struct root_builder *builder, const char *path, bool is_directory);

/*
 * Paths of units below WITHIN that have changes, of directories that the host has no longer. Those in a unit that is shown
 * now, and those that the root has something of its own for, are left out.
 */
void kept_find_gone(const struct root_builder *builder, const char *within, struct strv *ret_paths);
/* Shows such a unit, over nothing. */
int kept_add_gone(struct root_builder *builder, const char *path, struct error *err);

/* Whether a layer lies inside SOURCE: the kernel refuses that side by side in one overlay. */
bool kept_is_inside(const struct spec *spec, const char *source);

#endif
