/* SPDX-License-Identifier: Apache-2.0 */
/* A process that waits at a pipe goes on, up to where it finds a file locked. */
#ifndef UNIT_LET_GO_H
#define UNIT_LET_GO_H

#include "base/core/own.h"
#include "base/core/str.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool has_open(pid_t pid, const struct stat *file)
{
	owned(free_ptr) char *path = xasprintf("/proc/%d/fd", pid);
	DIR *list = opendir(path);
	bool is_open = false;
	struct stat st;

	for (struct dirent *entry; list && (entry = readdir(list));)
		is_open |= fstatat(dirfd(list), entry->d_name, &st, 0) == 0 &&
			   st.st_dev == file->st_dev && st.st_ino == file->st_ino;
	if (list)
		(void)closedir(list);
	return is_open;
}

/* Lets the process PID go on that waits at GATE, up to where it finds the file at PATH locked: it has it open, and sleeps. */
static void let_go(int gate[static 2], pid_t pid, const char *path)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	owned(free_ptr) char *about = xasprintf("/proc/%d/stat", pid);
	struct stat file;
	bool is_open = false;
	char state = 'R';

	(void)close(gate[0]);
	(void)close(gate[1]);
	if (stat(path, &file) < 0)
		abort();
	while (state != 'Z' && !(state == 'S' && is_open)) {
		(void)nanosleep(&pause, NULL);
		is_open = has_open(pid, &file);

		FILE *in = fopen(about, "re");

		if (!in || fscanf(in, "%*d %*s %c", &state) != 1)
			abort();
		(void)fclose(in);
	}
}

#endif
