/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a directory, from one or several real ones, each once, sorted. */
#ifndef WORKSPACE_DELTA_NAMES_H
#define WORKSPACE_DELTA_NAMES_H

#include "base/core/str.h"

#include <stddef.h>
#include <stdint.h>

#define DELTA_NAME_NOWHERE UINT16_MAX

struct delta_name {
	size_t offset; /* in the text */
	uint16_t
		first; /* index of the first source that has it; DELTA_NAME_NOWHERE: only the old side has */
	uint8_t type; /* from the listing: DT_DIR, DT_UNKNOWN */
};

struct delta_names {
	struct str text;
	struct delta_name *items;
	size_t count, capacity;
};

void delta_names_done(struct delta_names *names);
void delta_names_clear(struct delta_names *names);
void delta_names_add(struct delta_names *names, const char *name, uint16_t first, uint8_t type);
const char *delta_names_get(const struct delta_names *names, size_t index);

/* Adds every entry of directory FD, which was not listed before. BUFFER of SIZE bytes is for the kernel's answers. 0, or -1 with errno. */
int delta_names_list(struct delta_names *names, int fd, uint16_t first, char *buffer, size_t size);

/* Sorts; of equal names the one with the least `first` stays. */
void delta_names_sort(struct delta_names *names);

#endif
