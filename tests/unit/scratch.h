/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that is gone when the test ends, and files in it. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include "base/core/str.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
	char dir[64];
};

static inline void scratch_open(struct scratch *scratch)
{
	(void)snprintf(scratch->dir, sizeof(scratch->dir), "/tmp/aisbx-test-XXXXXX");
	if (!mkdtemp(scratch->dir))
		abort();
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int kind,
				     struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline void scratch_close(struct scratch *scratch)
{
	(void)nftw(scratch->dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Path of NAME in the directory, its parents made. The caller owns the text. */
static inline char *scratch_path(const struct scratch *scratch, const char *name)
{
	char *path = xasprintf("%s/%s", scratch->dir, name);

	for (char *at = path + strlen(scratch->dir) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0755);
		*at = '/';
	}
	return path;
}

static inline void scratch_mkdir(const struct scratch *scratch, const char *name)
{
	char *path = scratch_path(scratch, name);

	(void)mkdir(path, 0755);
	free(path);
}

/* Writes a file; the caller owns its path. */
static inline char *scratch_write(const struct scratch *scratch, const char *name, const char *text)
{
	char *path = scratch_path(scratch, name);
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
	return path;
}

#endif
