/* SPDX-License-Identifier: Apache-2.0 */
/* A store of one's own, and tops written by hand as a mounted sandbox would have. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include "base/file/fd.h"
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "tests/unit/store_settle.h"
#include "workspace/store/snapshot.h"

#include <errno.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define UNIT_PATH "/work"

struct fixture {
	struct scratch scratch;
	struct store store;
	struct error err;
};

/* A mount namespace of our own with a tmpfs where scratch directories are: fast, and gone with us. NULL, or why not. */
static inline const char *fixture_enter_namespace(void)
{
	owned(free_ptr) char *users = xasprintf("%u %u 1", geteuid(), geteuid());
	owned(free_ptr) char *groups = xasprintf("%u %u 1", getegid(), getegid());
	bool is_plain = geteuid() != 0;

	if (unshare(CLONE_NEWNS | (is_plain ? CLONE_NEWUSER : 0)) < 0)
		return "no mount namespace to be had";
	if (is_plain && (file_write_small(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
			 file_write_small(AT_FDCWD, "/proc/self/uid_map", users) < 0 ||
			 file_write_small(AT_FDCWD, "/proc/self/gid_map", groups) < 0))
		return "no ids to be had in a user namespace";
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") < 0)
		return "no mounts allowed";
	return NULL;
}

static inline void fixture_open(struct fixture *fixture)
{
	owned(free_ptr) char *path = NULL;

	memset(fixture, 0, sizeof(*fixture));
	scratch_open(&fixture->scratch);
	path = scratch_path(&fixture->scratch, "store");
	if (store_open(path, &fixture->store, &fixture->err) < 0)
		tap_bail(fixture->err.text);
}

static inline void fixture_settle(const struct fixture *fixture)
{
	store_settle(&fixture->store);
}

static inline void fixture_close(struct fixture *fixture)
{
	(void)store_wait(&fixture->store);
	store_close(&fixture->store);
	scratch_close(&fixture->scratch);
}

static inline void fixture_make(struct fixture *fixture, const char *name, uint64_t expires_ms)
{
	const struct sandbox_make make = { .name = name,
					   .workspace = UNIT_PATH,
					   .root = "project",
					   .head = "",
					   .expires_ms = expires_ms };
	struct sandbox made;

	if (sandbox_make(&fixture->store, &make, &made, &fixture->err) < 0)
		tap_bail(fixture->err.text);
	sandbox_close(&made);
}

static inline bool fixture_enter(struct fixture *fixture, const char *name,
				 struct sandbox *ret_sandbox)
{
	if (sandbox_open(&fixture->store, name, SANDBOX_EXCLUSIVE, ret_sandbox, &fixture->err) == 0)
		return true;
	printf("# %s\n", fixture->err.text);
	return false;
}

/* Writes file NAME into the top, with the scratch directory an overlay would have left. */
static inline void fixture_write(struct sandbox *sandbox, const char *name, const char *text)
{
	struct error err;
	owned(fd_close) int upper_fd = -1, unit_fd = -1, fd = -1;
	char unit[LAYER_UNIT_SIZE], work[LAYER_UNIT_SIZE];

	layer_unit_name(UNIT_PATH, unit);
	memcpy(work, unit, sizeof(work));
	work[0] = 'w';
	if (sandbox_open_upper(sandbox, &upper_fd, &err) < 0 ||
	    layer_units_add(upper_fd, UNIT_PATH, &err) < 0)
		tap_bail(err.text);
	(void)mkdirat(upper_fd, unit, 0755);
	(void)mkdirat(upper_fd, work, 0755);
	unit_fd = openat(upper_fd, unit, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(unit_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		tap_bail("cannot write to a top");
}

/* What a file of the sandbox holds, looking through top and layers; "" when it is in none. */
static inline void fixture_read(const struct sandbox *sandbox, const char *name,
				char text[static 64])
{
	struct error err;
	struct layer_chain chain = { 0 };
	char unit[LAYER_UNIT_SIZE];
	owned(free_ptr) char *path = NULL;
	int fd;

	layer_unit_name(UNIT_PATH, unit);
	path = xasprintf("upper/%s/%s", unit, name);
	fd = openat(sandbox->dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (layer_chain_read(sandbox->store, sandbox->head, &chain, &err) < 0)
		tap_bail(err.text);
	for (size_t i = 0; fd < 0 && i < chain.count; i++) {
		owned(free_ptr) char *inner =
			xasprintf("layers/%s/%s/%s", chain.items[i].id, unit, name);

		fd = openat(sandbox->store->fd, inner, O_RDONLY | O_CLOEXEC);
	}
	layer_chain_done(&chain);
	ssize_t got = fd >= 0 ? read(fd, text, 63) : 0;

	text[got > 0 ? got : 0] = '\0';
	fd_close(&fd);
}

#endif
