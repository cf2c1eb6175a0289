/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended attributes as the sandbox sees them.
 *
 * Overlay's own are left out; those a sandbox set that look like them were escaped by the kernel and are unescaped.
 * Labels that the system gives a file because of where it lies say nothing about a change.
 */
#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"
#include "workspace/disk/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Its number is the same everywhere; the libc's headers are older. */
#define SYS_LISTXATTRAT 465

static bool is_label(const char *name)
{
	return strcmp(name, "security.selinux") == 0 || strcmp(name, "security.ima") == 0 ||
	       strcmp(name, "security.evm") == 0 || str_starts(name, "security.SMACK64");
}

/* The name a sandbox sees for NAME in a layer; NULL for none. Points into NAME or *ret_text, which the caller owns. */
static const char *seen_name(const char *name, bool user_xattr, char **ret_text)
{
	const char *own = user_xattr ? "user.overlay." : "trusted.overlay.";
	size_t len = strlen(own);

	if (is_label(name))
		return NULL;
	if (!str_starts(name, own))
		return name;
	if (!str_starts(name + len, "overlay."))
		return NULL;
	*ret_text = xasprintf("%s%s", own, name + len + strlen("overlay."));
	return *ret_text;
}

/* A path that reaches the object by its directory's descriptor; links at its end are not followed. */
static void path_of(const struct delta_object *object, char ret_path[static 64 + NAME_MAX])
{
	(void)snprintf(ret_path, 64 + NAME_MAX, "/proc/self/fd/%d/%s", object->at->fd,
		       object->name);
}

static int compare_items(const void *a, const void *b)
{
	const struct xattr_item *one = a, *other = b;

	return strcmp(one->name, other->name);
}

/* The names, by the shortest way there is; through proc on kernels before 6.13 when the object is not open. */
static ssize_t list_names(const struct delta_object *object, char *names, size_t size)
{
	char path[64 + NAME_MAX];

	if (object->fd)
		return flistxattr(*object->fd, names, size);
	ssize_t len = syscall(SYS_LISTXATTRAT, object->at->fd, object->name, AT_SYMLINK_NOFOLLOW,
			      names, size);

	/* A foreign filter may not know the number, and answer EPERM. */
	if (len >= 0 || (errno != ENOSYS && errno != EPERM))
		return len;
	path_of(object, path);
	return llistxattr(path, names, size);
}

static int add_item(struct xattr_list *list, const char *path, const char *name, const char *seen)
{
	char value[XATTR_SIZE_MAX];
	ssize_t len = lgetxattr(path, name, value, sizeof(value));

	if (len < 0)
		return errno == ENODATA ? 0 : -1;
	struct xattr_item item = { .name = xstrdup(seen), .len = (size_t)len };

	item.value = xmalloc(item.len + 1);
	memcpy(item.value, value, item.len);
	list->items = xrealloc(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = item;
	return 0;
}

/* Marks of the base are hidden as those of the layers are. */
static bool uses_user_xattr(const struct view_stack *stack, size_t layer)
{
	return stack->count > 0 && stack->user_xattr[layer < stack->count ? layer : 0];
}

int delta_attributes_read(const struct view_stack *stack, const struct delta_object *object,
			  struct xattr_list *ret_list, unsigned *flags)
{
	bool user_xattr = uses_user_xattr(stack, object->at->layer);
	char path[64 + NAME_MAX], names[XATTR_LIST_MAX];
	struct xattr_list list = { 0 };

	ssize_t len = list_names(object, names, sizeof(names));

	if (len < 0 && errno != ENOTSUP)
		return -1;
	if (len > 0)
		path_of(object, path);
	for (const char *name = names; len > 0 && name < names + len; name += strlen(name) + 1) {
		owned(free_ptr) char *text = NULL;
		const char *seen = seen_name(name, user_xattr, &text);

		if (strcmp(name, user_xattr ? DELTA_USER_ORIGIN : DELTA_ORIGIN) == 0)
			*flags |= FLAG_ORIGIN;
		if (seen && add_item(&list, path, name, seen) < 0) {
			xattr_list_done(&list);
			return -1;
		}
	}
	if (list.count > 1)
		qsort(list.items, list.count, sizeof(*list.items), compare_items);
	*ret_list = list;
	return 0;
}

static const struct xattr_item *find_item(const struct xattr_list *list, const char *name)
{
	struct xattr_item key = { .name = (char *)(uintptr_t)name };

	return list->count ? bsearch(&key, list->items, list->count, sizeof(key), compare_items)
			   : NULL;
}

static bool has_item(const struct xattr_list *list, const struct xattr_item *item)
{
	const struct xattr_item *other = find_item(list, item->name);

	return other && other->len == item->len &&
	       memcmp(other->value, item->value, item->len) == 0;
}

bool delta_attributes_differ(const struct view_stack *stack, const struct delta_object *new,
			     const struct delta_object *old, unsigned *flags)
{
	owned(xattr_list_done) struct xattr_list ours = { 0 }, theirs = { 0 };
	bool is_different = false;
	unsigned ignored = 0;

	if (delta_attributes_read(stack, new, &ours, flags) < 0 ||
	    (old->at && delta_attributes_read(stack, old, &theirs, &ignored) < 0))
		return true;
	for (size_t i = 0; i < ours.count; i++) {
		if (str_starts(ours.items[i].name, "security."))
			*flags |= FLAG_CAPABILITY;
		if (!has_item(&theirs, &ours.items[i]))
			is_different = true;
	}
	return is_different || ours.count != theirs.count;
}
