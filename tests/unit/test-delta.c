/* SPDX-License-Identifier: Apache-2.0 */
/* Deltas: layers made by hand against a base. */
#include "tests/unit/layers_delta.h"

static const struct delta_options plain = { 0 }, expand = { .expand = true },
				  renames = { .renames = true },
				  expand_renames = { .expand = true, .renames = true };

static void test_simple(bool user)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, user);
	layers_put(&l, 1, "same", "one");
	layers_put(&l, 1, "edited", "one");
	layers_put(&l, 1, "gone", "one");
	layers_put(&l, 1, "dir/keep", "one");
	layers_put(&l, 1, "dir/old", "one");
	layers_put(&l, 1, "rm/a/b", "one");
	layers_is(&l, plain, "", "nothing written, nothing changed");
	layers_put(&l, 0, "same", "one");
	layers_put(&l, 0, "edited", "two");
	layers_put(&l, 0, "new", "two");
	layers_white(&l, 0, "gone");
	layers_white(&l, 0, "never");
	layers_put(&l, 0, "dir/new", "x");
	layers_white(&l, 0, "rm");
	layers_is(&l, plain, "A dir/new; M edited content; D gone; A new; D rm/a/b", "files");
	layers_is(&l, expand, "A dir/new; M edited content; D gone; A new; D rm; D rm/a; D rm/a/b",
		  "with directories");
	layers_mark(&l, 0, "dir", "opaque", "y");
	layers_is(&l, plain,
		  "D dir/keep; A dir/new; D dir/old; M edited content; D gone; A new; D rm/a/b",
		  "an opaque directory hides what was in it");
}

static void test_marks(bool user)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, user);
	layers_put(&l, 1, "a", "one");
	layers_put(&l, 1, "b", "one");
	layers_put(&l, 0, "a", "");
	layers_mark(&l, 0, "a", "whiteout", "");
	layers_put(&l, 0, "b", "one");
	layers_mark(&l, 0, "b", "whiteout", "");
	layers_is(&l, plain, "D a", "an empty file with the mark is a whiteout, another is not");
	layers_put(&l, 1, "c", "");
	layers_put(&l, 0, "c", "");
	layers_mark(&l, 0, "c", "overlay.opaque", "y");
	layers_mark(&l, 0, "c", "origin", "x");
	layers_is(&l, plain, "D a; M c xattr",
		  "what the payload set is seen, what the kernel set is not");
	owned(delta_done) struct delta delta = layers_delta(&l, plain);
	owned(xattr_list_done) struct xattr_list list = { 0 };
	struct error err = { 0 };

	tap_is_int(delta_xattrs(&l.stack, &delta.items[1].new, &list, &err), 0, "attributes read");
	tap_is_int((long long)list.count, 1, "one of them");
	tap_is_str(list.count ? list.items[0].name : "",
		   user ? "user.overlay.opaque" : "trusted.overlay.opaque", "unescaped");
}

static void set_mode(const struct layers *l, size_t layer, const char *name, mode_t mode)
{
	owned(free_ptr) char *path = layers_path(l, layer, name);

	if (chmod(path, mode) < 0)
		tap_bail("cannot change a mode");
}

static void test_aspects(bool user)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, user);
	for (size_t layer = 0; layer < 2; layer++) {
		layers_put(&l, layer, "mode", "x");
		layers_put(&l, layer, "attribute", "x");
		layers_put(&l, layer, "times", "x");
		layers_mkdir(&l, layer, "dir");
		layers_link(&l, layer, "link", layer ? "old" : "new");
		layers_link(&l, layer, "same", "target");
	}
	set_mode(&l, 0, "mode", 04755);
	set_mode(&l, 0, "dir", 0700);
	owned(free_ptr) char *path = layers_path(&l, 0, "attribute");
	struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };
	owned(free_ptr) char *touched = layers_path(&l, 0, "times");

	(void)setxattr(path, "user.mine", "1", 1, 0);
	(void)utimensat(AT_FDCWD, touched, times, 0);
	layers_is(&l, plain, "M attribute xattr; M dir mode; M link content; M mode mode",
		  "each aspect by itself");
	owned(delta_done) struct delta delta =
		layers_delta(&l, (struct delta_options){ .mtime = true });

	tap_ok(delta.count > 4 && delta.items[delta.count - 1].aspects == ASPECT_MTIME,
	       "times alone when they are asked for");
	tap_ok(delta.items[3].flags & FLAG_SETID, "setuid gained is flagged");
	tap_is_str(delta.items[2].new.link, "new", "a link's target is told");
}

/* Types of 13.7 that a plain user can make; "opaque" is a directory that hides. */
static const char *const types[] = { "absent", "file", "dir",	 "opaque",
				     "link",   "fifo", "socket", "device" };

static void make_type(const struct layers *l, size_t layer, const char *name, const char *type)
{
	owned(free_ptr) char *path = layers_path(l, layer, name);
	owned(free_ptr) char *child = xasprintf("%s/%s", name, layer ? "old" : "new");

	if (strcmp(type, "file") == 0)
		layers_put(l, layer, name, layer ? "old" : "new");
	else if (strcmp(type, "dir") == 0 || strcmp(type, "opaque") == 0)
		layers_put(l, layer, child, "x");
	else if (strcmp(type, "link") == 0)
		layers_link(l, layer, name, layer ? "old" : "new");
	else if (strcmp(type, "fifo") == 0)
		(void)mkfifo(path, 0644);
	else if (strcmp(type, "socket") == 0)
		(void)mknod(path, S_IFSOCK | 0644, 0);
	else if (strcmp(type, "device") == 0)
		(void)mknod(path, S_IFCHR | 0644, makedev(1, layer ? 3 : 5));
	else if (layer == 0)
		layers_white(l, layer, name);
	if (strcmp(type, "opaque") == 0 && layer == 0)
		layers_mark(l, layer, name, "opaque", "y");
}

static bool is_dir_type(const char *type)
{
	return strcmp(type, "dir") == 0 || strcmp(type, "opaque") == 0;
}

/* What a delta with directories should say of a path that was OLD and is NEW. */
static char *expected(const char *old, const char *new)
{
	struct str text = STR_INIT;
	bool is_there = strcmp(new, "absent") != 0, was_there = strcmp(old, "absent") != 0;

	if (is_dir_type(old) && is_dir_type(new)) {
		str_add(&text, "A x/new");
		if (strcmp(new, "opaque") == 0)
			str_add(&text, "; D x/old");
		return str_detach(&text);
	}
	if (is_there && was_there && strcmp(old, new) == 0 && *old != 's' &&
	    strcmp(old, "fifo") != 0)
		str_add(&text, "M x content");
	else if (is_there && was_there && strcmp(old, new) != 0)
		str_add(&text, "T x type");
	else if (is_there != was_there)
		str_add(&text, is_there ? "A x" : "D x");
	if (is_dir_type(new))
		str_add(&text, "; A x/new");
	if (is_dir_type(old))
		str_add(&text, "; D x/old");
	return str_detach(&text);
}

static bool may_make_devices(void)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, true);
	owned(free_ptr) char *path = layers_path(&l, 0, "null");

	return mknod(path, S_IFCHR | 0600, makedev(1, 3)) == 0;
}

static void test_matrix(bool user)
{
	size_t count = sizeof(types) / sizeof(types[0]) - !may_make_devices(), good = 0;

	for (size_t old = 0; old < count; old++) {
		for (size_t new = 0; new < count; new ++) {
			owned(layers_close) struct layers l;
			owned(free_ptr) char *want = expected(types[old], types[new]);

			layers_open(&l, 1, user);
			make_type(&l, 1, "x", types[old]);
			make_type(&l, 0, "x", types[new]);
			owned(delta_done) struct delta delta = layers_delta(&l, expand);
			owned(free_ptr) char *got = layers_shown(&l, &delta);

			if (strcmp(got, want) == 0)
				good++;
			else
				printf("# %s to %s: %s, not %s\n", types[old], types[new], got,
				       want);
		}
	}
	tap_is_int((long long)good, (long long)(count * count), "every type to every type");
}

static void test_snapshots(bool user)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 3, user);
	layers_put(&l, 3, "a", "0");
	layers_put(&l, 3, "d/x", "0");
	layers_put(&l, 2, "a", "1");
	layers_put(&l, 2, "b", "1");
	layers_white(&l, 2, "d");
	layers_white(&l, 1, "b");
	layers_put(&l, 1, "d/y", "2");
	layers_mark(&l, 1, "d", "opaque", "y");
	layers_put(&l, 0, "a", "0");
	layers_put(&l, 0, "d/x", "0");
	layers_is(&l, plain, "A d/y", "all against the host: what came back is no change");
	layers_is(&l, (struct delta_options){ .new_from = 2, .old_from = 3 },
		  "M a content; A b; D d/x", "the first snapshot against the host");
	layers_is(&l, (struct delta_options){ .new_from = 1, .old_from = 2 }, "D b; A d/y",
		  "the second against the first");
	layers_is(&l, (struct delta_options){ .old_from = 2, .expand = true },
		  "M a content; D b; A d; A d/x; A d/y", "the present against the first");
	layers_is(&l, (struct delta_options){ .new_from = 2, .old_from = 2 }, "",
		  "a point against itself");
	struct delta delta = { 0 };
	struct error err = { 0 };

	tap_ok(delta_read(&l.stack, &(struct delta_options){ .new_from = 2, .old_from = 1 }, &delta,
			  &err) < 0,
	       "points in the wrong order are refused");
}

static void test_redirects(void)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, false);
	layers_put(&l, 1, "old/a", "0");
	layers_put(&l, 1, "old/b", "1");
	layers_put(&l, 1, "old/sub/c", "22");
	layers_white(&l, 0, "old");
	layers_put(&l, 0, "p/new/a", "changed");
	layers_white(&l, 0, "p/new/b");
	layers_mark(&l, 0, "p", "opaque", "y");
	layers_mark(&l, 0, "p/new", "redirect", "/old");
	layers_is(&l, expand_renames, "D old/b; A p; R p/new path < old; M p/new/a content",
		  "a renamed directory with changes in it");
	layers_is(&l, plain, "D old/a; D old/b; D old/sub/c; A p/new/a; A p/new/sub/c",
		  "the same without looking for renames");
	layers_is(&l, renames, "D old/b; R p/new path < old; M p/new/a content", "files only");
	layers_mark(&l, 0, "p/new", "redirect", "old");
	layers_is(&l, plain, "D old/a; D old/b; D old/sub/c; A p/new/a",
		  "a relative one stands for a name beside it");
}

static void test_file_renames(bool user)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, user);
	layers_put(&l, 1, "a", "content one");
	layers_put(&l, 1, "b", "content two");
	layers_put(&l, 1, "c", "content two");
	layers_put(&l, 1, "e", "");
	layers_white(&l, 0, "a");
	layers_white(&l, 0, "b");
	layers_white(&l, 0, "c");
	layers_white(&l, 0, "e");
	layers_put(&l, 0, "d/a", "content one");
	layers_put(&l, 0, "d/b", "content two");
	layers_put(&l, 0, "d/e", "");
	layers_put(&l, 0, "f", "content xxx");
	set_mode(&l, 0, "d/b", 0755);
	layers_is(&l, renames, "D c; R d/a path < a; R d/b mode path < b; A d/e; D e; A f",
		  "equal contents are joined, empty files are not");
	layers_is(&l, plain, "D a; D b; D c; A d/a; A d/b; A d/e; D e; A f", "unless nobody asked");
	owned(delta_done) struct delta delta = layers_delta(&l, renames);

	tap_is_int((long long)delta.modified, 2, "renames count as modified");
	tap_is_int((long long)delta.added, 2, "and not as added");
	tap_is_int((long long)delta.deleted, 2, "or deleted");
}

static void test_flags(bool user)
{
	owned(layers_close) struct layers l;
	static const struct {
		const char *path, *target;
		bool is_out;
	} links[] = {
		{ "ws/l1", "inside", false },	    { "ws/l2", "../outside", true },
		{ "ws/d/l3", "../inside", false },  { "ws/d/l4", "../../outside", true },
		{ "ws/l5", "/etc/passwd", true },   { "ws/l6", "d/../../outside", true },
		{ "ws/d/e/l7", "../../x", false },  { "ws/l8", "./././d", false },
		{ "ws/d/l9", "./../../out", true },
	};
	size_t good = 0, count = sizeof(links) / sizeof(links[0]);

	layers_open(&l, 1, user);
	owned(free_ptr) char *workspace = xasprintf("%s/ws", l.base);
	struct delta_options options = { .workspace = workspace };

	for (size_t i = 0; i < count; i++)
		layers_link(&l, 0, links[i].path, links[i].target);
	layers_put(&l, 0, "wsx/beside", "x");
	layers_put(&l, 0, "ws/.git/hooks/pre-commit", "x");
	owned(delta_done) struct delta delta = layers_delta(&l, options);

	for (size_t i = 0; i < delta.count; i++) {
		const struct delta_entry *entry = &delta.items[i];
		const char *name = entry->path + strlen(l.base) + 1;

		for (size_t j = 0; j < count; j++)
			if (strcmp(name, links[j].path) == 0)
				good += !(entry->flags & FLAG_LINK_OUT) != links[j].is_out;
		if (strcmp(name, "ws/.git/hooks/pre-commit") == 0)
			tap_ok(entry->flags & FLAG_TRIGGER, "a hook is flagged");
	}
	tap_is_int((long long)good, (long long)count, "links that lead out, and others");
	tap_is_int((long long)delta.added, (long long)count + 1, "counted in the workspace");
	tap_is_int((long long)delta.added_outside, 0, "below /tmp nothing else counts");
	options.only_workspace = true;
	owned(delta_done) struct delta inside = layers_delta(&l, options);

	tap_is_int((long long)inside.count, (long long)count + 1, "the workspace only");
}

static void test_links(bool user)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, user);
	layers_put(&l, 1, "one", "old");
	owned(free_ptr) char *one = layers_path(&l, 1, "one"), *other = layers_path(&l, 1, "other");

	layers_put(&l, 0, "one", "new");
	layers_put(&l, 0, "x", "both");
	owned(free_ptr) char *x = layers_path(&l, 0, "x"), *y = layers_path(&l, 0, "y");

	if (link(one, other) < 0 || link(x, y) < 0)
		tap_bail("cannot link");
	owned(delta_done) struct delta delta = layers_delta(&l, plain);

	tap_ok(delta.count == 3 && delta.items[0].flags == FLAG_HARDLINK_BROKEN,
	       "a file that keeps its content under another name is flagged");
	tap_ok(delta.count == 3 &&
		       delta.items[1].new.st.st_ino ==
			       delta.items[2].new.st.st_ino &&delta.items[1].new.st.st_nlink == 2,
	       "names of one new file are known by its numbers");
}

/* What only root can set. */
static void test_privilege(void)
{
	static const unsigned char capability[] = { 1, 0, 0, 2, 0, 32, 0, 0, 0, 0,
						    0, 0, 0, 0, 0, 0,  0, 0, 0, 0 };
	owned(layers_close) struct layers l;

	layers_open(&l, 1, false);
	for (size_t layer = 0; layer < 2; layer++) {
		layers_put(&l, layer, "caps", "x");
		layers_put(&l, layer, "owner", "x");
	}
	owned(free_ptr) char *caps = layers_path(&l, 0, "caps"),
			     *owner = layers_path(&l, 0, "owner");

	if (chown(owner, 54321, 54321) < 0 ||
	    setxattr(caps, "security.capability", capability, sizeof(capability), 0) < 0) {
		tap_skip(2, "cannot give files away, or capabilities to them");
		return;
	}
	layers_is(&l, plain, "M caps xattr; M owner owner", "owner and capabilities");
	owned(delta_done) struct delta delta = layers_delta(&l, plain);

	tap_ok(delta.count == 2 && delta.items[0].flags == FLAG_CAPABILITY &&
		       delta.items[1].flags == 0,
	       "capabilities are flagged");
}

static void test_both(void (*test)(bool user))
{
	test(true);
	if (geteuid() == 0)
		test(false);
}

int main(void)
{
	(void)umask(022);
	test_both(test_simple);
	test_both(test_marks);
	test_both(test_aspects);
	test_both(test_matrix);
	test_both(test_snapshots);
	test_both(test_file_renames);
	test_both(test_flags);
	test_both(test_links);
	if (geteuid() == 0) {
		test_redirects();
		test_privilege();
	} else {
		tap_skip(6, "trusted attributes and owners need root");
	}
	return tap_done();
}
