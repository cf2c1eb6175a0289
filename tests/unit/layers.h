/* SPDX-License-Identifier: Apache-2.0 */
/* A base and layers above it, made by hand, with one unit: the base's directory. */
#ifndef TESTS_LAYERS_H
#define TESTS_LAYERS_H

#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "workspace/view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

struct layers {
	struct scratch scratch;
	char *base; /* path of the base */
	char unit[LAYER_UNIT_SIZE];
	struct layer_units units;
	struct view_stack stack;
	bool user_xattr;
};

/* COUNT layers, number 0 on top. */
static inline void layers_open(struct layers *layers, size_t count, bool user_xattr)
{
	*layers = (struct layers){ .user_xattr = user_xattr };
	scratch_open(&layers->scratch);
	scratch_mkdir(&layers->scratch, "base");
	layers->base = scratch_path(&layers->scratch, "base");
	layer_unit_name(layers->base, layers->unit);
	layers->units.items = xcalloc(1, sizeof(struct layer_unit));
	layers->units.count = 1;
	layers->units.items[0].path = xstrdup(layers->base);
	memcpy(layers->units.items[0].name, layers->unit, sizeof(layers->unit));
	layers->stack = (struct view_stack){ .layer_fds = xcalloc(count + 1, sizeof(int)),
					     .user_xattr = xcalloc(count + 1, sizeof(bool)),
					     .count = count,
					     .units = &layers->units };
	for (size_t i = 0; i < count; i++) {
		char *path = xasprintf("%s/l%zu/%s", layers->scratch.dir, i, layers->unit);

		scratch_mkdir(&layers->scratch, path + strlen(layers->scratch.dir) + 1);
		*strrchr(path, '/') = '\0';
		layers->stack.layer_fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		layers->stack.user_xattr[i] = user_xattr;
		free(path);
	}
}

static inline void layers_close(struct layers *layers)
{
	for (size_t i = 0; i < layers->stack.count; i++)
		(void)close(layers->stack.layer_fds[i]);
	free(layers->stack.layer_fds);
	free(layers->stack.user_xattr);
	free(layers->units.items[0].path);
	free(layers->units.items);
	free(layers->base);
	scratch_close(&layers->scratch);
}

/* Path of NAME in LAYER; the count of layers is the base. The caller owns it. */
static inline char *layers_path(const struct layers *layers, size_t layer, const char *name)
{
	char *below = layer == layers->stack.count
			      ? xasprintf("base/%s", name)
			      : xasprintf("l%zu/%s/%s", layer, layers->unit, name);
	char *path = scratch_path(&layers->scratch, below);

	free(below);
	return path;
}

static inline void layers_put(const struct layers *layers, size_t layer, const char *name,
			      const char *text)
{
	owned(free_ptr) char *path = layers_path(layers, layer, name);
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		tap_bail("cannot write a file");
}

static inline void layers_mkdir(const struct layers *layers, size_t layer, const char *name)
{
	owned(free_ptr) char *path = layers_path(layers, layer, name);

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		tap_bail("cannot make a directory");
}

static inline void layers_link(const struct layers *layers, size_t layer, const char *name,
			       const char *target)
{
	owned(free_ptr) char *path = layers_path(layers, layer, name);

	if (symlink(target, path) < 0)
		tap_bail("cannot make a link");
}

static inline void layers_white(const struct layers *layers, size_t layer, const char *name)
{
	owned(free_ptr) char *path = layers_path(layers, layer, name);

	if (mknod(path, S_IFCHR, makedev(0, 0)) < 0)
		tap_bail("cannot make a whiteout");
}

/* Sets overlay's own attribute KEY. */
static inline void layers_mark(const struct layers *layers, size_t layer, const char *name,
			       const char *key, const char *value)
{
	owned(free_ptr) char *path = layers_path(layers, layer, name);
	owned(free_ptr) char *attribute =
		xasprintf("%s.overlay.%s", layers->user_xattr ? "user" : "trusted", key);

	if (lsetxattr(path, attribute, value, strlen(value), 0) < 0)
		tap_bail("cannot set an attribute");
}

#endif
