/* SPDX-License-Identifier: Apache-2.0 */
/* Files of agents while setup works on them: read whole, changed in memory, replaced by rename. */
#ifndef APP_AGENT_SETUP_FILE_H
#define APP_AGENT_SETUP_FILE_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <sys/stat.h>

#define SETUP_FILES_MAX 16

struct setup_file {
	char *path; /* absolute */
	struct str before, after;
	bool exists;
	bool is_made; /* by setup: goes when nothing else is in it */
	struct stat st;
};

struct setup_files {
	struct setup_file items[SETUP_FILES_MAX];
	size_t count;
};

/* The file at PATH, read at its first use. */
int setup_files_get(struct setup_files *files, const char *path, struct setup_file **ret_file,
		    struct error *err);
void setup_files_done(struct setup_files *files);

/* A link in a project leads where its author likes: refuses one on the way from DIR to NAME below it. */
int setup_check_links(const char *dir, const char *name, struct error *err);

/* Whether nothing but what a new file begins with is left of a file that setup made. */
bool setup_file_is_over(const struct setup_file *file);

/* Takes away what a call that was killed left beside the file. */
void setup_file_sweep(const struct setup_file *file);

/* Replaces the file, unless it was changed since it was read; mode and owner stay. */
int setup_file_write(const struct setup_file *file, struct error *err);

#endif
