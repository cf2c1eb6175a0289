/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promotion against a plain copy: a real overlay and a copy of the same tree go through the same random operations; what
 * is promoted from one must be the other, whole or in parts, and undone it must be what was there before.
 */
#include "tests/kernel/random_ops.h"
#include "tests/unit/promote_fixture.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define SKIPPED 77

/* Those that failed once, and why they did. */
static const uint64_t kept[] = {
	1794775872231, /* a directory renamed into a directory that replaces a file */
};

struct trial {
	struct bench bench;
	struct random random;
	char *copy, *mount;
	uint64_t seed;
	bool is_alone; /* the only one: told in detail */
};

static int write_file(const char *path, const char *text)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* A mount namespace, for a plain user in a user namespace where he stays who he is. */
static int enter_namespaces(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	owned(free_ptr) char *uids = xasprintf("%u %u 1", uid, uid);
	owned(free_ptr) char *gids = xasprintf("%u %u 1", gid, gid);

	if (uid == 0)
		return unshare(CLONE_NEWNS);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -1;
	(void)write_file("/proc/self/setgroups", "deny");
	return write_file("/proc/self/uid_map", uids) < 0 ||
			       write_file("/proc/self/gid_map", gids) < 0
		       ? -1
		       : 0;
}

static int mount_overlay(const struct trial *trial)
{
	const struct bench *b = &trial->bench;
	owned(free_ptr) char *options = xasprintf(
		"lowerdir=%s,upperdir=%s/sbx/box/upper/%s,workdir=%s/sbx/box/upper/w%s,index=off,"
		"metacopy=off,xino=off,%s",
		b->workspace, b->store.path, b->unit, b->store.path, b->unit + 1,
		geteuid() == 0 ? "redirect_dir=on" : "userxattr");

	(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return mount("overlay", trial->mount, "overlay", 0, options);
}

/* In a child: the operations, on the clone and on the copy. */
static int play(struct trial *trial)
{
	uint32_t count = 1 + random_next(&trial->random, 24);

	if (enter_namespaces() < 0 || mount_overlay(trial) < 0) {
		printf("# no overlay: %s\n", strerror(errno));
		return SKIPPED;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct random_op op;

		random_op(&trial->random, &op);
		/* What only the kernel's overlay cannot do is done to neither. */
		if (random_do(&op, trial->mount) < 0)
			continue;
		if (trial->is_alone)
			printf("# %u %s %s %u\n", op.kind, op.path, op.to, op.seed);
		if (random_do(&op, trial->copy) < 0) {
			printf("# seed %" PRIu64 ": %u %s %s %u only in the clone: %s\n",
			       trial->seed, op.kind, op.path, op.to, op.seed, strerror(errno));
			(void)fflush(stdout);
			return 1;
		}
	}
	(void)fflush(stdout);
	return umount(trial->mount) < 0;
}

static void make_trees(struct trial *trial)
{
	uint32_t count = 4 + random_next(&trial->random, 20);

	for (uint32_t i = 0; i < count; i++) {
		struct random_op op;

		random_op(&trial->random, &op);
		op.kind = (uint32_t[]){ 0, 0, 7, 7, 11, 12, 13 }[op.kind % 7];
		if (random_do(&op, trial->bench.workspace) == 0)
			(void)random_do(&op, trial->copy);
	}
}

static bool check_same(const struct trial *trial, const char *what, const struct str *got,
		       const struct str *want)
{
	if (strcmp(str_cstr(got), str_cstr(want)) == 0)
		return true;
	printf("# seed %" PRIu64 ": %s\n# got:\n%s# want:\n%s", trial->seed, what, str_cstr(got),
	       str_cstr(want));
	return false;
}

static bool is_like_copy(struct trial *trial, const char *what)
{
	owned(str_done) struct str got = STR_INIT, want = STR_INIT;

	describe(trial->bench.workspace, "", 0, &got);
	describe(trial->copy, "", 0, &want);
	return check_same(trial, what, &got, &want) && bench_changes(&trial->bench) == 0;
}

static bool is_as_before(struct trial *trial, const struct str *before, const char *what)
{
	owned(str_done) struct str got = STR_INIT;

	describe(trial->bench.workspace, "", DESCRIBE_TIMES | DESCRIBE_INODES, &got);
	return check_same(trial, what, &got, before);
}

/* Some of the changes. */
static void choose(struct trial *trial)
{
	struct bench *b = &trial->bench;
	struct delta_options options = { .workspace = b->workspace, .renames = true };
	struct view_stack stack;
	struct delta delta;

	bench_view(b, &stack);
	options.old_from = stack.count;
	if (delta_read(&stack, &options, &delta, &b->err) < 0)
		tap_bail(b->err.text);
	for (size_t i = 0; i < delta.count; i++)
		if (random_next(&trial->random, 2))
			strv_add(&b->request.paths, delta.items[i].path);
	delta_done(&delta);
	view_close(&stack);
}

static bool promote(struct trial *trial, int *promotions)
{
	if (trial->is_alone)
		printf("# %d changes\n", bench_changes(&trial->bench));
	for (size_t i = 0; trial->is_alone && i < trial->bench.request.paths.count; i++)
		printf("# chosen: %s\n", trial->bench.request.paths.items[i]);
	if (bench_promote(&trial->bench) < 0) {
		printf("# seed %" PRIu64 ": %s\n", trial->seed, trial->bench.err.text);
		return false;
	}
	*promotions += trial->bench.promotion.id[0] != '\0';
	return true;
}

static bool run(struct trial *trial)
{
	struct bench *b = &trial->bench;
	owned(str_done) struct str before = STR_INIT;
	int promotions = 0;

	describe(b->workspace, "", DESCRIBE_TIMES | DESCRIBE_INODES, &before);
	b->request.allow_all = true;
	if (random_next(&trial->random, 2))
		bench_capture(b);
	if (random_next(&trial->random, 2)) {
		choose(trial);
		if (b->request.paths.count > 0 && !promote(trial, &promotions))
			return false;
		strv_done(&b->request.paths);
	}
	if (!promote(trial, &promotions) || !is_like_copy(trial, "promoted"))
		return false;
	for (; promotions > 0; promotions--)
		if (bench_undo(b, NULL) < 0)
			return false;
	if (!is_as_before(trial, &before, "undone"))
		return false;
	return promote(trial, &promotions) && is_like_copy(trial, "promoted again");
}

static void tell_tree(const struct trial *trial)
{
	owned(str_done) struct str text = STR_INIT;

	describe(trial->bench.workspace, "", 0, &text);
	printf("# at first:\n%s", str_cstr(&text));
}

/* 1 good, 0 bad, -1 cannot be tried here. */
static int try_seed(uint64_t seed, bool is_alone)
{
	struct trial trial = { .seed = seed, .random = { seed }, .is_alone = is_alone };
	int status = 0, result;
	pid_t child;

	bench_open(&trial.bench);
	scratch_mkdir(&trial.bench.scratch, "copy");
	scratch_mkdir(&trial.bench.scratch, "mnt");
	trial.copy = scratch_path(&trial.bench.scratch, "copy");
	trial.mount = scratch_path(&trial.bench.scratch, "mnt");
	make_trees(&trial);
	if (is_alone)
		tell_tree(&trial);
	bench_start(&trial.bench);
	(void)fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(play(&trial));
	(void)waitpid(child, &status, 0);
	/* The child's numbers are its own. */
	trial.random.state ^= 0x5851f42d4c957f2d;
	result = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? -1
		 : status != 0					     ? 0
								     : run(&trial);
	if (result == 0)
		printf("# failed: seed %" PRIu64 "\n", seed);
	free(trial.copy);
	free(trial.mount);
	bench_close(&trial.bench);
	return result;
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("AISBX_COUNT");
	const char *first = getenv("AISBX_SEED"), *is_long = getenv("AISBX_LONG");
	/* The same before each landing; others where there is time for more. */
	uint64_t fresh = is_long && strcmp(is_long, "1") == 0 ? (uint64_t)time(NULL) : 1763400000;
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10)
			: first	 ? strtoull(first, NULL, 10)
				 : fresh * 1000;
	long count = argc > 1 ? 1 : wanted ? atol(wanted) : 100;
	long good = 0;

	printf("# first seed %" PRIu64 "\n", seed);
	for (long i = 0; i < count; i++) {
		bool is_kept = argc == 1 && (size_t)i < sizeof(kept) / sizeof(kept[0]);
		int result = try_seed(is_kept ? kept[i] : seed + (uint64_t)i, argc > 1);

		if (result < 0) {
			tap_skip(1, "no overlay can be mounted here");
			return tap_done();
		}
		good += result;
	}
	tap_is_int(good, count, "promoted is what a plain copy has, undone is what there was");
	return tap_done();
}
