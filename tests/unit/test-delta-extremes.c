/* SPDX-License-Identifier: Apache-2.0 */
/* Deltas of what a hostile payload leaves: depth, width, sizes, names; and units below units. */
#include "tests/unit/layers_delta.h"

#include <sys/resource.h>

#define DEPTH_USUAL 2100 /* no path of the kernel's is that long */
#define DEPTH_LONG 5000

static const struct delta_options plain = { 0 }, expand = { .expand = true };

static int depth(void)
{
	return (int)tap_size(DEPTH_USUAL, DEPTH_USUAL, DEPTH_LONG);
}

/* Nested directories "d", each with an empty "z" beside the next; a file at the bottom. */
static void make_deep(const struct layers *l, size_t layer)
{
	owned(free_ptr) char *path = layers_path(l, layer, "");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < depth() && fd >= 0; i++) {
		int above = fd;

		(void)mkdirat(fd, "d", 0755);
		(void)mkdirat(fd, "z", 0755);
		fd = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(above);
	}
	owned(fd_close) int leaf = openat(fd, "leaf", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (leaf < 0 || write(leaf, "deep", 4) != 4)
		tap_bail("cannot make a deep tree");
	(void)close(fd);
}

/* nftw would need a path for each. */
static void remove_deep(const struct layers *l, size_t layer)
{
	owned(free_ptr) char *path = layers_path(l, layer, "");
	owned(fd_close) int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int levels = 0;

	if (chdir(path) < 0)
		return;
	while (chdir("d") == 0)
		levels++;
	(void)unlink("leaf");
	while (levels-- > 0 && chdir("..") == 0) {
		(void)rmdir("d");
		(void)rmdir("z");
	}
	if (fchdir(here) < 0)
		tap_bail("cannot go back");
}

static void test_deep(void)
{
	owned(layers_close) struct layers l;
	struct rlimit before, few;
	struct error err = { 0 };
	char text[8] = "";

	layers_open(&l, 1, true);
	make_deep(&l, 0);
	(void)getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 100;
	(void)setrlimit(RLIMIT_NOFILE, &few);
	owned(delta_done) struct delta delta = layers_delta(&l, plain);

	tap_ok(delta.count == 1 && !delta.is_partial && delta.items[0].op == DELTA_ADDED &&
		       strlen(delta.items[0].path) > (size_t)depth() * 2,
	       "%d directories deep, with 100 descriptors", depth());
	owned(fd_close) int fd = delta_open_side(&l.stack, &delta.items[0].new);

	tap_ok(fd >= 0 && read(fd, text, 4) == 4 && strcmp(text, "deep") == 0,
	       "what lies there can be read");
	owned(xattr_list_done) struct xattr_list list = { 0 };

	tap_is_int(delta_xattrs(&l.stack, &delta.items[0].new, &list, &err), 0,
		   "and its attributes");
	make_deep(&l, 1);
	owned(delta_done) struct delta same = layers_delta(&l, expand);

	tap_ok(same.count == 0 && !same.is_partial, "the same in the base: no change");
	remove_deep(&l, 0);
	layers_white(&l, 0, "d");
	owned(delta_done) struct delta gone = layers_delta(&l, plain);

	tap_ok(gone.count == 1 && !gone.is_partial && gone.items[0].op == DELTA_DELETED,
	       "all of it removed");
	(void)setrlimit(RLIMIT_NOFILE, &before);
	remove_deep(&l, 1);
}

static void test_wide(void)
{
	int count = (int)tap_size(3000, 3000, 10000);
	owned(layers_close) struct layers l;

	layers_open(&l, 2, true);
	for (int i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "d/%d", i);
		layers_put(&l, (size_t)(i % 2), name, "x");
	}
	owned(delta_done) struct delta delta = layers_delta(&l, plain);

	tap_is_int((long long)delta.count, count, "%d names in one directory, of two layers",
		   count);
	bool is_sorted = true;

	for (size_t i = 1; i < delta.count; i++)
		is_sorted &= strcmp(delta.items[i - 1].path, delta.items[i].path) < 0;
	tap_ok(is_sorted, "sorted");
	owned(delta_done) struct delta some =
		layers_delta(&l, (struct delta_options){ .entries_max = 100 });

	tap_ok(some.is_partial && some.count <= 100, "no more than was allowed, and that is said");
	owned(delta_done) struct delta none =
		layers_delta(&l, (struct delta_options){ .until_ns = 1 });

	tap_ok(none.is_partial && none.count < 100, "no time, no entries");
}

/* Whiteouts of what never was cost a payload nothing: they are no changes, and hide none. */
static void test_whiteouts(void)
{
	unsigned count = tap_size(2000, 5000, 200000);
	owned(layers_close) struct layers l;

	layers_open(&l, 1, true);
	layers_put(&l, 1, "d/there", "x");
	layers_put(&l, 0, "d/new", "x");
	layers_white(&l, 0, "d/there");
	for (unsigned i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "d/%u", i);
		layers_white(&l, 0, name);
	}
	owned(delta_done) struct delta delta = layers_delta(&l, plain);
	owned(free_ptr) char *got = layers_shown(&l, &delta);

	tap_is_str(got, "A d/new; D d/there", "%u whiteouts of nothing", count);
	tap_ok(!delta.is_partial, "and all of them were looked at");
}

static void put_sparse(const struct layers *l, size_t layer, const char *name, const char *text)
{
	owned(free_ptr) char *path = layers_path(l, layer, name);
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	off_t size = (off_t)1 << 40;

	if (fd < 0 || ftruncate(fd, size) < 0 ||
	    pwrite(fd, text, strlen(text), size / 2) != (ssize_t)strlen(text))
		tap_bail("cannot make a sparse file");
}

static void test_sparse(void)
{
	owned(layers_close) struct layers l;
	struct delta_options little = { .compare_max = 4u << 20 };

	layers_open(&l, 1, true);
	for (size_t layer = 0; layer < 2; layer++) {
		put_sparse(&l, layer, "same", "x");
		put_sparse(&l, layer, "other", layer ? "x" : "y");
	}
	owned(delta_done) struct delta delta = layers_delta(&l, little);
	owned(free_ptr) char *got = layers_shown(&l, &delta);

	tap_is_str(got, "M other content", "a terabyte of nothing is not read");
	tap_ok(delta.count == 1 && !(delta.items[0].flags & FLAG_TOO_LARGE),
	       "and compared to the end");
	little.compare_max = 1000;
	owned(delta_done) struct delta large = layers_delta(&l, little);

	tap_ok(large.count == 2 && (large.items[0].flags & large.items[1].flags & FLAG_TOO_LARGE),
	       "what may not be compared counts as changed, flagged");
}

static void test_names(void)
{
	static const char *const names[] = { "new\nline", "\xff\xfe", " ",  "-rf",
					     "a\\b",	  "\x1b[2J",  "\"", "*" };
	size_t count = sizeof(names) / sizeof(names[0]), good = 0;
	char longest[256];
	owned(layers_close) struct layers l;

	memset(longest, 'n', 255);
	longest[255] = '\0';
	layers_open(&l, 1, true);
	for (size_t i = 0; i < count; i++)
		layers_put(&l, 0, names[i], "x");
	layers_put(&l, 0, longest, "x");
	owned(delta_done) struct delta delta = layers_delta(&l, plain);

	for (size_t i = 0; i < delta.count; i++) {
		const char *name = delta.items[i].path + strlen(l.base) + 1;
		owned(fd_close) int fd = delta_open_side(&l.stack, &delta.items[i].new);

		good += fd >= 0 && strcmp(name, longest) == 0;
		for (size_t j = 0; j < count; j++)
			good += fd >= 0 && strcmp(name, names[j]) == 0;
	}
	tap_is_int((long long)good, (long long)count + 1, "names of any bytes, and the longest");
}

/* A second unit below the first: what the first has at its place is covered. */
static void test_units(void)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, true);
	layers_put(&l, 1, "home/f", "0");
	layers_put(&l, 1, "f", "0");
	layers_put(&l, 0, "f", "1");
	layers_put(&l, 0, "home/covered", "1");
	layers_white(&l, 0, "home/f");
	l.units.items = xrealloc(l.units.items, 2, sizeof(struct layer_unit));
	l.units.items[1] = l.units.items[0];
	struct layer_unit *home = &l.units.items[0];

	home->path = xasprintf("%s/home", l.base);
	layer_unit_name(home->path, home->name);
	l.units.count = 2;
	owned(free_ptr) char *below = xasprintf("l0/%s/g", home->name);

	free(scratch_write(&l.scratch, below, "1"));
	layers_is(&l, plain, "M f content; A home/g", "each unit has its own");
	owned(free_ptr) char *path = xasprintf("%s/home/f", l.base);
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };
	struct error err = { 0 };

	tap_ok(view_lookup(&l.stack, 0, path, &object, &err) == 0 && object.kind == VIEW_BASE,
	       "and a whiteout of the outer one hides nothing of the inner");
	l.units.count = 1;
	layers_is(&l, plain, "A home/g", "without the outer one the inner is all there is");
	free(home->path);
	l.units.items[0] = l.units.items[1];
}

int main(void)
{
	(void)umask(022);
	test_names();
	test_units();
	test_sparse();
	test_wide();
	test_whiteouts();
	test_deep();
	return tap_done();
}
