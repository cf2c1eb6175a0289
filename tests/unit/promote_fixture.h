/* A workspace, a store, and a sandbox whose top is written by hand as a mounted overlay would have. */
#ifndef TESTS_PROMOTE_FIXTURE_H
#define TESTS_PROMOTE_FIXTURE_H

#include "base/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "workspace/promote.h"
#include "workspace/snapshot.h"

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

/* Files of reality are to be made before, so that they are older than the sandbox. */
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

/* Clocks of files tick; what comes later must look later. */
static inline void bench_tick(void)
{
	const struct timespec pause = { .tv_nsec = 12000000 };

	(void)nanosleep(&pause, NULL);
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
	scratch_close(&bench->scratch);
}

static inline char *bench_real(const struct bench *bench, const char *name)
{
	owned(free_ptr) char *below = xasprintf("ws/%s", name);

	return scratch_path(&bench->scratch, below);
}

static inline char *bench_top(const struct bench *bench, const char *name)
{
	owned(free_ptr) char *below = xasprintf("store/sbx/box/upper/%s/%s", bench->unit, name);

	return scratch_path(&bench->scratch, below);
}

static inline void bench_write(const char *path, const char *text)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		tap_bail("cannot write a file");
}

/* A file of reality. */
static inline void real_put(const struct bench *bench, const char *name, const char *text)
{
	owned(free_ptr) char *path = bench_real(bench, name);

	bench_write(path, text);
}

/* A file the sandbox made; FROM_LOWER: copied up, with the mark the kernel leaves. */
static inline void top_put(const struct bench *bench, const char *name, const char *text,
			   bool from_lower)
{
	owned(free_ptr) char *path = bench_top(bench, name);
	const char *mark = geteuid() == 0 ? "trusted.overlay.origin" : "user.overlay.origin";

	bench_write(path, text);
	if (from_lower && setxattr(path, mark, "", 0, 0) < 0)
		tap_bail("cannot set an attribute");
}

static inline void top_remove(const struct bench *bench, const char *name)
{
	owned(free_ptr) char *path = bench_top(bench, name);

	(void)unlink(path);
	if (mknod(path, S_IFCHR, makedev(0, 0)) < 0)
		tap_bail("cannot make a whiteout");
}

static inline bool real_is(const struct bench *bench, const char *name, const char *text)
{
	owned(free_ptr) char *path = bench_real(bench, name);
	owned(fd_close) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char got[4096];
	ssize_t len = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

	if (len < 0)
		return text == NULL;
	got[len] = '\0';
	if (text && strcmp(got, text) == 0)
		return true;
	printf("# %s holds '%s'\n", name, got);
	return false;
}

static inline void bench_view(struct bench *bench, struct view_stack *ret_stack)
{
	int upper_fd = -1;

	if (sandbox_open_upper(&bench->sandbox, &upper_fd, &bench->err) < 0 ||
	    view_open(&bench->store, bench->sandbox.head, upper_fd, ret_stack, &bench->err) < 0)
		tap_bail(bench->err.text);
}

/* Promotes as the request says; the outcome is in the bench. */
static inline int bench_promote(struct bench *bench)
{
	struct view_stack stack;
	int status;

	promotion_done(&bench->promotion);
	bench->err = (struct error){ 0 };
	bench_view(bench, &stack);
	status = promote_run(&bench->sandbox, &stack, &bench->request, &bench->promotion,
			     &bench->err);
	view_close(&stack);
	if (status < 0)
		printf("# %s: %s\n", error_code_name(bench->err.code), bench->err.text);
	return status;
}

/* As after each command. */
static inline void bench_capture(struct bench *bench)
{
	struct delta_options options = { .workspace = bench->workspace, .renames = true };
	struct view_stack stack;
	struct delta delta;

	bench_view(bench, &stack);
	options.old_from = stack.count;
	if (delta_read(&stack, &options, &delta, &bench->err) < 0 ||
	    origin_capture(&bench->sandbox, &stack, &delta, &bench->err) < 0)
		tap_bail(bench->err.text);
	delta_done(&delta);
	view_close(&stack);
}

/* How many changes the sandbox has against reality. */
static inline int bench_changes(struct bench *bench)
{
	struct delta_options options = { .workspace = bench->workspace,
					 .renames = true,
					 .expand = true };
	struct view_stack stack;
	struct delta delta;
	int count;

	bench_view(bench, &stack);
	options.old_from = stack.count;
	if (delta_read(&stack, &options, &delta, &bench->err) < 0)
		tap_bail(bench->err.text);
	for (size_t i = 0; i < delta.count; i++)
		printf("# %c %s\n", delta_op_letter(delta.items[i].op), delta.items[i].path);
	count = (int)delta.count;
	delta_done(&delta);
	view_close(&stack);
	return count;
}

static inline int bench_undo(struct bench *bench, const char *id)
{
	char undone[LAYER_ID_SIZE];
	struct strv paths = STRV_INIT;
	int status;

	bench->err = (struct error){ 0 };
	status = promotion_undo(&bench->store, id, bench->workspace, undone, &paths, &bench->err);
	strv_done(&paths);
	if (status < 0)
		printf("# %s: %s\n", error_code_name(bench->err.code), bench->err.text);
	return status;
}

#endif
