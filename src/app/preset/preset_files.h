/* SPDX-License-Identifier: Apache-2.0 */
/* Files that say something about the user's registries: the user's and the machine's own, never a workspace's. */
#ifndef APP_PRESET_FILES_H
#define APP_PRESET_FILES_H

#include "base/core/str.h"
#include "host/host.h"

/* Of one file; a configuration is far smaller. */
#define PRESET_FILE_BYTES (1u << 20)

/* The user of the search. Everything is borrowed. */
struct preset_place {
	const struct host *host;
	const char *workspace; /* resolved; NULL: there is none */
	const char *const *environ;
};

/* The variable's value, NULL when it is not set or empty. */
const char *preset_variable(const struct preset_place *place, const char *name);

/*
 * The program NAME as PATH finds it, in and through directories outside the workspace; owned by the caller, NULL when there is
 * none. By the name it was found under: some programs are another under another.
 */
char *preset_program(const struct preset_place *place, const char *name);

/* PATH without what is relative or lies in the workspace; owned by the caller. */
char *preset_search_path(const struct preset_place *place);

/* What PATTERN (as in presets.tsv) stands for now, sorted: real paths outside the workspace. */
void preset_paths(const struct preset_place *place, const char *pattern, struct strv *ret_paths,
		  struct strv *notes);

/*
 * Opens a file by its real path, if it is the user's or root's and others may not write it; *ret_fd is the caller's. False
 * when there is nothing to read; where that is no ordinary absence, NOTES say why.
 */
bool preset_open(const char *path, int *ret_fd, struct strv *notes);

/* The same, read whole. */
bool preset_read(const char *path, struct str *ret_text, struct strv *notes);

#endif
