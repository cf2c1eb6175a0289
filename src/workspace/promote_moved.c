/*
 * What a sandbox shows under another name than reality has it: renamed directories, and all that is in them.
 *
 * The layer only says where the directory came from. As soon as reality changes there, the sandbox would lose what it
 * shows; so such a directory is promoted as a whole, together with what happens to its old name, or not at all.
 */
#include "workspace/promote_parts.h"

#include "base/own.h"
#include "workspace/target.h"

#include <string.h>

bool promote_shows_other(const struct promote *promote, const struct item *item)
{
	const struct delta_side *new = &item->entry.new;

	if (!new->exists || !item->entry.path)
		return false;
	if (item->twin != NO_ITEM && S_ISDIR(new->st.st_mode))
		return true;
	return new->layer ==
	       promote->stack->count &&new->layer_path &&strcmp(new->layer_path,
								item->entry.path) != 0;
}

/* Length of the part of the item's path by which it is called differently: names that are the same at the end go. */
static size_t renamed_len(const struct item *item)
{
	const char *path = item->path, *other = item->entry.new.layer_path;
	size_t len = strlen(path), other_len = other ? strlen(other) : 0;

	while (other_len > 0) {
		const char *slash = memrchr(path, '/', len);
		const char *other_slash = memrchr(other, '/', other_len);
		size_t name = slash ? len - (size_t)(slash - path) : 0;

		if (!slash || !other_slash || name != other_len - (size_t)(other_slash - other) ||
		    memcmp(slash, other_slash, name) != 0)
			break;
		len -= name;
		other_len -= name;
	}
	return len;
}

static bool is_in(const struct item *item, const char *path, size_t len)
{
	return strncmp(item->path, path, len) == 0 &&
	       (item->path[len] == '\0' || item->path[len] == '/');
}

/* The topmost item that takes reality's PATH (absolute) or a directory above it away, or NO_ITEM. */
static size_t removal_of(const struct promote *promote, const char *path)
{
	const char *relative = path ? target_relative(promote->sandbox->workspace, path) : NULL;
	owned(free_ptr) char *at = relative ? xstrdup(relative) : NULL;
	size_t found = NO_ITEM;

	while (at && *at) {
		size_t index = promote_find(promote, at);
		char *slash = strrchr(at, '/');

		if (index != NO_ITEM && promote->items[index].entry.op != DELTA_MODIFIED)
			found = index;
		if (!slash)
			break;
		*slash = '\0';
	}
	return found;
}

static bool select_one(struct item *item)
{
	bool is_new = !item->is_selected;

	item->is_selected = true;
	return is_new;
}

bool promote_select_shown(struct promote *promote)
{
	const struct item *last = NULL;
	bool any = false;

	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		size_t removal, len;

		if (!promote_shows_other(promote, item))
			continue;
		removal = removal_of(promote, item->entry.new.layer_path);
		if (removal != NO_ITEM && promote->items[removal].is_selected)
			any |= select_one(item);
		if (!item->is_selected)
			continue;
		if (removal != NO_ITEM)
			any |= select_one(&promote->items[removal]);
		len = renamed_len(item);
		if (last && is_in(item, last->path, renamed_len(last)))
			continue;
		for (size_t other = 0; other < promote->count; other++)
			if (is_in(&promote->items[other], item->path, len))
				any |= select_one(&promote->items[other]);
		last = item;
	}
	return any;
}

/* Leaves everything below one renamed directory as it is. */
static void leave(struct promote *promote, const struct item *item)
{
	size_t len = renamed_len(item);
	size_t removal = removal_of(promote, item->entry.new.layer_path);

	for (size_t i = 0; i < promote->count; i++)
		if (is_in(&promote->items[i], item->path, len) &&
		    promote->items[i].fate == FATE_APPLIED)
			promote->items[i].fate = FATE_LEFT;
	if (removal != NO_ITEM && promote->items[removal].fate == FATE_APPLIED)
		promote->items[removal].fate = FATE_LEFT;
}

void promote_keep_shown(struct promote *promote)
{
	const struct item *last = NULL;

	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];

		if (item->fate == FATE_APPLIED || !promote_shows_other(promote, item) ||
		    (last && is_in(item, last->path, renamed_len(last))))
			continue;
		leave(promote, item);
		last = item;
	}
}
