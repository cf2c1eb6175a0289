/* New directories that hide nothing. */
#include "workspace/uncover.h"

#include "base/clean_path.h"
#include "base/fd.h"
#include "base/own.h"
#include "workspace/view.h"

#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

static bool is_absent(const struct view_stack *stack, size_t from, const char *path)
{
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };
	struct error ignored;

	return view_lookup(stack, from, path, &object, &ignored) == 0 && object.kind == VIEW_ABSENT;
}

/* Whether PATH is a new directory, with nothing below it. In one of those the kernel marks none. */
static bool uncover(const struct view_stack *stack, const char *path)
{
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };
	struct error ignored;

	if (!is_absent(stack, 1, path) || view_lookup(stack, 0, path, &object, &ignored) < 0 ||
	    object.kind != VIEW_LAYER || !S_ISDIR(object.st.st_mode))
		return false;
	owned(fd_close) int fd = object.is_opaque
					 ? openat(object.dir_fd, object.name,
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
					 : -1;

	/* Where it may not be, the mark stays: then it is a conflict, and nothing is lost. */
	if (fd >= 0)
		(void)fremovexattr(fd, stack->user_xattr[0] ? "user.overlay.opaque"
							    : "trusted.overlay.opaque");
	return true;
}

/* Length of what two paths have in common, up to a slash. */
static size_t shared_length(const char *one, const char *other)
{
	size_t len = 0;

	for (size_t i = 0; one[i] && one[i] == other[i]; i++) {
		if (one[i] == '/')
			len = i;
	}
	return len;
}

/* Each directory on the way to what was added, down to the first new one; KNOWN bytes of PATH were looked at before. */
static bool uncover_way(const struct view_stack *stack, char *path, size_t known, bool is_directory)
{
	for (char *slash = strchr(path + known + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (uncover(stack, path))
			return true;
		*slash = '/';
	}
	return is_directory && uncover(stack, path);
}

void uncover_new(const struct view_stack *stack, const struct delta *delta, const char *workspace)
{
	owned(free_ptr) char *new = NULL;
	const char *before = "";

	for (size_t i = 0; stack->count > 0 && i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];
		size_t known = shared_length(before, entry->path);

		if (entry->op != DELTA_ADDED || strcmp(entry->path, workspace) == 0 ||
		    !path_is_within(entry->path, workspace) ||
		    (new &&path_is_within(entry->path, new)))
			continue;
		free_ptr(&new);
		new = xstrdup(entry->path);
		if (known < strlen(workspace))
			known = strlen(workspace);
		if (!uncover_way(stack, new, known, S_ISDIR(entry->new.st.st_mode)))
			free_ptr(&new);
		before = entry->path;
	}
}
