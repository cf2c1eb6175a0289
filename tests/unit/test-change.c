/* SPDX-License-Identifier: Apache-2.0 */
/* Changes: a writable layer, made by hand, against the tree it lies on. */
#include "workspace/delta/change.h"

#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "workspace/disk/lower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static struct scratch scratch;
static char *workspace; /* "host/ws" in the scratch directory */

static void put(const char *name, const char *text)
{
	free(scratch_write(&scratch, name, text));
}

static bool put_whiteout(const char *name)
{
	owned(free_ptr) char *path = scratch_path(&scratch, name);

	return mknod(path, S_IFCHR, makedev(0, 0)) == 0;
}

static bool mark(const char *name, const char *key, const char *value)
{
	owned(free_ptr) char *path = scratch_path(&scratch, name);

	return setxattr(path, key, value, strlen(value), 0) == 0;
}

static void put_link(const char *target, const char *name)
{
	owned(free_ptr) char *path = scratch_path(&scratch, name);

	if (symlink(target, path) < 0)
		tap_bail("cannot make links");
}

/* Scans layer NAME; what START does not say is as it usually is. */
static struct change_scan scan_from(const char *name, struct change_scan start)
{
	owned(free_ptr) char *path = scratch_path(&scratch, name);
	owned(free_ptr) char *lower = scratch_path(&scratch, "host");
	owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	start.workspace = workspace;
	if (!start.lower)
		start.lower = lower;
	change_scan_layer(&start, fd);
	start.lower = NULL;
	return start;
}

/* Scans layer NAME as if it lay on LOWER. */
static struct change_scan scan_on(const char *name, const char *lower, struct strv *list)
{
	return scan_from(name,
			 (struct change_scan){ .lower = lower, .user_xattr = true, .list = list });
}

static struct change_scan scan(const char *name, struct strv *list)
{
	return scan_on(name, NULL, list);
}

static bool is_tally(const struct change_tally *tally, uint64_t added, uint64_t modified,
		     uint64_t deleted)
{
	bool good =
		tally->added == added && tally->modified == modified && tally->deleted == deleted;

	if (!good)
		printf("# added %llu, modified %llu, deleted %llu\n",
		       (unsigned long long)tally->added, (unsigned long long)tally->modified,
		       (unsigned long long)tally->deleted);
	return good;
}

static void test_files(void)
{
	owned(strv_done) struct strv list = STRV_INIT;
	owned(free_ptr) char *link = scratch_path(&scratch, "u0/ws/link");
	owned(free_ptr) char *host_link = scratch_path(&scratch, "host/ws/link");
	owned(free_ptr) char *other_link = scratch_path(&scratch, "u0/ws/other-link");

	put("host/ws/old", "one");
	put("host/ws/same", "two");
	put("host/ws/longer", "three");
	put("u0/ws/old", "ONE");
	put("u0/ws/same", "two");
	put("u0/ws/longer", "three and more");
	put("u0/ws/new", "");
	put("u0/ws/deep/er/new", "");
	scratch_mkdir(&scratch, "u0/ws/empty");
	if (symlink("old", host_link) < 0 || symlink("old", link) < 0 ||
	    symlink("/etc/passwd", other_link) < 0)
		tap_bail("cannot make links");
	struct change_scan done = scan("u0", &list);

	tap_ok(is_tally(&done.inside, 4, 2, 0),
	       "new and modified ones are counted, empty directories, too");
	tap_ok(is_tally(&done.outside, 0, 0, 0), "none of them outside the workspace");
	tap_ok(strv_has(&list, "M\told") && strv_has(&list, "A\tdeep/er/new"),
	       "paths are relative in the workspace");
	tap_ok(!strv_has(&list, "M\tsame") && !strv_has(&list, "M\tlink"),
	       "what was copied up and is equal is no change");
	tap_ok(strv_has(&list, "A\tother-link"), "a link is a file and is not followed");
	tap_ok(!done.is_partial, "nothing was left out");
}

static void test_outside(void)
{
	owned(strv_done) struct strv list = STRV_INIT;

	put("u1/etc/aisbx-no-such-file", "x");
	put("u1/tmp/scratch", "x");
	put("u1/run/user/1/scratch", "x");
	put("u1/tmpfile", "x");
	struct change_scan done = scan_on("u1", "/", &list);

	tap_ok(is_tally(&done.outside, 2, 0, 0), "files elsewhere are counted apart");
	tap_ok(strv_has(&list, "A\t/etc/aisbx-no-such-file") && strv_has(&list, "A\t/tmpfile"),
	       "by their absolute paths; scratch directories do not count");
	tap_ok(is_tally(&done.inside, 0, 0, 0), "and not as the workspace's");
}

static void test_deletions(void)
{
	owned(strv_done) struct strv list = STRV_INIT;

	put("host/ws/gone", "");
	put("host/ws/dir/a", "");
	put("host/ws/dir/sub/b", "");
	if (!put_whiteout("u2/ws/gone")) {
		tap_skip(3, "whiteouts cannot be made here");
		return;
	}
	(void)put_whiteout("u2/ws/dir");
	(void)put_whiteout("u2/ws/never-was");
	struct change_scan done = scan("u2", &list);

	tap_ok(is_tally(&done.inside, 0, 0, 3), "files below a removed directory count one by one");
	tap_ok(strv_has(&list, "D\tdir/sub/b"), "and are listed");
	tap_ok(!strv_has(&list, "D\tnever-was"), "what was not there cannot be deleted");
}

/* rm -r and mkdir -p: the kernel marks only the topmost directory, those in it are simply new. */
static void test_opaque(void)
{
	owned(strv_done) struct strv list = STRV_INIT;

	put("host/ws/anew/a", "same");
	put("host/ws/anew/b", "");
	put("host/ws/anew/sub/c", "");
	put("host/ws/anew/sub/sub/d", "");
	put("u3/ws/anew/a", "same");
	put("u3/ws/anew/sub/new", "");
	scratch_mkdir(&scratch, "u3/ws/anew/sub/sub");
	if (!mark("u3/ws/anew", "user.overlay.opaque", "y")) {
		tap_skip(3, "this filesystem has no user attributes");
		return;
	}
	struct change_scan done = scan("u3", &list);

	tap_ok(is_tally(&done.inside, 1, 0, 3), "what an opaque directory hides is deleted");
	tap_ok(strv_has(&list, "D\tanew/b") && strv_has(&list, "D\tanew/sub/c") &&
		       strv_has(&list, "D\tanew/sub/sub/d"),
	       "also in the directories made anew below it");
	put("host/ws/beside/kept", "");
	put("u3/ws/beside/new", "");
	struct change_scan again = scan("u3", NULL);

	tap_ok(is_tally(&again.inside, 2, 0, 3), "its neighbours are not affected");
}

/* A payload of a plain user can write user.overlay.*: a redirect of its own must not be believed. */
static void test_forged_redirect(void)
{
	put("host/secret/key", "");
	put("u4/ws/mine/file", "");
	if (!mark("u4/ws/mine", "user.overlay.redirect", "/secret")) {
		tap_skip(1, "this filesystem has no user attributes");
		return;
	}
	struct change_scan done = scan("u4", NULL);

	tap_ok(is_tally(&done.inside, 1, 0, 0), "a plain user's redirect is not followed");
}

static void test_kinds(void)
{
	owned(free_ptr) char *fifo = scratch_path(&scratch, "u5/ws/fifo");
	owned(strv_done) struct strv list = STRV_INIT;

	put("host/ws/fifo", "");
	put("host/ws/was-file", "");
	put("host/ws/was-dir/a", "");
	put("u5/ws/was-file/now/dir", "");
	put("u5/ws/was-dir", "");
	if (mkfifo(fifo, 0600) < 0)
		tap_bail("cannot make a fifo");
	struct change_scan done = scan("u5", &list);

	tap_ok(strv_has(&list, "M\tfifo"),
	       "a fifo in a file's place is a change, and does not hang");
	tap_ok(strv_has(&list, "A\twas-file/now/dir") && strv_has(&list, "D\twas-file"),
	       "a directory in a file's place deletes the file");
	tap_ok(strv_has(&list, "A\twas-dir") && strv_has(&list, "D\twas-dir/a"),
	       "a file in a directory's place deletes what was in it");
	tap_ok(is_tally(&done.inside, 2, 1, 2), "nothing else");
}

static void test_depth(void)
{
	owned(str_done) struct str name = STR_INIT;

	str_add(&name, "u6/ws");
	for (int i = 0; i < 490; i++)
		str_add(&name, "/d");
	str_add(&name, "/file");
	put(str_cstr(&name), "");
	struct change_scan done = scan("u6", NULL);

	tap_ok(!done.is_partial && is_tally(&done.inside, 1, 0, 0),
	       "a tree as deep as one that is promoted is counted");
	name.len -= strlen("/file");
	for (int i = 0; i < 20; i++)
		str_add(&name, "/d");
	scratch_mkdir(&scratch, str_cstr(&name));
	tap_ok(scan("u6", NULL).is_partial, "a tree too deep is told, not followed");
}

/* A repository can hold links to anywhere; the payload puts directories in their places. */
static void test_links_of_the_host(void)
{
	owned(strv_done) struct strv list = STRV_INIT;

	put("elsewhere/a", "");
	put("elsewhere/sub/b", "");
	put("host/ws/same", "two");
	put_link("../../elsewhere", "host/ws/out");
	put_link(".", "host/ws/circle");
	put("u7/ws/out/x", "");
	put("u7/ws/out/sub/b", "");
	put("u7/ws/circle/circle/same", "two");
	(void)mark("u7/ws/out", "user.overlay.opaque", "y");
	struct change_scan done = scan("u7", &list);

	tap_ok(is_tally(&done.inside, 3, 0, 2), "a link in the host's tree is not followed");
	tap_ok(strv_has(&list, "D\tout") && strv_has(&list, "D\tcircle"),
	       "the link itself is what was deleted");
	tap_ok(strv_has(&list, "A\tcircle/circle/same"), "nothing is compared behind it");
	tap_ok(!done.is_partial, "and nothing is missing");
}

static void test_link_to_lower(void)
{
	owned(free_ptr) char *lower = scratch_path(&scratch, "by-link");

	put_link("host", "by-link");
	struct change_scan done = scan_on("u0", lower, NULL);

	tap_ok(done.is_partial, "a lower that became a link is not entered, and this is told");
	owned(free_ptr) char *none = scratch_path(&scratch, "none");

	tap_ok(!scan_on("u0", none, NULL).is_partial,
	       "below one that is not there, nothing is left out");
}

static void test_mounts(void)
{
	owned(fd_close) int root = lower_open_root("/");
	owned(fd_close) int inner = lower_open_directory(root, "proc");
	owned(fd_close) int above = lower_open_directory(root, "..");
	owned(fd_close) int place = lower_open_root("/proc");

	tap_ok(root >= 0 && inner < 0, "a mount in the host's tree is not entered");
	tap_ok(above < 0, "nor what lies above it");
	tap_ok(place >= 0, "but a layer may lie on a mount");
}

static void test_bounds(void)
{
	struct change_scan late = scan_from("u0", (struct change_scan){ .until_ns = 1 });
	struct change_scan tired = scan_from("u0", (struct change_scan){ .compared = 256u << 20 });

	tap_ok(late.is_partial && is_tally(&late.inside, 0, 0, 0),
	       "when the time is over nothing more is looked at, and this is told");
	tap_ok(is_tally(&tired.inside, 4, 3, 0), "what is too much to compare counts as modified");
	tap_ok(!tired.is_partial, "which leaves nothing out");
}

/* As the kernel leaves a renamed directory, with what was in its place before removed. */
static void test_moved(void)
{
	owned(strv_done) struct strv list = STRV_INIT;
	static const char *const want[] = { "D\tfrom/changed", "D\tfrom/sub/kept", "D\tto/old",
					    "A\tto/changed", "A\tto/sub/kept" };
	bool has_all = true;

	put("host/ws/from/changed", "one");
	put("host/ws/from/sub/kept", "");
	put("host/ws/to/old", "");
	put("u8/ws/to/changed", "ONE");
	if (!mark("u8/ws/to", "trusted.overlay.redirect", "/ws/from") ||
	    !put_whiteout("u8/ws/from")) {
		tap_skip(4, "attributes of the kernel's own cannot be set here");
		return;
	}
	struct change_scan done = scan_from("u8", (struct change_scan){ .list = &list });

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		has_all = has_all && strv_has(&list, want[i]);
	tap_ok(has_all && is_tally(&done.inside, 2, 0, 3), "a renamed directory moves its files");
	(void)mark("u8/ws/to", "trusted.overlay.redirect", "from");
	done = scan_from("u8", (struct change_scan){ 0 });
	tap_ok(is_tally(&done.inside, 2, 0, 3), "also when it was renamed beside itself");
	(void)mark("u8/ws/to", "trusted.overlay.redirect", "/ws/circle/from");
	done = scan_from("u8", (struct change_scan){ 0 });
	tap_ok(is_tally(&done.inside, 1, 0, 3), "no link leads to where it came from");
	(void)mark("u8/ws/to", "trusted.overlay.redirect", "/ws/../../elsewhere");
	done = scan_from("u8", (struct change_scan){ 0 });
	tap_ok(is_tally(&done.inside, 1, 0, 3), "nor a way out of the tree");
}

int main(void)
{
	scratch_open(&scratch);
	workspace = scratch_path(&scratch, "host/ws");
	test_files();
	test_outside();
	test_deletions();
	test_opaque();
	test_forged_redirect();
	test_kinds();
	test_depth();
	test_links_of_the_host();
	test_link_to_lower();
	test_mounts();
	test_bounds();
	test_moved();
	free(workspace);
	scratch_close(&scratch);
	return tap_done();
}
