/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers at work during promotions: no write is lost without a conflict; promotions to one target take turns.
 *
 * A lost write is one that went to the object a promotion displaced: the old file in its slot is then not what it was when
 * the promotion was planned. So after each one that succeeded, the slots are compared with what was there at first.
 */
#include "tests/tap.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "tests/unit/scratch.h"
#include "workspace/txn/stage.h"
#include "workspace/disk/target.h"
#include "workspace/txn/txn.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define DIRS 4
#define FILES 32

struct plan_of_files {
	char paths[FILES][32];
	char before[FILES][64];
	struct txn_op ops[FILES];
	struct txn_plan plan;
	char id[32];
	const char *text;
};

static int read_at(int root, const char *path, char *text, size_t size)
{
	owned(fd_close) int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	return got < 0 ? -1 : 0;
}

static int stage(const struct txn_op *op, struct txn_stage *slot, void *cookie, struct error *err)
{
	const struct plan_of_files *files = cookie;
	struct stage_meta meta = { .mode = 0644, .mtime = { .tv_sec = 1 } };

	(void)op;
	return stage_bytes(slot->fd, slot->name, files->text, strlen(files->text), &meta, err);
}

/* What is there now, as the plan's base: identity, content, and the same identity again. False when it does not hold still. */
static bool plan_files(struct plan_of_files *files, const char *root, const char *staging)
{
	owned(fd_close) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct txn_identity again;

	for (size_t i = 0; i < FILES; i++) {
		struct txn_op *op = &files->ops[i];

		(void)snprintf(files->paths[i], sizeof(files->paths[i]), "d%zu/f%zu", i % DIRS, i);
		*op = (struct txn_op){ .kind = TXN_REPLACE, .path = files->paths[i] };
		txn_identity_of(fd, op->path, &op->old);
		if (!op->old.exists ||
		    read_at(fd, op->path, files->before[i], sizeof(files->before[i])) < 0)
			return false;
		txn_identity_of(fd, op->path, &again);
		if (!target_is_same(&again, &op->old))
			return false;
	}
	files->plan = (struct txn_plan){
		.target = { .root = root, .store_staging = staging },
		.id = files->id,
		.ops = files->ops,
		.count = FILES,
		.stage = stage,
		.cookie = files,
	};
	return true;
}

static void write_all(int root, const char *path, const char *text, int flags)
{
	owned(fd_close) int fd = openat(root, path, O_WRONLY | O_CLOEXEC | flags, 0644);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		abort();
}

/* One of four habits, until it is killed. */
static void hammer(const char *root, unsigned habit)
{
	owned(fd_close) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned random = habit * 7919 + 1;

	for (unsigned long turn = 0;; turn++) {
		char path[32], text[64], other[32];
		struct timespec pause = { .tv_nsec = 1000000 + random % 4000000 };

		random = random * 1103515245 + 12345;
		unsigned file = random >> 8 & (FILES - 1);

		(void)snprintf(path, sizeof(path), "d%u/f%u", file % DIRS, file);
		(void)snprintf(text, sizeof(text), "writer %u turn %lu", habit, turn);
		(void)snprintf(other, sizeof(other), "d%u/.new%u", file % DIRS, habit);
		if (habit == 0) {
			write_all(fd, path, text, 0);
		} else if (habit == 1) {
			write_all(fd, other, text, O_CREAT | O_TRUNC);
			(void)renameat(fd, other, fd, path);
		} else if (habit == 2) {
			write_all(fd, path, text, O_TRUNC);
		} else {
			(void)renameat(fd, "d3", fd, "elsewhere");
			(void)renameat(fd, "elsewhere", fd, "d3");
			pause.tv_nsec *= 20;
		}
		(void)nanosleep(&pause, NULL);
	}
}

static pid_t start_hammer(const char *root, unsigned habit)
{
	pid_t child = fork();

	if (child == 0)
		hammer(root, habit);
	return child;
}

static void stop(pid_t child)
{
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

struct outcome {
	unsigned applied, conflicts, lost, failed;
	char why[200];
};

/* Whether a slot still holds what its file was when the promotion was planned. */
static void look_for_lost(const struct plan_of_files *files, const char *directory,
			  struct outcome *outcome)
{
	const struct timespec moment = { .tv_nsec = 3000000 };
	owned(free_ptr) char *path = xasprintf("%s/slot", directory);
	owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Whoever was on the way to the old file arrives. */
	(void)nanosleep(&moment, NULL);
	for (size_t i = 0; i < FILES; i++) {
		char name[16], now[64];

		(void)snprintf(name, sizeof(name), "%zu", i);
		if (read_at(fd, name, now, sizeof(now)) < 0 || strcmp(now, files->before[i]) != 0) {
			outcome->lost++;
			(void)snprintf(outcome->why, sizeof(outcome->why), "%s: '%s' became '%s'",
				       files->paths[i], files->before[i], now);
		}
	}
}

static void promote_once(const char *root, const char *staging, unsigned number,
			 struct outcome *outcome)
{
	struct plan_of_files files = { .text = "promoted" };
	struct txn_result result, undone;
	struct error err = { 0 };

	(void)snprintf(files.id, sizeof(files.id), "race%u", number);
	if (!plan_files(&files, root, staging))
		return;
	if (txn_run(&files.plan, &result, &err) == 0) {
		outcome->applied++;
		look_for_lost(&files, result.directory, outcome);
		if (number % 2 && txn_undo(result.directory, NULL, &undone, &err) < 0 &&
		    err.code != ERROR_CONFLICT)
			outcome->failed++;
		if (number % 2)
			txn_result_done(&undone);
		(void)txn_forget(result.directory, &err);
	} else if (err.code == ERROR_CONFLICT) {
		outcome->conflicts++;
	} else {
		outcome->failed++;
		(void)snprintf(outcome->why, sizeof(outcome->why), "%.190s", err.text);
	}
	txn_result_done(&result);
}

static void make_tree(const struct scratch *scratch)
{
	for (size_t i = 0; i < FILES; i++) {
		owned(free_ptr) char *name = xasprintf("tree/d%zu/f%zu", i % DIRS, i);
		owned(free_ptr) char *text = xasprintf("old %zu", i);

		free(scratch_write(scratch, name, text));
	}
	scratch_mkdir(scratch, "store");
}

static void test_writers(unsigned habit, const char *name)
{
	uint64_t until = clock_now_ns() + tap_size(700, 700, 8000) * UINT64_C(1000000);
	struct outcome outcome = { 0 };
	struct scratch scratch;

	scratch_open(&scratch);
	make_tree(&scratch);
	owned(free_ptr) char *root = xasprintf("%s/tree", scratch.dir);
	owned(free_ptr) char *staging = xasprintf("%s/store", scratch.dir);

	(void)chmod(staging, 0700);
	pid_t writer = start_hammer(root, habit);
	unsigned rounds = 0;

	while (clock_now_ns() < until)
		promote_once(root, staging, rounds++, &outcome);
	stop(writer);
	/* Undisturbed again, one must succeed. */
	unsigned before = outcome.applied;

	promote_once(root, staging, rounds, &outcome);
	tap_ok(outcome.lost == 0, "%s: no write was lost (%u applied, %u conflicts) %s", name,
	       outcome.applied, outcome.conflicts, outcome.lost ? outcome.why : "");
	tap_ok(outcome.failed == 0, "%s: nothing failed otherwise %s", name, outcome.why);
	tap_ok(habit == 3 || outcome.applied == before + 1, "%s: afterwards it goes on", name);
	scratch_close(&scratch);
}

/* One of several that want the same: exits 0 when it won, 3 on a conflict. */
static int contend(const char *root, const char *staging, unsigned number, int gate)
{
	struct plan_of_files files = { 0 };
	struct txn_result result;
	struct error err = { 0 };
	char text[32], byte;

	(void)snprintf(text, sizeof(text), "promotion %u", number);
	(void)snprintf(files.id, sizeof(files.id), "turn%u", number);
	files.text = text;
	if (!plan_files(&files, root, staging))
		return 1;
	(void)!read(gate, &byte, 1);
	int status = txn_run(&files.plan, &result, &err);

	txn_result_done(&result);
	return status == 0 ? 0 : err.code == ERROR_CONFLICT ? 3 : 1;
}

static void test_turns(void)
{
	struct scratch scratch;
	unsigned won = 0, conflicts = 0, mixed = 0;
	char first[64] = "", text[64];
	int gate[2];

	scratch_open(&scratch);
	make_tree(&scratch);
	owned(free_ptr) char *root = xasprintf("%s/tree", scratch.dir);
	owned(free_ptr) char *staging = xasprintf("%s/store", scratch.dir);

	(void)chmod(staging, 0700);
	if (pipe2(gate, O_CLOEXEC) < 0)
		abort();
	for (unsigned i = 0; i < 6; i++) {
		if (fork() == 0) {
			(void)close(gate[1]);
			_exit(contend(root, staging, i, gate[0]));
		}
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	for (int status; wait(&status) > 0;) {
		won += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		conflicts += WIFEXITED(status) && WEXITSTATUS(status) == 3;
	}
	owned(fd_close) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)read_at(fd, "d0/f0", first, sizeof(first));
	for (unsigned i = 0; i < FILES; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "d%u/f%u", i % DIRS, i);
		mixed += read_at(fd, path, text, sizeof(text)) < 0 || strcmp(text, first) != 0;
	}
	tap_ok(won == 1 && conflicts == 5, "of six that want the same one wins (%u, %u conflicts)",
	       won, conflicts);
	tap_ok(mixed == 0, "and all of the tree is that one's");
	scratch_close(&scratch);
}

int main(void)
{
	test_turns();
	test_writers(0, "written in place");
	test_writers(1, "replaced");
	test_writers(2, "truncated");
	test_writers(3, "a directory renamed");
	return tap_done();
}
