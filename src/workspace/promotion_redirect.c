/*
 * Renamed directories after they were promoted.
 *
 * In a layer such a directory says under which name what it shows lies below. Reality has it under the new name from
 * then on, so that is what it has to say; should the promotion be undone, the old one. Both are noted with it:
 *
 *   aisbx-redirects 1
 *   layer PLACE       of the layer, below the store
 *   path U-HASH/PATH  of the directory in it
 *   mark VALUE        as it was
 *   own VALUE         the directory's own path below the unit's
 */
#include "workspace/promotion.h"

#include "base/own.h"
#include "workspace/fields.h"
#include "workspace/origin_index.h"
#include "workspace/sys.h"
#include "workspace/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define KIND "aisbx-redirects 1"
#define FILE_NAME "redirects"
#define MARK_MAX 4096

/* User namespaces know no such marks. */
#define MARK "trusted.overlay.redirect"

/* PATH below the unit it lies in, with a leading slash. */
static const char *own_path(const struct view_stack *stack, const char *path)
{
	const char *best = path;

	for (size_t i = 0; stack->units && i < stack->units->count; i++) {
		const char *below = target_relative(stack->units->items[i].path, path);

		if (below && *below && below - 1 > best)
			best = below - 1;
	}
	return best;
}

/* Adds the mark of directory PATH of the view, if it has one. */
static void note_mark(const struct store *store, const struct view_stack *stack, const char *path,
		      struct str *text)
{
	struct view_object object = { .dir_fd = -1 };
	struct error ignored = { 0 };
	owned(fd_close) int fd = -1;
	char mark[MARK_MAX + 1], link[64], *real = NULL, *layer = NULL;
	ssize_t len = -1;

	if (view_lookup(stack, 0, path, &object, &ignored) < 0)
		return;
	if (object.kind == VIEW_LAYER && S_ISDIR(object.st.st_mode))
		fd = openat(object.dir_fd, object.name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		len = fgetxattr(fd, MARK, mark, MARK_MAX);
	if (len > 0) {
		mark[len] = '\0';
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		real = realpath(link, NULL);
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d",
			       stack->layer_fds[object.layer]);
		layer = realpath(link, NULL);
	}
	const char *below = real && layer ? target_relative(layer, real) : NULL;
	const char *place = below ? target_relative(store->path, layer) : NULL;

	if (place) {
		fields_put(text, "layer", place);
		fields_put(text, "path", below);
		fields_put(text, "mark", mark);
		fields_put(text, "own", own_path(stack, path));
	}
	free(real);
	free(layer);
	view_object_done(&object);
}

static bool is_at_or_above(const char *above, const char *path)
{
	return path && target_relative(above, path);
}

/* PATH and the directories above it, up to the workspace, but for those LAST had in common with it. */
static void note_path(const struct sandbox *sandbox, const struct view_stack *stack,
		      const char *path, const char *last, struct str *text)
{
	owned(free_ptr) char *at = xstrdup(path);
	const char *relative;

	while ((relative = target_relative(sandbox->workspace, at)) && *relative &&
	       !is_at_or_above(at, last)) {
		note_mark(sandbox->store, stack, at, text);
		*strrchr(at, '/') = '\0';
	}
}

int promotion_note_redirects(const struct sandbox *sandbox, const struct view_stack *stack,
			     const struct strv *paths, int promotion_fd, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	size_t empty;

	if (paths->count == 0)
		return 0;
	fields_begin(&text, KIND);
	empty = text.len;
	for (size_t i = 0; i < paths->count; i++)
		note_path(sandbox, stack, paths->items[i], i > 0 ? paths->items[i - 1] : NULL,
			  &text);
	if (text.len == empty)
		return 0;
	fields_end(&text);
	return store_replace(promotion_fd, FILE_NAME, str_cstr(&text), text.len, true, err);
}

/* What is gone by now needs no mark. */
static void set_mark(const struct store *store, const char *layer, const char *path,
		     const char *mark)
{
	owned(fd_close) int layer_fd = sys_open_beneath(store->fd, layer, O_PATH | O_DIRECTORY);
	owned(fd_close) int fd =
		layer_fd < 0 ? -1 : sys_open_beneath(layer_fd, path, O_RDONLY | O_DIRECTORY);

	if (fd >= 0)
		(void)sys_fsetxattr(fd, MARK, mark, strlen(mark));
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
			set_mark(store, fields.items[i].value, fields.items[i + 1].value,
				 fields.items[is_back ? i + 2 : i + 3].value);
	return 0;
}
