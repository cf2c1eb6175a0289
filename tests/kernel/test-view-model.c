/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories over real overlay mounts: what the kernel shows, what view says, and a plain copy that had the same
 * done to it are the same; and a delta between any two points, applied to a copy of the older, gives the newer.
 *
 * AISBX_SEED=N runs that one and says what it does; AISBX_COUNT=N runs so many.
 */
#include "tests/kernel/model_apply.h"
#include "tests/kernel/model_copy.h"
#include "tests/kernel/model_view.h"
#include "tests/tap.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#define LAYERS 4
#define OPERATIONS 16

struct model {
	char dir[64];	    /* a tmpfs of its own */
	unsigned long seed; /* state of the generator */
	bool user_xattr, is_talking;
	unsigned layers;
	char *masked; /* path of the base that nobody may see, or NULL */
};

static unsigned pick(struct model *model, unsigned below)
{
	model->seed = model->seed * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(model->seed >> 33) % below;
}

static char *at(const struct model *model, const char *tree, const char *path)
{
	return xasprintf("%s/%s%s%s", model->dir, tree, *path ? "/" : "", path);
}

/* A path of few names, so that they meet often. */
static void pick_path(struct model *model, char ret_path[static 32])
{
	static const char names[] = "abcde";
	unsigned depth = 1 + pick(model, 3);
	size_t len = 0;

	for (unsigned i = 0; i < depth; i++) {
		if (i)
			ret_path[len++] = '/';
		ret_path[len++] = names[pick(model, 5)];
	}
	ret_path[len] = '\0';
}

/* Mostly one that is there: what is done to nothing teaches nothing. */
static void pick_present(struct model *model, const char *tree, char ret_path[static 32])
{
	owned(free_ptr) char *root = at(model, tree, "");
	owned(strv_done) struct strv paths = STRV_INIT;

	tree_list(root, "", &paths);
	pick_path(model, ret_path);
	if (paths.count > 0 && pick(model, 4) > 0) {
		const char *path = paths.items[pick(model, (unsigned)paths.count)];

		if (strlen(path) < 32)
			memcpy(ret_path, path, strlen(path) + 1);
	}
}

static int write_file(const char *path, const char *text, int flags)
{
	owned(fd_close) int fd =
		open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0644);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static int remove_all(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -1;
	tree_remove(path);
	return 0;
}

enum operation {
	OP_CREATE,
	OP_APPEND,
	OP_TRUNCATE,
	OP_MKDIR,
	OP_RMDIR,
	OP_UNLINK,
	OP_RENAME,
	OP_RENAME_AGAIN, /* twice as often */
	OP_EXCHANGE,
	OP_SYMLINK,
	OP_CHMOD,
	OP_XATTR,
	OP_LINK,
	OP_FIFO,
	OP_REMOVE_ALL,
	OP_TOUCH,
	OP_COUNT,
};

/* Does one operation in one tree; 0 or -1. */
static int operate(enum operation op, const char *path, const char *other, unsigned value)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "v%u", value);
	switch (op) {
	case OP_CREATE:
		return write_file(path, text, O_CREAT | O_TRUNC);
	case OP_APPEND:
		return write_file(path, text, O_APPEND);
	case OP_TRUNCATE:
		return truncate(path, value % 3);
	case OP_MKDIR:
		return mkdir(path, 0755);
	case OP_RMDIR:
		return rmdir(path);
	case OP_UNLINK:
		return unlink(path);
	case OP_RENAME:
	case OP_RENAME_AGAIN:
		return rename(path, other);
	case OP_EXCHANGE:
		return (int)syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other,
				    1 << 1 /* RENAME_EXCHANGE */);
	case OP_SYMLINK:
		return symlink(text, path);
	case OP_CHMOD:
		return fchmodat(AT_FDCWD, path, 0700 | (value & 077), AT_SYMLINK_NOFOLLOW);
	case OP_XATTR:
		return value % 3 ? lsetxattr(path, MODEL_XATTR, text, strlen(text), 0)
				 : lremovexattr(path, MODEL_XATTR);
	case OP_LINK:
		return link(path, other);
	case OP_FIFO:
		return mkfifo(path, 0644);
	case OP_REMOVE_ALL:
		return remove_all(path);
	case OP_TOUCH:
		return utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
	case OP_COUNT:
		break;
	}
	return -1;
}

/* A random operation in the first tree, and if that took it in the second. False when they disagree. */
static bool operate_both(struct model *model, const char *tree, const char *copy)
{
	enum operation op = (enum operation)pick(model, OP_COUNT);
	char path[32], other[32];
	unsigned value = pick(model, 40);

	if (op == OP_CREATE || op == OP_MKDIR || op == OP_SYMLINK || op == OP_FIFO)
		pick_path(model, path);
	else
		pick_present(model, copy, path);
	/* Else little would be left to do things to. */
	if (op == OP_REMOVE_ALL && strchr(path, '/') == NULL && pick(model, 3) > 0)
		op = OP_CHMOD;
	pick_path(model, other);
	owned(free_ptr) char *path_1 = at(model, tree, path), *other_1 = at(model, tree, other);
	owned(free_ptr) char *path_2 = at(model, copy, path), *other_2 = at(model, copy, other);
	int status = operate(op, path_1, other_1, value);

	if (status == 0 && model->is_talking)
		printf("# op %d %s %s %u\n", (int)op, path, other, value);
	return status < 0 || operate(op, path_2, other_2, value) == 0;
}

/* Layer NUMBER on those before it; below all the base. */
static bool mount_layers(const struct model *model, unsigned count, bool is_writable)
{
	owned(str_done) struct str options = STR_INIT;
	owned(free_ptr) char *target = at(model, "merged", "");
	char top[32];

	str_add(&options, "lowerdir=");
	for (unsigned i = count; i > 0; i--) {
		(void)snprintf(top, sizeof(top), "layer%u/unit", i - 1);
		owned(free_ptr) char *lower = at(model, top, "");

		str_addf(&options, "%s:", lower);
	}
	if (model->masked)
		str_addf(&options, "%s/mask:", model->dir);
	str_addf(&options, "%s/base,index=off,metacopy=off,xino=off,%s", model->dir,
		 model->user_xattr ? "userxattr" : "redirect_dir=on");
	if (is_writable)
		str_addf(&options, ",upperdir=%s/layer%u/unit,workdir=%s/work%u", model->dir, count,
			 model->dir, count);
	return mount("overlay", target, "overlay", is_writable ? 0 : MS_RDONLY, options.data) == 0;
}

static void unmount(const struct model *model)
{
	owned(free_ptr) char *target = at(model, "merged", "");

	if (umount2(target, 0) < 0)
		(void)umount2(target, MNT_DETACH);
}

static void make_dir(const struct model *model, const char *name)
{
	owned(free_ptr) char *path = at(model, name, "");

	if (mkdir(path, 0755) < 0)
		abort();
}

/* Layer NUMBER: random work in the mounted tree, and in the copy that becomes "pointN+1". */
static bool make_layer(struct model *model, unsigned number)
{
	char name[32], before[32];
	bool good = true;

	(void)snprintf(before, sizeof(before), "point%u", number);
	(void)snprintf(name, sizeof(name), "layer%u", number);
	make_dir(model, name);
	(void)snprintf(name, sizeof(name), "layer%u/unit", number);
	make_dir(model, name);
	(void)snprintf(name, sizeof(name), "work%u", number);
	make_dir(model, name);
	(void)snprintf(name, sizeof(name), "point%u", number + 1);
	owned(free_ptr) char *from = at(model, before, ""), *to = at(model, name, "");

	tree_copy(from, to);
	if (!mount_layers(model, number, true))
		return false;
	for (unsigned i = 0; i < OPERATIONS && good; i++)
		good = operate_both(model, "merged", name);
	unmount(model);
	part_links(to);
	return good;
}

static void make_base(struct model *model)
{
	make_dir(model, "base");
	for (unsigned i = 0; i < 50; i++) {
		char path[32];

		pick_path(model, path);
		owned(free_ptr) char *full = at(model, "base", path);
		unsigned kind = pick(model, 8), value = pick(model, 40);

		(void)operate(kind < 3	 ? OP_CREATE
			      : kind < 7 ? OP_MKDIR
					 : OP_SYMLINK,
			      full, "", value);
	}
	owned(free_ptr) char *base = at(model, "base", ""), *point = at(model, "point0", "");

	tree_copy(base, point);
}

/* Hides something of the base, as masks do it: by a whiteout in a layer right above. */
static void make_mask(struct model *model)
{
	char path[32];

	pick_present(model, "point0", path);
	owned(free_ptr) char *hidden = at(model, "point0", path), *white = at(model, "mask", path);
	struct stat st;

	if (lstat(hidden, &st) < 0)
		return;
	tree_remove(hidden);
	make_dir(model, "mask");
	for (char *slash = white + strlen(model->dir) + 6; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(white, 0755);
		*slash = '/';
	}
	if (mknod(white, S_IFCHR, 0) < 0)
		abort();
	model->masked = at(model, "base", path);
}

static bool shows(const char *path, void *cookie)
{
	const struct model *model = cookie;

	return !model->masked || strcmp(path, model->masked) != 0;
}

static bool is_same(const char *one, const char *other, const char *what)
{
	owned(free_ptr) char *one_text = tree_text(one), *other_text = tree_text(other);
	bool good = strcmp(one_text, other_text) == 0;

	if (!good)
		printf("# %s\n# ---\n%s# ---\n%s# ---\n", what, one_text, other_text);
	return good;
}

static bool check_kernel(struct model *model)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "point%u", model->layers);
	owned(free_ptr) char *merged = at(model, "merged", ""), *copy = at(model, name, "");

	if (!mount_layers(model, model->layers, false))
		return false;
	bool good = is_same(merged, copy, "the kernel shows, the copy has");

	unmount(model);
	return good;
}

/* Point NEW against point OLD of the history. */
static bool check_delta(struct model *model, struct view_stack *stack, unsigned new, unsigned old)
{
	char name[32];
	struct delta_options options = { .new_from = model->layers - new,
					 .old_from = model->layers - old,
					 .expand = true,
					 .renames = pick(model, 2) };
	owned(delta_done) struct delta delta = { 0 };
	struct error err = { 0 };
	owned(free_ptr) char *work = at(model, "applied", "");

	if (delta_read(stack, &options, &delta, &err) < 0 || delta.is_partial) {
		printf("# delta: %s\n", delta.is_partial ? "partial" : err.text);
		return false;
	}
	(void)snprintf(name, sizeof(name), "point%u", old);
	owned(free_ptr) char *from = at(model, name, "");

	(void)snprintf(name, sizeof(name), "point%u", new);
	owned(free_ptr) char *to = at(model, name, "");

	tree_copy(from, work);
	apply_delta(stack, &delta, work, model->dir, model->is_talking);
	bool good = is_same(work, to, "the delta gives, the copy has");

	if (!good)
		printf("# points %u and %u, renames %d\n", new, old, (int)options.renames);
	tree_remove(work);
	return good;
}

/* Every path of every point, and of the base with what is masked, looked up in every point. */
static bool check_view(const struct model *model, const struct view_stack *stack, unsigned point)
{
	char name[32];
	bool good = true;

	(void)snprintf(name, sizeof(name), "point%u", point);
	for (unsigned i = 0; i <= model->layers + 1 && good; i++) {
		owned(strv_done) struct strv paths = STRV_INIT;
		char source[32];

		(void)snprintf(source, sizeof(source), "point%u", i);
		owned(free_ptr) char *root = at(model, i > model->layers ? "base" : source, "");

		tree_list(root, "", &paths);
		for (size_t j = 0; j < paths.count && good; j++) {
			owned(free_ptr) char *path = at(model, "base", paths.items[j]);
			owned(free_ptr) char *copy = at(model, name, paths.items[j]);

			good = model_is_seen(stack, model->layers - point, path, copy);
		}
	}
	return good;
}

static bool check_points(struct model *model, struct view_stack *stack)
{
	for (unsigned old = 0; old <= model->layers; old++) {
		if (!check_view(model, stack, old))
			return false;
		for (unsigned new = old; new <= model->layers; new ++)
			if (!check_delta(model, stack, new, old))
				return false;
	}
	return true;
}

static bool run_history(struct model *model)
{
	struct view_stack stack = { 0 };
	bool good = true;

	make_dir(model, "merged");
	make_base(model);
	if (pick(model, 2))
		make_mask(model);
	model->layers = 1 + pick(model, LAYERS);
	for (unsigned i = 0; i < model->layers && good; i++)
		good = make_layer(model, i);
	good = good && check_kernel(model);
	if (good) {
		model_open_stack(&stack, model->dir, model->layers, model->user_xattr);
		stack.shows = shows;
		stack.cookie = model;
		good = check_points(model, &stack);
		view_close(&stack);
	}
	return good;
}

/* One history with a known end: renamed, then edited. */
static void check_edited_rename(const char *dir)
{
	struct model model = { 0 };
	struct view_stack stack = { 0 };
	struct delta_options options = { .old_from = 1, .renames = true };
	struct error err = { 0 };
	owned(delta_done) struct delta delta = { 0 };

	(void)snprintf(model.dir, sizeof(model.dir), "%s", dir);
	if (mount("tmpfs", dir, "tmpfs", 0, "size=64m") < 0)
		tap_bail("cannot mount a tmpfs");
	make_dir(&model, "merged");
	make_dir(&model, "base");
	make_dir(&model, "layer0");
	make_dir(&model, "layer0/unit");
	make_dir(&model, "work0");
	owned(free_ptr) char *base = at(&model, "base", "old");
	owned(free_ptr) char *old = at(&model, "merged", "old"), *new = at(&model, "merged", "new");

	tree_write(base, "text", 4);
	bool good = mount_layers(&model, 0, true) && rename(old, new) == 0 &&
		    write_file(new, " and more", O_APPEND) == 0;

	unmount(&model);
	model_open_stack(&stack, dir, 1, false);
	good = good && delta_read(&stack, &options, &delta, &err) == 0 && delta.count == 1 &&
	       delta.items[0].op == DELTA_RENAMED && str_ends(delta.items[0].from, "/base/old") &&
	       (delta.items[0].aspects & ASPECT_CONTENT) && !(delta.items[0].flags >> 16);
	view_close(&stack);
	(void)umount2(dir, MNT_DETACH);
	tap_ok(good, "a file that was renamed and edited is known by its origin");
}

static unsigned long number_from(const char *name, unsigned long other)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : other;
}

static bool run_seed(const char *dir, unsigned long seed, bool is_talking)
{
	struct model model = { .seed = seed * 2654435761u + 1,
			       .user_xattr = seed % 4 == 0,
			       .is_talking = is_talking };

	(void)snprintf(model.dir, sizeof(model.dir), "%s", dir);
	if (mount("tmpfs", dir, "tmpfs", 0, "size=64m") < 0)
		return false;
	bool good = run_history(&model);

	free(model.masked);
	(void)umount2(dir, MNT_DETACH);
	return good;
}

int main(void)
{
	unsigned long count = number_from("AISBX_COUNT", 300), good = 0;
	unsigned long seed = number_from("AISBX_SEED", 0);
	char dir[] = "/tmp/aisbx-test-model-XXXXXX";

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		tap_skip(1, "needs root and a mount namespace");
		return tap_done();
	}
	if (!mkdtemp(dir))
		tap_bail("cannot make a directory");
	check_edited_rename(dir);
	if (seed) {
		tap_ok(run_seed(dir, seed, true), "seed %lu", seed);
	} else {
		for (unsigned long i = 1; i <= count; i++) {
			bool is_good = run_seed(dir, i, false);

			good += is_good;
			if (!is_good)
				printf("# AISBX_SEED=%lu\n", i);
		}
		tap_is_int((long long)good, (long long)count,
			   "kernel, view, copy and delta agree on %lu histories", count);
	}
	(void)rmdir(dir);
	return tap_done();
}
