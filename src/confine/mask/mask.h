/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks: a top lower layer of whiteouts and opaque directories that hides what a sandbox must not see.
 *
 * A whiteout makes a secret ENOENT, survives renames of its parents and lets the sandbox make its own file of that
 * name; a bind of /dev/null does none of the three. A hidden directory becomes an empty opaque one, so what the
 * host creates there tomorrow does not appear either. A directory that stays visible below a hidden one is an
 * entry with a redirect to its own path (privileged overlays), or a bare mount point for an overlay of its own. A
 * directory that is shown as the list of its entries is opaque, too, with those directories and copies of its files.
 */
#ifndef CONFINE_MASK_H
#define CONFINE_MASK_H

#include "base/core/error.h"
#include "spec/mask.h"

#include <stdbool.h>

/* The longest file that the list of a directory (MASK_LIST) holds a copy of. */
#define MASK_LIST_FILE_MAX ((size_t)1 << 20)

struct mask_layer {
	int dir_fd;		    /* empty directory that becomes the layer; borrowed */
	const char *path;	    /* what the layer lies on: "/", "/home" */
	bool user_xattr;	    /* inside a user namespace: user.overlay.*, no redirects */
	const struct spec_ids *ids; /* ids to shift owners by; NULL leaves them to the creator */
};

/* Fills the layer with all masks below its path, and with mount points for binds and separate overlays. */
int mask_build(const struct spec *spec, const struct mask_layer *layer, struct error *err);

/*
 * Copies mode, owner, times and extended attributes of the host's PATH to BELOW of the layer ("." for its root), a
 * directory or file just made with mode 0755. What cannot be read from the host's PATH is left alone.
 */
int mask_copy_metadata(const struct mask_layer *layer, const char *path, const char *below,
		       struct error *err);

#endif
