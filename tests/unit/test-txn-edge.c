/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions at their edges: what refuses to be displaced, other mounts, very many directories, very long paths. */
#include "tests/tap.h"
#include "base/file/tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/txn_fixture.h"

#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* A tree to change and a place to stage in; plans are made by the cases. */
struct world {
	struct scratch scratch;
	char *root, *staging;
	struct txn_result result;
	struct error err;
};

static void world_open(struct world *world)
{
	*world = (struct world){ 0 };
	scratch_open(&world->scratch);
	world->root = xasprintf("%s/tree", world->scratch.dir);
	world->staging = xasprintf("%s/store", world->scratch.dir);
	if (mkdir(world->staging, 0700) < 0 || mkdir(world->root, 0755) < 0)
		abort();
}

static void world_close(struct world *world)
{
	txn_result_done(&world->result);
	free(world->root);
	free(world->staging);
	scratch_close(&world->scratch);
}

static int stage_text(const struct txn_op *op, struct txn_stage *slot, void *cookie,
		      struct error *err)
{
	struct stage_meta meta = fixture_meta(0644, NULL);

	(void)op;
	(void)cookie;
	return stage_bytes(slot->fd, slot->name, "new\n", 4, &meta, err);
}

static struct txn_op op_on(const struct world *world, enum txn_kind kind, const char *path)
{
	owned(fd_close) int fd = open(world->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct txn_op op = { .kind = kind };

	memcpy(&op.path, &path, sizeof(path));
	txn_identity_of(fd, path, &op.old);
	return op;
}

static int run_ops(struct world *world, struct txn_op *ops, size_t count)
{
	struct txn_plan plan = {
		.target = { .root = world->root, .store_staging = world->staging },
		.id = "edge",
		.ops = ops,
		.count = count,
		.stage = stage_text,
	};

	txn_result_done(&world->result);
	world->err = (struct error){ 0 };
	return txn_run(&plan, &world->result, &world->err);
}

static bool is_conflict(const struct world *world, const char *kind)
{
	return world->err.code == ERROR_CONFLICT && world->result.conflict_count > 0 &&
	       strcmp(world->result.conflicts[0].kind, kind) == 0;
}

static bool reads(const struct world *world, const char *name, const char *want)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", world->root, name);
	owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 && strcmp(text, want) == 0;
}

static void test_busy(void)
{
	struct world world;

	world_open(&world);
	owned(free_ptr) char *path = scratch_write(&world.scratch, "tree/file", "old\n");
	struct txn_op op = op_on(&world, TXN_REPLACE, "file");
	int writer = open(path, O_WRONLY | O_CLOEXEC);

	tap_ok(run_ops(&world, &op, 1) < 0 && is_conflict(&world, "busy"),
	       "a file that is open for writing is busy (%s)", world.err.text);
	tap_ok(reads(&world, "file", "old\n"), "and stays as it is");
	fd_close(&writer);
	tap_ok(run_ops(&world, &op, 1) == 0, "closed, it is replaced (%s)", world.err.text);
	world_close(&world);
}

static void test_immutable(void)
{
	struct world world;
	int flags = FS_IMMUTABLE_FL;

	world_open(&world);
	owned(free_ptr) char *path = scratch_write(&world.scratch, "tree/file", "old\n");
	owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0) {
		tap_skip(1, "files cannot be made immutable here");
		world_close(&world);
		return;
	}
	struct txn_op op = op_on(&world, TXN_REPLACE, "file");

	tap_ok(run_ops(&world, &op, 1) < 0 && is_conflict(&world, "immutable"),
	       "an immutable file is told before anything happens (%s)", world.err.text);
	flags = 0;
	(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	world_close(&world);
}

static void test_link_above(void)
{
	struct world world;

	world_open(&world);
	free(scratch_write(&world.scratch, "tree/dir/file", "old\n"));
	free(scratch_write(&world.scratch, "elsewhere/file", "not ours\n"));
	struct txn_op op = op_on(&world, TXN_REPLACE, "dir/file");
	owned(free_ptr) char *dir = xasprintf("%s/dir", world.root);
	owned(free_ptr) char *away = xasprintf("%s/dir-away", world.root);

	if (rename(dir, away) < 0 || symlink("../elsewhere", dir) < 0)
		abort();
	tap_ok(run_ops(&world, &op, 1) < 0 && is_conflict(&world, "parent-gone"),
	       "a link where a directory was is not followed (%s)", world.err.text);
	world_close(&world);
}

static void test_many_directories(void)
{
	enum { COUNT = 900 };
	struct world world;
	struct txn_op *ops = xcalloc(COUNT, sizeof(*ops));
	struct txn_result undone;
	unsigned good = 0;

	world_open(&world);
	for (int i = 0; i < COUNT; i++) {
		owned(free_ptr) char *name = xasprintf("tree/d%d/f", i);

		free(scratch_write(&world.scratch, name, "old\n"));
		ops[i] = op_on(&world, TXN_REPLACE, name + strlen("tree/"));
		ops[i].path = xstrdup(name + strlen("tree/"));
	}
	tap_ok(run_ops(&world, ops, COUNT) == 0, "files in more directories than can be open (%s)",
	       world.err.text);
	for (int i = 0; i < COUNT; i++)
		good += reads(&world, ops[i].path, "new\n");
	tap_is_int(good, COUNT, "all of them are new");
	tap_ok(txn_undo(world.result.directory, NULL, &undone, &world.err) == 0, "and undone (%s)",
	       world.err.text);
	good = 0;
	for (int i = 0; i < COUNT; i++) {
		good += reads(&world, ops[i].path, "old\n");
		free(ops[i].path);
	}
	tap_is_int(good, COUNT, "all of them are old again");
	txn_result_done(&undone);
	free(ops);
	world_close(&world);
}

static void test_long_path(void)
{
	struct world world;
	char name[200];
	struct str path = STR_INIT;
	bool is_new = false;

	world_open(&world);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	int fd = open(world.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < 30; i++) {
		int next = mkdirat(fd, name, 0755) < 0
				   ? -1
				   : openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		fd_close(&fd);
		fd = next;
		str_add(&path, name);
		str_add_char(&path, '/');
	}
	fixture_file(fd, "file", "old\n");
	str_add(&path, "file");
	struct txn_op op = { .kind = TXN_REPLACE, .path = path.data };

	txn_identity_of(fd, "file", &op.old);
	tap_ok(run_ops(&world, &op, 1) == 0, "a path of %zu bytes (%s)", path.len, world.err.text);
	owned(fd_close) int file = openat(fd, "file", O_RDONLY | O_CLOEXEC);
	char text[8] = "";

	is_new = read(file, text, sizeof(text) - 1) == 4 && strcmp(text, "new\n") == 0;
	tap_ok(is_new, "leads to the file");
	fd_close(&fd);
	str_done(&path);
	/* Too deep for the harness, which walks by path. */
	(void)tree_remove(AT_FDCWD, world.root);
	world_close(&world);
}

/* In a mount namespace of its own: a tree with another filesystem in it. Prints its cases itself. */
static void test_two_mounts_inside(struct world *world)
{
	owned(free_ptr) char *other = xasprintf("%s/other", world->root);
	owned(free_ptr) char *slots = xasprintf("%s/.aisbx", other);
	struct txn_result undone;

	if (mkdir(other, 0755) < 0 || mount("none", other, "tmpfs", 0, NULL) < 0)
		abort();
	free(scratch_write(&world->scratch, "tree/here", "old\n"));
	free(scratch_write(&world->scratch, "tree/other/there", "old\n"));
	free(scratch_write(&world->scratch, "tree/other/gone", "old\n"));
	struct txn_op ops[] = {
		op_on(world, TXN_REPLACE, "here"),
		op_on(world, TXN_REPLACE, "other/there"),
		op_on(world, TXN_DELETE, "other/gone"),
		op_on(world, TXN_ADD, "other/added"),
	};

	tap_ok(run_ops(world, ops, 4) == 0, "one transaction on two mounts (%s)", world->err.text);
	tap_ok(reads(world, "here", "new\n") && reads(world, "other/there", "new\n") &&
		       reads(world, "other/added", "new\n"),
	       "reaches both");
	tap_ok(txn_undo(world->result.directory, NULL, &undone, &world->err) == 0, "is undone (%s)",
	       world->err.text);
	txn_result_done(&undone);
	tap_ok(reads(world, "here", "old\n") && reads(world, "other/there", "old\n") &&
		       reads(world, "other/gone", "old\n") && !reads(world, "other/added", "new\n"),
	       "on both");
	tap_ok(txn_forget(world->result.directory, &world->err) == 0 && access(slots, F_OK) < 0,
	       "and leaves nothing on either");
	struct txn_op whole = op_on(world, TXN_DELETE, "other");

	tap_ok(run_ops(world, &whole, 1) < 0 && is_conflict(world, "mount-point"),
	       "a mount point is not displaced (%s)", world->err.text);
	(void)umount2(other, MNT_DETACH);
}

static void test_two_mounts(void)
{
	enum { CASES = 6 };
	struct world world;
	int status = 0;

	(void)fflush(stdout);
	world_open(&world);
	pid_t child = fork();

	if (child == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(77);
		test_two_mounts_inside(&world);
		(void)fflush(stdout);
		_exit(tap.failed ? 1 : 0);
	}
	(void)waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		tap_skip(CASES, "mounts of our own need root");
	} else {
		tap.run += CASES;
		tap.failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	world_close(&world);
}

static void test_swap(void)
{
	struct world world;
	struct fixture_plan fixture;
	struct txn_result undone;
	struct stat before, after, again;

	world_open(&world);
	fixture_make(world.root);
	fixture_open(&fixture, world.root, world.staging);
	fixture.plan.target.swap = true;
	int held = open(world.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)stat(world.root, &before);
	tap_ok(txn_run(&fixture.plan, &world.result, &world.err) == 0,
	       "a target is exchanged whole (%s)", world.err.text);
	tap_ok(stat(world.root, &after) == 0 && before.st_ino != after.st_ino &&
		       before.st_mode == after.st_mode &&
		       before.st_mtim.tv_nsec == after.st_mtim.tv_nsec,
	       "another directory with the same attributes");
	tap_ok(reads(&world, "replace", "new content\n") &&
		       reads(&world, "stay/untouched", "old stay/untouched\n"),
	       "with what is new and what stayed");
	tap_ok(faccessat(held, "delete", F_OK, 0) == 0, "who was in the old one still is");
	tap_ok(txn_undo(world.result.directory, NULL, &undone, &world.err) == 0 &&
		       stat(world.root, &again) == 0 && again.st_ino == before.st_ino,
	       "undone, it is the old directory (%s)", world.err.text);
	txn_result_done(&undone);
	tap_ok(txn_forget(world.result.directory, &world.err) == 0, "and nothing is left");
	fd_close(&held);
	fixture_close(&fixture);
	world_close(&world);
}

static void test_refused_plans(void)
{
	struct world world;

	world_open(&world);
	free(scratch_write(&world.scratch, "outside", "old\n"));
	struct txn_op op = op_on(&world, TXN_REPLACE, "../outside");

	tap_ok(run_ops(&world, &op, 1) < 0 && world.err.code == ERROR_INPUT,
	       "no path leads out of the tree");
	free(scratch_write(&world.scratch, "tree/file", "old\n"));
	struct txn_plan plan = { .target = { .root = world.root, .store_staging = world.staging },
				 .id = "edge",
				 .bytes = UINT64_MAX / 2,
				 .count = 1,
				 .ops = &op,
				 .stage = stage_text };

	op = op_on(&world, TXN_REPLACE, "file");
	txn_result_done(&world.result);
	tap_ok(txn_run(&plan, &world.result, &world.err) < 0 &&
		       strstr(world.err.text, "do not fit"),
	       "what cannot fit is not begun (%s)", world.err.text);
	world_close(&world);
}

int main(void)
{
	test_busy();
	test_immutable();
	test_link_above();
	test_many_directories();
	test_long_path();
	test_two_mounts();
	test_swap();
	test_refused_plans();
	return tap_done();
}
