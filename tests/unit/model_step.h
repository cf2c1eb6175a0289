/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations, done alike to a sandbox and to a plain copy. */
#ifndef TESTS_MODEL_STEP_H
#define TESTS_MODEL_STEP_H

#include "tests/unit/model_tree.h"

#include <stdint.h>

struct model {
	uint64_t seed;
	const char *box, *plain; /* the two trees */
	unsigned made;		 /* numbers contents */
};

/* xorshift: the same everywhere for the same seed. */
static inline unsigned model_random(struct model *model, unsigned below)
{
	model->seed ^= model->seed << 13;
	model->seed ^= model->seed >> 7;
	model->seed ^= model->seed << 17;
	return (unsigned)((model->seed >> 11) % below);
}

enum model_kind { MODEL_ANY, MODEL_FILE, MODEL_DIRECTORY };

/* A path that exists, of a kind; "" (the root) only as a directory, NULL when there is none. */
static inline char *model_pick(struct model *model, enum model_kind kind)
{
	owned(strv_done) struct strv paths = STRV_INIT, fitting = STRV_INIT;

	model_list(model->plain, "", &paths);
	if (paths.count > 0)
		qsort(paths.items, paths.count, sizeof(paths.items[0]), model_compare_paths);
	if (kind == MODEL_DIRECTORY)
		strv_add(&fitting, "");
	for (size_t i = 0; i < paths.count; i++) {
		owned(free_ptr) char *full = xasprintf("%s/%s", model->plain, paths.items[i]);
		struct stat st;

		if (lstat(full, &st) == 0 &&
		    (kind == MODEL_ANY || (kind == MODEL_FILE && S_ISREG(st.st_mode)) ||
		     (kind == MODEL_DIRECTORY && S_ISDIR(st.st_mode))))
			strv_add(&fitting, paths.items[i]);
	}
	if (fitting.count == 0)
		return NULL;
	return xstrdup(fitting.items[model_random(model, (unsigned)fitting.count)]);
}

/* A name that may exist or not, in a directory that does. */
static inline char *model_place(struct model *model)
{
	owned(free_ptr) char *dir = model_pick(model, MODEL_DIRECTORY);

	return xasprintf("%s%sn%u", dir, *dir ? "/" : "", model_random(model, 6));
}

static inline int model_write(const char *path, const char *text, int flags)
{
	owned(fd_close) int fd =
		open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0644);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* One operation in one tree. */
static inline int model_do(unsigned what, const char *path, const char *other, const char *text)
{
	switch (what) {
	case 0:
	case 1:
		return model_write(path, text, O_TRUNC);
	case 2:
		return model_write(path, text, O_APPEND);
	case 3:
		return mkdir(path, 0755);
	case 4:
		return unlink(path);
	case 5:
		model_remove(path);
		return 0;
	case 6:
		model_remove(path);
		return mkdir(path, 0751);
	case 7:
	case 8:
	case 9:
		return rename(path, other);
	case 10:
		return symlink(text, path);
	case 11:
		return chmod(path, 0700);
	case 12:
		return link(path, other);
	case 13:
		return mkfifo(path, 0600);
	default:
		return rename(path, other);
	}
}

/* False when the two did not answer alike. */
static inline bool model_step(struct model *model)
{
	unsigned what = model_random(model, 20);
	bool is_on_existing = what == 2 || what == 4 || what == 5 || what == 6 || what == 11;
	enum model_kind kind = what == 2 || what == 12				  ? MODEL_FILE
			       : what == 8 || what == 9 || what == 6 || what > 13 ? MODEL_DIRECTORY
										  : MODEL_ANY;
	bool needs_pick = is_on_existing || what == 12 || (what >= 7 && what <= 9) || what > 13;
	owned(free_ptr) char *path = needs_pick ? model_pick(model, kind) : model_place(model);
	owned(free_ptr) char *other = model_place(model);
	owned(free_ptr) char *text = xasprintf("text %u\n", model->made++);

	if (!path || !*path)
		return true;
	owned(free_ptr) char *box_path = xasprintf("%s/%s", model->box, path);
	owned(free_ptr) char *box_other = xasprintf("%s/%s", model->box, other);
	owned(free_ptr) char *plain_path = xasprintf("%s/%s", model->plain, path);
	owned(free_ptr) char *plain_other = xasprintf("%s/%s", model->plain, other);
	int here = model_do(what, box_path, box_other, text) == 0 ? 0 : errno;

	/* Without redirects the kernel leaves it to mv to copy a directory. */
	if (here == EXDEV)
		return true;
	int there = model_do(what, plain_path, plain_other, text) == 0 ? 0 : errno;

	if (here != there)
		printf("# operation %u on '%s' ('%s'): here %s, want %s\n", what, path, other,
		       strerror(here), strerror(there));
	return here == there;
}

#endif
