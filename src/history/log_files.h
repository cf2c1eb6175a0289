/* SPDX-License-Identifier: Apache-2.0 */
/* Kept output on disk: STATE/logs, one file a run, named by the run's id. Needs no database. */
#ifndef HISTORY_LOG_FILES_H
#define HISTORY_LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_file {
	char *name; /* the run's id: sorts by time */
	uint64_t bytes;
};

struct log_files {
	struct log_file *items; /* oldest first */
	size_t count;
	uint64_t bytes;
	int dir_fd;
	char *live_dir;
};

/* 0: no bound. */
struct log_bounds {
	uint64_t bytes, count;
};

struct log_removed {
	uint64_t count, bytes;
};

void log_files_read(const char *state_dir, struct log_files *ret_files);
void log_files_done(struct log_files *files);

/* Whether the run of that id is under way. */
bool log_files_is_live(const struct log_files *files, const char *name);

/* Removes the oldest until the rest is in bounds. Runs under way keep theirs. */
void log_files_trim(const struct log_files *files, const struct log_bounds *bounds,
		    struct log_removed *removed);

#endif
