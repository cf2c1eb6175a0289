/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that are shown as the list of their entries. A mask layer holds names: what the host makes later under a name
 * that a pattern hides is in no layer. Where a pattern applies in /etc or HOME, the directory shows the entries it has at the
 * start instead, and nothing that is made later appears (MASK_LIST).
 *
 * The layer holds copies of such a directory's files, so it must not hold much. For a plain user each of its directories
 * is a mount of its own, and HOME a directory of the skeleton: neither can be renamed inside. In the workspace the host's
 * new files are meant to appear. `plan` names the patterns for which a gap remains.
 */
#ifndef APP_MASK_LISTS_H
#define APP_MASK_LISTS_H

#include "spec/spec.h"

/* Adds a MASK_LIST for each such directory to the finished plan. */
void mask_lists_add(struct spec *spec);

/* Decides on a plain user's HOME again, when the plan has what the sandbox has changed so far. */
void mask_home_lists_add(struct spec *spec);

/* Has apt work for a root caller inside, by configuration. */
void mask_apt_add(struct spec *spec);

#endif
