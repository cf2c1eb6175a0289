/* --settings and --hide: what has to be looked up in the file system before it can be planned. */
#ifndef ENGINE_SETTINGS_FILE_H
#define ENGINE_SETTINGS_FILE_H

#include "base/error.h"
#include "plan/request.h"

/*
 * Lays the file that REQUEST names (if it does) over SETTINGS: its network in place of theirs, its hidden paths beside
 * theirs. WORKSPACE is absolute, or NULL.
 */
int settings_file_apply(const struct request *request, const char *workspace,
			struct settings *settings, struct strv *notes, struct error *err);

/*
 * Adds to SETTINGS where the paths to hide (theirs and the request's) really lie, when links lead there: masks know no
 * links.
 */
void settings_hide_targets(const struct request *request, const char *workspace,
			   struct settings *settings);

#endif
