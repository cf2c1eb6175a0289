/* SPDX-License-Identifier: Apache-2.0 */
/* A workspace, a store, and a sandbox whose top is written by hand as a mounted overlay would have. */
#ifndef TESTS_PROMOTE_BENCH_H
#define TESTS_PROMOTE_BENCH_H

#include "base/core/own.h"
#include "base/file/tree.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "workspace/promote/promote.h"
#include "workspace/store/snapshot.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>

struct bench {
	struct scratch scratch;
	struct store store;
	struct sandbox sandbox;
	char *workspace;
	char unit[LAYER_UNIT_SIZE];
	struct promote_request request;
	struct promotion promotion;
	struct error err;
};

static inline void bench_make_sandbox(struct bench *bench)
{
	const struct sandbox_make make = { .name = "box",
					   .workspace = bench->workspace,
					   .root = geteuid() == 0 ? "idmapped" : "project",
					   .head = "" };
	owned(fd_close) int upper_fd = -1;
	char work[LAYER_UNIT_SIZE];

	if (sandbox_make(&bench->store, &make, &bench->sandbox, &bench->err) < 0 ||
	    sandbox_open_upper(&bench->sandbox, &upper_fd, &bench->err) < 0 ||
	    layer_units_add(upper_fd, bench->workspace, &bench->err) < 0)
		tap_bail(bench->err.text);
	memcpy(work, bench->unit, sizeof(work));
	work[0] = 'w';
	(void)mkdirat(upper_fd, bench->unit, 0755);
	(void)mkdirat(upper_fd, work, 0755);
	/* As whoever mounts the top says it. */
	if (store_boot_id(bench->sandbox.upper_boot_id, &bench->err) < 0 ||
	    sandbox_save(&bench->sandbox, &bench->err) < 0)
		tap_bail(bench->err.text);
}

/* Files of the host are to be made before, so that they are older than the sandbox. */
static inline void bench_open(struct bench *bench)
{
	owned(free_ptr) char *path = NULL;

	*bench = (struct bench){ .sandbox = { .dir_fd = -1, .lock_fd = -1 } };
	scratch_open(&bench->scratch);
	scratch_mkdir(&bench->scratch, "ws");
	bench->workspace = scratch_path(&bench->scratch, "ws");
	layer_unit_name(bench->workspace, bench->unit);
	path = scratch_path(&bench->scratch, "store");
	if (store_open(path, &bench->store, &bench->err) < 0)
		tap_bail(bench->err.text);
}

/* Clocks of files tick, on a busy machine late; what comes later must look later. */
static inline void bench_tick(void)
{
	const struct timespec pause = { .tv_nsec = 12000000 };
	struct timespec before, now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &before);
	do {
		(void)nanosleep(&pause, NULL);
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while (now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec);
}

static inline void bench_start(struct bench *bench)
{
	bench_tick();
	bench_make_sandbox(bench);
	bench_tick();
}

static inline void bench_settle(const struct bench *bench)
{
	owned(fd_close) int fd =
		openat(bench->store.fd, "worker", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)flock(fd, LOCK_EX);
}

static inline void bench_close(struct bench *bench)
{
	promotion_done(&bench->promotion);
	strv_done(&bench->request.paths);
	strv_done(&bench->request.allow_paths);
	if (bench->sandbox.dir_fd >= 0)
		sandbox_close(&bench->sandbox);
	bench_settle(bench);
	store_close(&bench->store);
	free(bench->workspace);
	/* What an overlay leaves in its scratch directory nobody may list. */
	(void)tree_remove(AT_FDCWD, bench->scratch.dir);
}

#endif
