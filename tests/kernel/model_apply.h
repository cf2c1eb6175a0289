/* SPDX-License-Identifier: Apache-2.0 */
/* The model test's own promotion: a delta done to a plain tree, in the simplest way that is right. */
#ifndef TESTS_MODEL_APPLY_H
#define TESTS_MODEL_APPLY_H

#include "tests/kernel/model_tree.h"
#include "workspace/delta/delta.h"

static inline char *apply_path(const struct delta *delta, const char *path, const char *root)
{
	const char *base = strstr(path, "/base");

	(void)delta;
	return xasprintf("%s%s", root, base + strlen("/base"));
}

/* Removes what is gone and sets aside what moves, deepest first. */
static inline void apply_old(const struct delta *delta, const char *root, const char *aside)
{
	owned(strv_done) struct strv steps = STRV_INIT;

	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];

		if (entry->op == DELTA_DELETED)
			strv_addf(&steps, "%s\tD", entry->path);
		else if (entry->op == DELTA_RENAMED)
			strv_addf(&steps, "%s\t%zu", entry->from, i);
	}
	if (steps.count > 1)
		qsort(steps.items, steps.count, sizeof(*steps.items), tree_compare_names);
	for (size_t i = steps.count; i-- > 0;) {
		char *mark = strchr(steps.items[i], '\t');

		*mark++ = '\0';
		owned(free_ptr) char *path = apply_path(delta, steps.items[i], root);
		owned(free_ptr) char *to = xasprintf("%s/aside%s", aside, mark);

		if (*mark == 'D' ? remove(path) : rename(path, to))
			printf("# cannot take %s away: %s\n", path, strerror(errno));
	}
}

static inline void apply_attributes(const struct view_stack *stack, const struct delta_entry *entry,
				    const char *path)
{
	owned(xattr_list_done) struct xattr_list list = { 0 };
	struct error err = { 0 };

	if (S_ISLNK(entry->new.st.st_mode))
		return;
	(void)chmod(path, entry->new.st.st_mode & 07777);
	(void)lremovexattr(path, MODEL_XATTR);
	if (delta_xattrs(stack, &entry->new, &list, &err) < 0)
		printf("# %s: %s\n", path, err.text);
	for (size_t i = 0; i < list.count; i++)
		(void)lsetxattr(path, list.items[i].name, list.items[i].value, list.items[i].len,
				0);
}

/* Puts one object there; an older one of another type is gone first. */
static inline void apply_new(const struct view_stack *stack, const struct delta_entry *entry,
			     const char *path)
{
	mode_t mode = entry->new.st.st_mode;
	char text[4096];

	if (entry->op == DELTA_TYPE || (entry->op == DELTA_MODIFIED && S_ISLNK(mode)))
		(void)remove(path);
	if (S_ISDIR(mode)) {
		(void)mkdir(path, 0755);
	} else if (S_ISLNK(mode)) {
		if (symlink(entry->new.link, path) < 0)
			printf("# link %s: %s\n", path, strerror(errno));
	} else if (S_ISREG(mode)) {
		owned(fd_close) int fd = delta_open_side(stack, &entry->new);
		ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (len < 0)
			printf("# cannot read %s: %s\n", path, strerror(errno));
		else
			tree_write(path, text, (size_t)len);
	} else if (mknod(path, mode, entry->new.st.st_rdev) < 0 && errno != EEXIST) {
		printf("# node %s: %s\n", path, strerror(errno));
	}
	apply_attributes(stack, entry, path);
}

static inline void apply_delta(const struct view_stack *stack, const struct delta *delta,
			       const char *root, const char *aside, bool is_talking)
{
	apply_old(delta, root, aside);
	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];
		owned(free_ptr) char *path = apply_path(delta, entry->path, root);
		owned(free_ptr) char *from = xasprintf("%s/aside%zu", aside, i);

		if (is_talking)
			printf("# %c %s %s\n", delta_op_letter(entry->op), entry->path,
			       entry->from ? entry->from : "");
		if (entry->op == DELTA_RENAMED && rename(from, path) < 0)
			printf("# cannot put %s in place: %s\n", path, strerror(errno));
		if (entry->op != DELTA_DELETED)
			apply_new(stack, entry, path);
	}
}

#endif
