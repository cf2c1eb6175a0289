/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the system that stay cached in a sandbox between its commands. */
#ifndef SUPERVISOR_HELD_NAMES_H
#define SUPERVISOR_HELD_NAMES_H

#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELD_NAMES_MAX 32

/* A name that was looked up in the sandbox, and what the host had there just before. */
struct held_name {
	int fd;
	const char *path;
	dev_t dev;
	ino_t ino;
	uint64_t ctime_ns;
};

struct held_names {
	struct held_name items[HELD_NAMES_MAX];
	size_t count;
};

/* Looks up the names that commands usually do, in the sandbox whose root is TREE_FD. HELD is empty before. */
void held_names_take(struct held_names *held, int tree_fd, const struct spec *spec);
void held_names_release(struct held_names *held);
/* Whether the host still has the same files under all of them. */
bool held_names_are_current(const struct held_names *held);

#endif
