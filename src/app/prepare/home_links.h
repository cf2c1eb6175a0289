/* SPDX-License-Identifier: Apache-2.0 */
/* Links in the caller's home that credentials may lie behind. */
#ifndef APP_HOME_LINKS_H
#define APP_HOME_LINKS_H

#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HOME_DIRECTORIES_MAX 32
#define HOME_NAME_SIZE 64

/*
 * That there are none, for a process that asks again and again: as long as every directory that was looked through is the
 * same and has not changed since, and for a second at most.
 */
struct home_memory {
	struct home_directory {
		char name
			[HOME_NAME_SIZE]; /* below the home, with a slash behind it; "." is the home */
		dev_t device;
		ino_t inode;
		struct timespec changed;
	} directories[HOME_DIRECTORIES_MAX];
	unsigned count;
	bool is_whole;	  /* nothing that was looked at is missing here */
	uint64_t read_ns; /* CLOCK_MONOTONIC; 0: nothing is remembered */
};

/* Adds them to PATHS. MEMORY may be NULL. */
void home_links_read(const char *home, struct home_memory *memory, struct plan_paths *paths);

#endif
