/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renamed directories after they were promoted.
 *
 * In a layer such a directory has a mark with the name of the lower directory that it shows. The host has that under the
 * new name from then on, so the mark gets the new name; after an undo, the old one. Both are noted with it:
 *
 *   aisbx-redirects 1
 *   layer PLACE       of the layer, below the store
 *   path U-HASH/PATH  of the directory in it
 *   mark VALUE        as it was
 *   own VALUE         the directory's own path below the unit's
 */
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "workspace/disk/fields.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define KIND "aisbx-redirects 1"
#define FILE_NAME "redirects"
#define MARK_MAX 4096

int promotion_layer_place(const struct store *store, int layer_fd, char **ret_place,
			  struct error *err)
{
	char link[64];
	owned(free_ptr) char *real = NULL;
	const char *below;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", layer_fd);
	real = path_real(link);
	if (!real)
		return error_errno(err, ERROR_HOST, "cannot tell where a layer lies");
	below = target_relative(store->path, real);
	*ret_place = below ? xstrdup(below) : NULL;
	return 0;
}

int promotion_note_marks(const struct store *store, const struct view_stack *stack,
			 const struct strv *marks, int promotion_fd, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (marks->count == 0)
		return 0;
	fields_begin(&text, KIND);
	for (size_t i = 0; i + 3 < marks->count; i += 4) {
		size_t layer = strtoul(marks->items[i], NULL, 10);
		owned(free_ptr) char *place = NULL;

		if (promotion_layer_place(store, stack->layer_fds[layer], &place, err) < 0)
			return -1;
		if (!place)
			continue;
		fields_put(&text, "layer", place);
		fields_put(&text, "path", marks->items[i + 1]);
		fields_put(&text, "mark", marks->items[i + 2]);
		fields_put(&text, "own", marks->items[i + 3]);
	}
	fields_end(&text);
	return store_replace(promotion_fd, FILE_NAME, str_cstr(&text), text.len, true, err);
}

static bool is_gone(void)
{
	return errno == ENOENT || errno == ENOTDIR;
}

/* Changes the mark of directory PATH in LAYER_FD from WAS to MARK. 1, 0 when there is no such mark, or -1 with errno. */
static int turn_mark(int layer_fd, const char *path, const char *was, const char *mark)
{
	owned(fd_close) int fd = sys_open_beneath(layer_fd, path, O_RDONLY | O_DIRECTORY);
	char now[MARK_MAX + 1];
	ssize_t len;

	if (fd < 0)
		return is_gone() ? 0 : -1;
	len = fgetxattr(fd, PROMOTION_MARK, now, MARK_MAX);
	if (len < 0)
		return errno == ENODATA || errno == ENOTSUP || errno == ERANGE ? 0 : -1;
	now[len] = '\0';
	if (strcmp(now, was) != 0)
		return 0;
	return sys_fsetxattr(fd, PROMOTION_MARK, mark, strlen(mark)) < 0 ? -1 : 1;
}

/* A top that was sealed meanwhile is one of the layers now. 0, or -1 with errno. */
static int turn_in_layers(const struct store *store, const char *path, const char *was,
			  const char *mark)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, "layers");
	struct dirent *entry;
	int more;

	while ((more = dir_next(dir, &entry)) > 0) {
		owned(fd_close) int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 ? !is_gone() : turn_mark(fd, path, was, mark) < 0)
			return -1;
	}
	return more;
}

/* What is gone by now needs no mark. 0, or -1 with errno. */
static int set_mark(const struct store *store, const struct field *group, bool is_back)
{
	const char *was = group[is_back ? 3 : 2].value, *mark = group[is_back ? 2 : 3].value;
	owned(fd_close) int fd = sys_open_beneath(store->fd, group[0].value, O_PATH | O_DIRECTORY);
	int turned = fd >= 0 ? turn_mark(fd, group[1].value, was, mark) : is_gone() ? 0 : -1;

	if (turned == 0 && is_back)
		return turn_in_layers(store, group[1].value, was, mark);
	return turned < 0 ? -1 : 0;
}

static bool is_group(const struct field *fields)
{
	return strcmp(fields[0].key, "layer") == 0 && strcmp(fields[1].key, "path") == 0 &&
	       strcmp(fields[2].key, "mark") == 0 && strcmp(fields[3].key, "own") == 0;
}

int promotion_turn_redirects(const struct store *store, const char *id, bool is_back,
			     struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };
	owned(fd_close) int fd = -1;

	if (promotion_open_directory(store, id, &fd, err) < 0)
		return -1;
	if (fields_read(fd, FILE_NAME, KIND, &fields, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	for (size_t i = 0; i + 3 < fields.count; i += 4)
		if (is_group(&fields.items[i]) && set_mark(store, &fields.items[i], is_back) < 0)
			return error_errno(err, ERROR_HOST,
					   "cannot mark a renamed directory in a layer");
	return 0;
}
