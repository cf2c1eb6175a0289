/* SPDX-License-Identifier: Apache-2.0 */
/* A set of paths. */
#ifndef WORKSPACE_PATH_SET_H
#define WORKSPACE_PATH_SET_H

#include <stdbool.h>
#include <stddef.h>

struct path_set {
	char **slots; /* NULL: free */
	size_t size, count;
};

void path_set_done(struct path_set *set);
bool path_set_has(const struct path_set *set, const char *path);
/* False when it was there already. */
bool path_set_add(struct path_set *set, const char *path);

#endif
