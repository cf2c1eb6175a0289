/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the system that nearly every command looks up: the loader, the C library, the shell, and where they lie.
 *
 * Overlays that have dropped their names (fresh.c) would look these up anew while the next caller waits. The supervisor
 * does that when the last command has ended, and holds what it found: a name in use is not dropped. Each stays only
 * as long as the host has the same file there, unchanged. No name is held inside the workspace, or behind a mount of the
 * caller's own.
 */
#include "supervise/sandbox/held_names.h"

#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "confine/root/mount.h"

#include <sys/stat.h>
#include <unistd.h>

#ifdef __aarch64__
#define LIBRARIES "/usr/lib/aarch64-linux-gnu"
#define LOADER_DIRECTORY "/usr/lib"
#define LOADER "/ld-linux-aarch64.so.1"
#else
#define LIBRARIES "/usr/lib/x86_64-linux-gnu"
#define LOADER_DIRECTORY "/usr/lib64"
#define LOADER "/ld-linux-x86-64.so.2"
#endif

/* The stamps of files advance at least this often: a change within it may leave a stamp as it was. */
#define STAMPS_NS 20000000u

/* A directory stands before what lies in it: held with a name are all directories above it. */
static const char *const names[] = {
	"/bin",
	"/lib",
	"/lib64",
	"/etc",
	"/etc/ld.so.cache",
	"/usr",
	"/usr/bin",
	"/usr/bin/bash",
	"/usr/bin/dash",
	"/usr/bin/env",
	"/usr/bin/sh",
	"/usr/lib",
	"/usr/lib64",
	LOADER_DIRECTORY LOADER,
	LIBRARIES,
	LIBRARIES LOADER,
	LIBRARIES "/libc.so.6",
	LIBRARIES "/libm.so.6",
	"/usr/local",
	"/usr/local/bin",
};

_Static_assert(sizeof(names) / sizeof(names[0]) <= HELD_NAMES_MAX, "room for every name");

static bool read_identity(const char *path, struct held_name *ret_name)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return false;
	*ret_name = (struct held_name){ .fd = -1,
					.path = path,
					.dev = st.st_dev,
					.ino = st.st_ino,
					.ctime_ns = clock_ns_of(&st.st_ctim) };
	return true;
}

/* Whether NAME may be something else inside than on the host: in the workspace, or behind a mount that was asked for. */
static bool is_others(const struct spec *spec, const char *name)
{
	if (path_is_within(name, spec->workspace))
		return true;
	for (size_t i = 0; i < spec->bind_count; i++) {
		if (path_is_within(name, spec->binds[i].target))
			return true;
	}
	return false;
}

void held_names_take(struct held_names *held, int tree_fd, const struct spec *spec)
{
	uint64_t now_ns = clock_epoch_ms() * 1000000u;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct held_name name;

		if (is_others(spec, names[i]) || !read_identity(names[i], &name))
			continue;
		/* Too new to notice a change between this look and the next line: then hold nothing this time. */
		if (name.ctime_ns + STAMPS_NS > now_ns) {
			held_names_release(held);
			return;
		}
		name.fd = open_inside(tree_fd, names[i]);
		if (name.fd >= 0)
			held->items[held->count++] = name;
	}
}

void held_names_release(struct held_names *held)
{
	while (held->count > 0)
		close(held->items[--held->count].fd);
}

/* A number is not given to another file while the old one is held. */
bool held_names_are_current(const struct held_names *held)
{
	for (size_t i = 0; i < held->count; i++) {
		const struct held_name *then = &held->items[i];
		struct held_name now;

		if (!read_identity(then->path, &now) || now.ino != then->ino ||
		    now.dev != then->dev || now.ctime_ns != then->ctime_ns)
			return false;
	}
	return true;
}
