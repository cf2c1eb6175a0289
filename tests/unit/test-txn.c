/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: every kind of operation, there and back again; what is in the way stops them before anything happens. */
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "tests/unit/txn_fixture.h"

#include <signal.h>
#include <sys/wait.h>

/* A tree to change, a place to stage in, and the plan between them. */
struct world {
	struct scratch scratch;
	char *root, *staging;
	struct fixture_plan fixture;
	struct txn_result result;
	struct error err;
};

static void world_open(struct world *world)
{
	*world = (struct world){ 0 };
	scratch_open(&world->scratch);
	world->root = xasprintf("%s/tree", world->scratch.dir);
	world->staging = xasprintf("%s/store", world->scratch.dir);
	if (mkdir(world->staging, 0700) < 0)
		abort();
	fixture_make(world->root);
	fixture_open(&world->fixture, world->root, world->staging);
}

static void world_close(struct world *world)
{
	txn_result_done(&world->result);
	fixture_close(&world->fixture);
	free(world->root);
	free(world->staging);
	scratch_close(&world->scratch);
}

static int world_run(struct world *world)
{
	txn_result_done(&world->result);
	return txn_run(&world->fixture.plan, &world->result, &world->err);
}

static char *path_in(const struct world *world, const char *name)
{
	return xasprintf("%s/%s", world->root, name);
}

/* The content of a file of the tree, "" when there is none. Static: for one comparison. */
static const char *content(const struct world *world, const char *name)
{
	static char text[128];
	owned(free_ptr) char *path = path_in(world, name);
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		(void)fclose(file);
	return text;
}

static ino_t inode(const struct world *world, const char *name)
{
	owned(free_ptr) char *path = path_in(world, name);
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_ino : 0;
}

static struct timespec mtime(const struct world *world, const char *name)
{
	owned(free_ptr) char *path = path_in(world, name);
	struct stat st = { 0 };

	(void)lstat(path, &st);
	return st.st_mtim;
}

/* Whether nothing lies in the place for staging. */
static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count == 2;
}

static void test_there_and_back(void)
{
	struct world world;
	struct txn_result undone;
	enum txn_state state = TXN_NONE;

	world_open(&world);
	ino_t replaced = inode(&world, "replace"), moved = inode(&world, "move-dir/keep");
	struct timespec top = mtime(&world, "."), inner = mtime(&world, "move-dir"), top_now,
			inner_now;

	if (!tap_ok(world_run(&world) == 0, "a plan with everything is applied (%s)",
		    world.err.text)) {
		world_close(&world);
		return;
	}
	tap_is_str(content(&world, "replace"), "new content\n", "the file is replaced");
	tap_is_str(content(&world, "moved-dir/inner"), "new inside a moved directory\n",
		   "so is one in a directory that moved");
	tap_ok(inode(&world, "moved-dir/keep") == moved, "what moved is the same inode");
	tap_is_str(content(&world, "added-dir/moved"), "old move\n",
		   "a file moved into a directory that is new");
	tap_is_str(content(&world, "out"), "old out-dir/out\n",
		   "another one out of one that is deleted");
	tap_ok(!inode(&world, "out-dir") && !inode(&world, "gone-dir"), "deleted trees are gone");
	tap_ok(inode(&world, "added") == inode(&world, "added-too"), "hard links came as one file");
	tap_ok(inode(&world, "stay/untouched") == inode(&world, "untouched-too"),
	       "a file of the tree got another name");
	tap_ok(inode(&world, "pair-other") == inode(&world, "pair-again") &&
		       inode(&world, "pair") != inode(&world, "pair-other"),
	       "also one whose other name is replaced");
	tap_ok(txn_recover(world.result.directory, &state, &world.err) == 0 && state == TXN_DONE,
	       "there is nothing to recover");

	tap_ok(txn_undo(world.result.directory, NULL, &undone, &world.err) == 0,
	       "it is undone (%s)", world.err.text);
	tap_ok(inode(&world, "replace") == replaced, "the old file is back, the same inode");
	tap_is_str(content(&world, "gone-dir/sub/y"), "old gone-dir/sub/y\n", "trees are back");
	tap_ok(!inode(&world, "added") && !inode(&world, "added-tree"), "what was added is gone");
	top_now = mtime(&world, ".");
	inner_now = mtime(&world, "move-dir");
	tap_ok(memcmp(&top, &top_now, sizeof(top)) == 0 &&
		       memcmp(&inner, &inner_now, sizeof(inner)) == 0,
	       "directories have the times they had");
	txn_result_done(&undone);
	tap_ok(txn_undo(world.result.directory, NULL, &undone, &world.err) < 0 &&
		       world.err.code == ERROR_CONFLICT,
	       "undoing it twice is a conflict");
	txn_result_done(&undone);

	tap_ok(txn_forget(world.result.directory, &world.err) == 0 && is_empty(world.staging),
	       "forgotten, it leaves nothing");
	world_close(&world);
}

static void test_changed_target(void)
{
	struct world world;
	owned(free_ptr) char *path = NULL;

	world_open(&world);
	path = scratch_write(&world.scratch, "tree/replace", "somebody else\n");
	tap_ok(world_run(&world) < 0 && world.err.code == ERROR_CONFLICT,
	       "a target that changed is a conflict");
	tap_ok(world.result.conflict_count == 1 &&
		       strcmp(world.result.conflicts[0].path, "replace") == 0 &&
		       strcmp(world.result.conflicts[0].kind, "changed") == 0,
	       "which names it");
	tap_is_str(content(&world, "replace"), "somebody else\n", "and nothing happened");
	tap_ok(inode(&world, "delete") != 0 && is_empty(world.staging), "nor is anything left");
	world_close(&world);
}

static void test_undo_of_changed(void)
{
	struct world world;
	struct txn_result undone;
	owned(free_ptr) char *path = NULL;

	world_open(&world);
	(void)world_run(&world);
	path = scratch_write(&world.scratch, "tree/added-tree/deep/two", "worked on since\n");
	tap_ok(txn_undo(world.result.directory, NULL, &undone, &world.err) < 0 &&
		       world.err.code == ERROR_CONFLICT && undone.conflict_count == 1,
	       "work done since, deep in a tree that came, is not undone");
	tap_is_str(content(&world, "added-tree/deep/two"), "worked on since\n",
		   "it is still there");
	tap_is_str(content(&world, "replace"), "new content\n", "and so is all the rest");
	txn_result_done(&undone);
	world_close(&world);
}

int main(void)
{
	test_there_and_back();
	test_changed_target();
	test_undo_of_changed();
	return tap_done();
}
