/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan's masks hide: the one decision for the mask layer, for the planning of mounts, and for every look at a
 * sandbox from outside.
 *
 * The deepest rule on the way to a path decides. A pattern is a rule for each name of its directory that it matches; a
 * rule that names a path itself stands above a pattern that matches the same path.
 */
#ifndef SPEC_MASK_H
#define SPEC_MASK_H

#include "spec/spec.h"

#include <stdbool.h>

/* The directory of HTTP servers' tokens, below HOME or XDG_RUNTIME_DIR. */
#define MASK_TOKENS ".aisbx-mcp"

/* Whether PATH itself shows its real content under the spec's masks. */
bool mask_shows(const struct spec *spec, const char *path);

/* Whether a file of our own stands at PATH. */
bool mask_has_file(const struct spec *spec, const char *path);

/* Whether the directory that PATH lies in does. */
bool mask_parent_shows(const struct spec *spec, const char *path);

/* Whether something kept or a file of ours lies below PATH, or a bind at or below it. */
bool mask_keeps_below(const struct spec *spec, const char *path);

/*
 * Length of the part of PATH that PATTERN, the path of a MASK_GLOB, names: all of it, or a directory above it. 0: no part.
 * Only the last part of a pattern is one; its directory is taken literally.
 */
size_t mask_pattern_match(const char *pattern, const char *path);

#endif
