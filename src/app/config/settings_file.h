/* SPDX-License-Identifier: Apache-2.0 */
/* --settings and --hide: what has to be looked up in the file system before it can be planned. */
#ifndef APP_SETTINGS_FILE_H
#define APP_SETTINGS_FILE_H

#include "base/core/error.h"
#include "plan/request.h"

/*
 * Lays the file that REQUEST names (if it does) over SETTINGS: its network in place of theirs, its hidden paths beside
 * theirs. WORKSPACE is absolute, or NULL.
 */
int settings_file_apply(const struct request *request, const char *workspace,
			struct settings *settings, struct strv *notes, struct error *err);

/*
 * The file that REQUEST names as flags of *RET_KEPT (request_init was called) and words about writing, for a sandbox that
 * is kept: later changes of the file do not matter to it.
 */
int settings_file_keep(const struct request *request, const char *workspace,
		       struct request *ret_kept, struct strv *words, struct error *err);

/*
 * Adds to SETTINGS where the paths to hide (theirs and the request's) really lie, when links lead there: masks know no
 * links.
 */
void settings_hide_targets(const struct request *request, const char *workspace,
			   struct settings *settings);

#endif
