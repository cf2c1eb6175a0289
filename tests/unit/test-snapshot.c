/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: sealing, naming, going back, forking; on tops written by hand. */
#include "workspace/store/snapshot.h"

#include "tests/unit/store_fixture.h"

#include <sys/xattr.h>

static struct fixture fixture;

static bool take(struct sandbox *sandbox, const char *message, char ret_name[static 64])
{
	const struct snapshot_request request = { .message = message };
	struct snapshot made;

	ret_name[0] = '\0';
	if (snapshot_take(sandbox, &request, &made, &fixture.err) < 0) {
		printf("# %s\n", fixture.err.text);
		return false;
	}
	memcpy(ret_name, made.name, sizeof(made.name));
	snapshot_done(&made);
	return true;
}

static bool shows(const struct sandbox *sandbox, const char *name, const char *want)
{
	char text[64];

	fixture_read(sandbox, name, text);
	return tap_is_str(text, want, "'%s' of %s", name, sandbox->name);
}

static bool has_upper(const struct sandbox *sandbox)
{
	return faccessat(sandbox->dir_fd, "upper", F_OK, 0) == 0;
}

static void test_save_and_rewind(void)
{
	struct sandbox box;
	struct snapshots list;
	char name[64], saved[64];

	fixture_make(&fixture, "box", 0);
	if (!tap_ok(fixture_enter(&fixture, "box", &box), "a sandbox is entered"))
		return;
	fixture_write(&box, "f", "one");
	tap_ok(take(&box, "first", name) && strcmp(name, "s1") == 0, "the first is s1");
	tap_ok(!has_upper(&box) && box.head[0], "the top became a layer");
	shows(&box, "f", "one");
	fixture_write(&box, "f", "two");
	shows(&box, "f", "two");
	tap_ok(snapshot_rollback(&box, NULL, saved, &fixture.err) == 0, "going back");
	tap_is_str(saved, "auto1", "the present was saved");
	shows(&box, "f", "one");
	tap_is_str(box.at, "s1", "it stands on s1");
	tap_ok(snapshot_rollback(&box, "auto1", saved, &fixture.err) == 0 && !saved[0],
	       "and forward again, with nothing to save");
	shows(&box, "f", "two");
	tap_ok(snapshot_rollback(&box, NULL, saved, &fixture.err) == 0,
	       "back to what the user made, past the automatic one");
	shows(&box, "f", "one");
	tap_ok(snapshot_rollback(&box, "base", saved, &fixture.err) == 0, "back to the host");
	shows(&box, "f", "");
	tap_ok(snapshot_list(&box, &list, &fixture.err) == 0 && list.count == 2 &&
		       strcmp(list.items[0].name, "s1") == 0 &&
		       strcmp(list.items[1].parent, "s1") == 0 && list.items[1].is_auto,
	       "listed as a tree, oldest first");
	snapshots_done(&list);
	sandbox_close(&box);
}

static void test_fork(void)
{
	struct sandbox box, forked;

	if (!fixture_enter(&fixture, "box", &box))
		return;
	fixture_write(&box, "f", "three");
	tap_ok(snapshot_fork(&box, NULL, "twin", 0, &fixture.err) == 0, "the present is forked");
	tap_ok(fixture_enter(&fixture, "twin", &forked), "the fork is there");
	shows(&forked, "f", "three");
	fixture_write(&forked, "f", "four");
	shows(&box, "f", "three");
	sandbox_close(&forked);
	tap_ok(snapshot_fork(&box, "s1", "old", 0, &fixture.err) == 0, "a snapshot is forked");
	tap_ok(fixture_enter(&fixture, "old", &forked), "that fork is there, too");
	shows(&forked, "f", "one");
	sandbox_close(&forked);
	tap_ok(snapshot_fork(&box, "s1", "old", 0, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_CONFLICT,
	       "a name is given once");
	tap_ok(snapshot_fork(&box, "s2", "x", 0, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_NOT_FOUND && strstr(fixture.err.text, "s1"),
	       "an unknown snapshot is told with the nearest");
	sandbox_close(&box);
}

static void test_names(void)
{
	struct snapshot_request request = { .name = "Before" };
	struct sandbox box;
	struct snapshot made;
	char name[64];

	fixture_make(&fixture, "names", 0);
	if (!fixture_enter(&fixture, "names", &box))
		return;
	tap_ok(snapshot_take(&box, &request, &made, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_USAGE,
	       "names follow the rule for names");
	request.name = "base";
	tap_ok(snapshot_take(&box, &request, &made, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_USAGE,
	       "the host has its name already");
	request.name = "s1";
	request.message = "a \"message\"\nof two lines \\n \x1b[31m";
	tap_ok(snapshot_take(&box, &request, &made, &fixture.err) == 0 && !made.layer[0],
	       "an untouched sandbox is named without a layer");
	snapshot_done(&made);
	tap_ok(snapshot_find(&box, "s1", &made, &fixture.err) == 0 && made.is_current &&
		       !made.is_torn,
	       "and found");
	tap_is_str(made.message, request.message, "with its message as it was");
	snapshot_done(&made);
	tap_ok(snapshot_take(&box, &request, &made, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_CONFLICT,
	       "a name is given once");
	tap_ok(take(&box, NULL, name) && strcmp(name, "s2") == 0, "numbers go round taken names");
	sandbox_close(&box);
}

/* Where the user is on another branch, "the last one" is the last on the way that led there. */
static void test_branches(void)
{
	struct sandbox box;
	char name[64], saved[64];

	fixture_make(&fixture, "tree", 0);
	if (!fixture_enter(&fixture, "tree", &box))
		return;
	fixture_write(&box, "f", "one");
	(void)take(&box, NULL, name);
	fixture_write(&box, "f", "two");
	(void)take(&box, NULL, name);
	tap_ok(snapshot_rollback(&box, "s1", saved, &fixture.err) == 0, "back by two");
	fixture_write(&box, "f", "other");
	tap_ok(snapshot_rollback(&box, NULL, saved, &fixture.err) == 0, "back without a name");
	shows(&box, "f", "one");
	tap_ok(snapshot_rollback(&box, "base", saved, &fixture.err) == 0 && !saved[0],
	       "to the host, with nothing to save");
	fixture_write(&box, "f", "afresh");
	tap_ok(snapshot_rollback(&box, NULL, saved, &fixture.err) == 0, "nothing was made there");
	shows(&box, "f", "");
	tap_ok(snapshot_rollback(&box, saved, name, &fixture.err) == 0, "what was saved is there");
	shows(&box, "f", "afresh");
	sandbox_close(&box);
}

static void test_refresh(void)
{
	struct sandbox box;
	uint64_t before;

	fixture_make(&fixture, "fresh", 0);
	if (!fixture_enter(&fixture, "fresh", &box))
		return;
	before = box.base_ns;
	box.base_ns = 1;
	fixture_write(&box, "f", "mine");
	tap_ok(snapshot_refresh(&box, &fixture.err) == 0 && box.base_ns >= before &&
		       !has_upper(&box),
	       "a refresh seals, and takes the time anew");
	shows(&box, "f", "mine");
	tap_is_str(box.at, "auto1", "what was there has a name");
	sandbox_close(&box);
}

/* A layer that an earlier boot left unsynced, and all that stands on it. */
static void test_torn(void)
{
	struct sandbox box;
	struct snapshot made;
	char name[64];

	fixture_make(&fixture, "torn", 0);
	if (!fixture_enter(&fixture, "torn", &box))
		return;
	fixture_write(&box, "f", "one");
	(void)take(&box, NULL, name);
	fixture_write(&box, "f", "two");
	/* As if it had been mounted in another boot. */
	(void)snprintf(box.upper_boot_id, sizeof(box.upper_boot_id),
		       "11111111-2222-3333-4444-555555555555");
	(void)take(&box, NULL, name);
	fixture_write(&box, "f", "three");
	(void)take(&box, NULL, name);
	tap_ok(snapshot_sync(&fixture.store, &fixture.err) == 0, "a sync");
	tap_ok(snapshot_find(&box, "s1", &made, &fixture.err) == 0 && !made.is_torn,
	       "leaves the whole one whole");
	snapshot_done(&made);
	tap_ok(snapshot_find(&box, "s2", &made, &fixture.err) == 0 && made.is_torn,
	       "and heals none that was cut short");
	snapshot_done(&made);
	tap_ok(snapshot_find(&box, "s3", &made, &fixture.err) == 0 && made.is_torn,
	       "nor one that stands on it");
	snapshot_done(&made);
	sandbox_close(&box);
}

static void test_durable(void)
{
	const struct snapshot_request request = { .durable = true };
	struct sandbox box;
	struct snapshot made;
	struct layer_meta meta;

	fixture_settle(&fixture);
	fixture_make(&fixture, "durable", 0);
	if (!fixture_enter(&fixture, "durable", &box))
		return;
	fixture_write(&box, "f", "one");
	tap_ok(snapshot_take(&box, &request, &made, &fixture.err) == 0, "a durable one");
	tap_ok(layer_meta_read(&fixture.store, made.layer, &meta, &fixture.err) == 0 &&
		       meta.is_synced && meta.depth == 1,
	       "is on the disk when it is answered");
	snapshot_done(&made);
	sandbox_close(&box);
}

/* What is in the only unit of snapshot NAME's layer, for reading; the caller closes it. */
static int open_unit(const struct sandbox *box, const char *name)
{
	char unit[LAYER_UNIT_SIZE];
	owned(free_ptr) char *path = NULL;
	struct snapshot found;

	if (snapshot_find(box, name, &found, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	layer_unit_name(UNIT_PATH, unit);
	path = xasprintf("layers/%s/%s", found.layer, unit);
	snapshot_done(&found);
	return openat(fixture.store.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Links, holes, marks, special files, and a directory its owner closed. */
static void fill_top(int unit_fd)
{
	owned(fd_close) int sparse = openat(unit_fd, "sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	owned(fd_close) int marked = -1;

	(void)linkat(unit_fd, "f", unit_fd, "g", 0);
	if (ftruncate(sparse, 1 << 30) < 0 || pwrite(sparse, "x", 1, 1 << 29) != 1)
		tap_bail("cannot make a sparse file");
	(void)mkdirat(unit_fd, "opaque", 0755);
	marked = openat(unit_fd, "opaque", O_RDONLY | O_CLOEXEC);
	(void)fsetxattr(marked, "user.overlay.opaque", "y", 1, 0);
	(void)mknodat(unit_fd, "whiteout", S_IFCHR, 0);
	(void)mkfifoat(unit_fd, "fifo", 0600);
	(void)symlinkat("/nowhere", unit_fd, "link");
	(void)mkdirat(unit_fd, "closed", 0700);
	(void)mkdirat(unit_fd, "closed/inner", 0700);
	(void)mknodat(unit_fd, "closed/inner/deep", S_IFREG | 0200, 0);
	(void)fchmodat(unit_fd, "closed/inner", 0, 0);
	(void)fchmodat(unit_fd, "closed", 0, 0);
}

static bool has_mode(int fd, const char *name, mode_t mode)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mode == mode;
}

static void check_copy(int fd)
{
	struct stat f, g;
	char value[8];
	owned(fd_close) int marked = openat(fd, "opaque", O_RDONLY | O_CLOEXEC);

	tap_ok(fstatat(fd, "f", &f, 0) == 0 && fstatat(fd, "g", &g, 0) == 0 &&
		       f.st_ino == g.st_ino && f.st_nlink == 2,
	       "names of one file stay names of one file");
	tap_ok(fstatat(fd, "sparse", &f, 0) == 0 && f.st_size == 1 << 30 && f.st_blocks < 4096 &&
		       (f.st_mode & 0777) == 0640,
	       "holes stay holes");
	tap_ok(fgetxattr(marked, "user.overlay.opaque", value, sizeof(value)) == 1 ||
		       errno == ENOTSUP,
	       "marks come along");
	tap_ok(has_mode(fd, "whiteout", S_IFCHR) && has_mode(fd, "fifo", S_IFIFO | 0600) &&
		       has_mode(fd, "link", S_IFLNK | 0777),
	       "and what is no file");
	tap_ok(has_mode(fd, "closed", S_IFDIR), "what was closed is closed");
}

static void test_live(void)
{
	const struct snapshot_request request = { .is_live = true };
	owned(fd_close) int upper_fd = -1, unit_fd = -1, copy_fd = -1;
	char unit[LAYER_UNIT_SIZE], saved[64];
	struct sandbox box;
	struct snapshot made;

	fixture_make(&fixture, "live", 0);
	if (!fixture_enter(&fixture, "live", &box))
		return;
	fixture_write(&box, "f", "one");
	layer_unit_name(UNIT_PATH, unit);
	if (sandbox_open_upper(&box, &upper_fd, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	unit_fd = openat(upper_fd, unit, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fill_top(unit_fd);
	if (!tap_ok(snapshot_take(&box, &request, &made, &fixture.err) == 0,
		    "a snapshot while the top stays"))
		printf("# %s\n", fixture.err.text);
	snapshot_done(&made);
	tap_ok(has_upper(&box) && !box.head[0], "the top is still there, on what it was on");
	tap_ok(has_mode(unit_fd, "closed", S_IFDIR), "as it was");
	copy_fd = open_unit(&box, "s1");
	check_copy(copy_fd);
	fixture_write(&box, "f", "two");
	tap_ok(snapshot_rollback(&box, NULL, saved, &fixture.err) == 0, "it is gone back to");
	shows(&box, "f", "one");
	sandbox_close(&box);
	/* For whoever removes the scratch directory. */
	(void)fchmodat(copy_fd, "closed", 0700, 0);
	(void)fchmodat(copy_fd, "closed/inner", 0700, 0);
	(void)fchmodat(unit_fd, "closed", 0700, 0);
	(void)fchmodat(unit_fd, "closed/inner", 0700, 0);
}

/* Long chains are folded while nobody waits, and what comes next stands on the fold. */
static void test_depth(void)
{
	struct sandbox box;
	struct layer_meta top, below;
	char name[64], saved[64];
	owned(strv_done) struct strv removed = STRV_INIT;

	fixture_make(&fixture, "deep", 0);
	if (!fixture_enter(&fixture, "deep", &box))
		return;
	fixture_write(&box, "first", "oldest");
	for (unsigned i = 0; i <= LAYER_DEPTH_MAX; i++) {
		owned(free_ptr) char *text = xasprintf("number %u", i);

		fixture_write(&box, "f", text);
		(void)take(&box, NULL, name);
	}
	store_unlock(&fixture.store);
	fixture_settle(&fixture);
	if (store_relock(&fixture.store, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	fixture_write(&box, "g", "on top");
	(void)take(&box, NULL, name);
	tap_ok(layer_meta_read(&fixture.store, box.head, &top, &fixture.err) == 0 &&
		       layer_meta_read(&fixture.store, top.parent, &below, &fixture.err) == 0,
	       "the newest layer and the one below");
	tap_ok(top.depth == 2 && below.same_as[0] && !below.parent[0], "are all there are");
	shows(&box, "first", "oldest");
	shows(&box, "f", "number 48");
	tap_ok(store_gc(&fixture.store, &removed, &fixture.err) == 0, "garbage is collected");
	tap_ok(snapshot_rollback(&box, "s1", saved, &fixture.err) == 0, "the old ones stay");
	shows(&box, "f", "number 0");
	tap_ok(snapshot_rollback(&box, name, saved, &fixture.err) == 0, "and so does the new one");
	shows(&box, "first", "oldest");
	sandbox_close(&box);
}

/* A layer below that was lost must not keep anybody from going back to a whole one. */
static void test_lost_layer(void)
{
	struct sandbox box;
	char name[64], saved[64];
	owned(free_ptr) char *meta = NULL;

	fixture_make(&fixture, "lost", 0);
	if (!fixture_enter(&fixture, "lost", &box))
		return;
	fixture_write(&box, "f", "one");
	(void)take(&box, NULL, name);
	fixture_write(&box, "f", "two");
	(void)take(&box, NULL, name);
	fixture_settle(&fixture);
	meta = xasprintf("layers/%s/meta", box.head);
	owned(fd_close) int fd = openat(fixture.store.fd, meta, O_WRONLY | O_TRUNC | O_CLOEXEC);

	tap_ok(fd >= 0, "a layer's record is emptied");
	fixture_write(&box, "f", "three");
	tap_ok(snapshot_rollback(&box, "s1", saved, &fixture.err) == 0 && saved[0],
	       "the present is saved, and left");
	shows(&box, "f", "one");
	sandbox_close(&box);
}

int main(void)
{
	fixture_open(&fixture);
	test_save_and_rewind();
	test_fork();
	test_names();
	test_branches();
	test_refresh();
	test_torn();
	test_durable();
	test_live();
	test_depth();
	test_lost_layer();
	fixture_close(&fixture);
	return tap_done();
}
