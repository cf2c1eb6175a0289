/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard links to hidden files. A mask hides a name; the same file may have another one where it is seen. Files that are
 * hidden for what they hold and have more links than are known are looked for among what the plan shows.
 *
 * Considered are the files that masks name or match, credentials of HOME, and the files of hidden directories themselves,
 * not those further down. A named sandbox notes them at its start; where one has another link at a later command, it is started
 * anew.
 */
#ifndef APP_ALIAS_SEARCH_H
#define APP_ALIAS_SEARCH_H

#include "host/host.h"
#include "spec/spec.h"

/* Hides each one that is found in SPEC; sets its aliases_cut when the search ended before all were found. */
void alias_search(const struct host *host, struct spec *spec);

/* Adds the paths of the files and hidden directories that the search considers. */
void alias_list(const struct host *host, struct spec *spec, struct strv *ret_paths);

#endif
