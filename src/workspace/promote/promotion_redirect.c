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

#include "base/own.h"
#include "base/real_path.h"
#include "workspace/disk/fields.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define KIND "aisbx-redirects 1"
#define FILE_NAME "redirects"
#define MARK_MAX 4096
/* Where a layer lies below the store; NULL when it does not. The caller owns it. */
static char *place_of(const struct store *store, int layer_fd)
{
	char link[64];
	owned(free_ptr) char *real = NULL;
	const char *below;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", layer_fd);
	real = path_real(link);
	below = real ? target_relative(store->path, real) : NULL;
	return below ? xstrdup(below) : NULL;
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
		owned(free_ptr) char *place = place_of(store, stack->layer_fds[layer]);

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

/* Changes the mark of directory PATH in LAYER_FD from WAS to MARK; false when there is no such mark. */
static bool turn_mark(int layer_fd, const char *path, const char *was, const char *mark)
{
	owned(fd_close) int fd =
		layer_fd < 0 ? -1 : sys_open_beneath(layer_fd, path, O_RDONLY | O_DIRECTORY);
	char now[MARK_MAX + 1];
	ssize_t len = fd < 0 ? -1 : fgetxattr(fd, PROMOTION_MARK, now, MARK_MAX);

	if (len < 0)
		return false;
	now[len] = '\0';
	return strcmp(now, was) == 0 && sys_fsetxattr(fd, PROMOTION_MARK, mark, strlen(mark)) == 0;
}

/* A top that was sealed meanwhile is one of the layers now. */
static void turn_in_layers(const struct store *store, const char *path, const char *was,
			   const char *mark)
{
	int all_fd = openat(store->fd, "layers", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = all_fd < 0 ? NULL : fdopendir(all_fd);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		owned(fd_close) int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		(void)turn_mark(fd, path, was, mark);
	}
	if (dir)
		(void)closedir(dir);
	else
		fd_close(&all_fd);
}

/* What is gone by now needs no mark. */
static void set_mark(const struct store *store, const struct field *group, bool is_back)
{
	const char *was = group[is_back ? 3 : 2].value, *mark = group[is_back ? 2 : 3].value;
	owned(fd_close) int fd = sys_open_beneath(store->fd, group[0].value, O_PATH | O_DIRECTORY);

	if (!turn_mark(fd, group[1].value, was, mark) && is_back)
		turn_in_layers(store, group[1].value, was, mark);
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
		if (is_group(&fields.items[i]))
			set_mark(store, &fields.items[i], is_back);
	return 0;
}
