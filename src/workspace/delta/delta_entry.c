/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a delta: one change each, with both sides. */
#include "base/core/own.h"
#include "workspace/consent/consent_rule.h"
#include "workspace/delta/delta_parts.h"
#include "workspace/consent/trigger.h"

#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXTS_SIZE (256u << 10)

/* Texts of a delta lie together, for there are many and they go together. */
struct delta_texts {
	struct delta_texts *next;
	size_t used, size;
	char bytes[];
};

char *delta_text(struct delta *delta, const char *bytes, size_t len)
{
	struct delta_texts *texts = delta->texts;

	if (!texts || texts->size - texts->used <= len) {
		size_t size = len + 1 > TEXTS_SIZE ? len + 1 : TEXTS_SIZE;

		texts = xmalloc(sizeof(*texts) + size);
		*texts = (struct delta_texts){ .next = delta->texts, .size = size };
		delta->texts = texts;
	}
	char *text = texts->bytes + texts->used;

	memcpy(text, bytes, len);
	text[len] = '\0';
	texts->used += len + 1;
	return text;
}

void delta_done(struct delta *delta)
{
	for (struct delta_texts *next, *texts = delta->texts; texts; texts = next) {
		next = texts->next;
		free(texts);
	}
	free(delta->items);
	strv_done(&delta->closed);
	strv_done(&delta->hiding);
	*delta = (struct delta){ 0 };
}

static char *read_link(struct delta *delta, const struct delta_object *object)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(object->at->fd, object->name, target, sizeof(target));

	return len < 0 || (size_t)len == sizeof(target) ? NULL
							: delta_text(delta, target, (size_t)len);
}

/* Fills SIDE; the text of PATH is taken when it ends with that of the object. */
static void fill_side(struct delta_walk *walk, const struct delta_object *object, char *path,
		      struct delta_side *side)
{
	const struct view_source *at = object->at;
	bool is_base;

	if (!at)
		return;
	is_base = at->layer == walk->stack->count;
	side->exists = true;
	side->st = object->stat->st;
	side->btime_ns = object->stat->btime_ns;
	side->layer = at->layer;
	memcpy(side->unit, walk->root.unit->name, sizeof(side->unit));
	str_clear(&walk->scratch);
	if (walk->root.unit->path[1])
		str_add(&walk->scratch, walk->root.unit->path);
	size_t unit_len = walk->scratch.len;

	str_add_bytes(&walk->scratch, at->path->text.data, at->len);
	if (strcmp(object->name, ".") != 0) {
		str_add_char(&walk->scratch, '/');
		str_add(&walk->scratch, object->name);
	}
	if (walk->scratch.len == 0)
		str_add_char(&walk->scratch, '/');
	if (strcmp(walk->scratch.data, path) != 0) {
		path = delta_text(walk->delta, walk->scratch.data, walk->scratch.len);
		(void)delta_may_keep(walk, walk->scratch.len);
	}
	side->layer_path = is_base ? path : path + unit_len + (path[unit_len] == '/');
	if (S_ISLNK(side->st.st_mode))
		side->link = read_link(walk->delta, object);
}

static bool is_kind(mode_t mode, mode_t kind)
{
	return (mode & S_IFMT) == kind;
}

static bool has_setid(const struct delta_side *side)
{
	return side->exists && !S_ISLNK(side->st.st_mode) &&
	       (side->st.st_mode & (S_ISUID | S_ISGID));
}

static bool is_special(const struct delta_side *side)
{
	mode_t mode = side->st.st_mode;

	return side->exists && (is_kind(mode, S_IFIFO) || is_kind(mode, S_IFSOCK) ||
				is_kind(mode, S_IFCHR) || is_kind(mode, S_IFBLK));
}

/* Flags of what ENTRY is, wherever it lies. */
static unsigned find_kind_flags(const struct delta_entry *entry)
{
	unsigned flags = 0;

	if (has_setid(&entry->new) &&
	    (!has_setid(&entry->old) || (entry->aspects & ~(unsigned)ASPECT_MTIME)))
		flags |= FLAG_SETID;
	if (is_special(&entry->new))
		flags |= FLAG_SPECIAL;
	if (entry->op == DELTA_MODIFIED && S_ISREG(entry->old.st.st_mode) &&
	    entry->old.st.st_nlink > 1)
		flags |= FLAG_HARDLINK_BROKEN;
	return flags;
}

/* Flags of where ENTRY lies, or leads to, as seen from the workspace. */
static unsigned find_place_flags(const char *workspace, const struct delta_entry *entry)
{
	const struct delta_side *new = &entry->new;
	unsigned flags = 0;

	if (workspace && !view_is_below(entry->path, workspace))
		return FLAG_OUTSIDE;
	if (!workspace || strlen(entry->path) <= strlen(workspace))
		return 0;
	const char *name = entry->path + strlen(workspace) + (workspace[1] ? 1 : 0);
	const struct stat *st = new->exists ? &new->st : &entry->old.st;

	if (new->link && consent_leads_out(workspace, name, new->link))
		flags |= FLAG_LINK_OUT;
	if (!S_ISDIR(st->st_mode) && trigger_why(name))
		flags |= FLAG_TRIGGER;
	return flags;
}

static int compare_start(const void *start, const void *item)
{
	const char *path = ((const struct delta_entry *)item)->path;

	return strncmp(start, path, strlen(start));
}

/* A directory that came or went counts by what is in it, and by itself when that is nothing. */
static bool is_reported_below(const struct delta *delta, const struct delta_entry *entry)
{
	const struct stat *st = entry->op == DELTA_DELETED ? &entry->old.st : &entry->new.st;
	owned(free_ptr) char *start = NULL;

	if (!S_ISDIR(st->st_mode) || (entry->op != DELTA_ADDED && entry->op != DELTA_DELETED))
		return false;
	start = xasprintf("%s/", entry->path);
	return bsearch(start, delta->items, delta->count, sizeof(*delta->items), compare_start);
}

static void count_entry(struct delta *delta, const struct delta_entry *entry)
{
	bool is_outside = entry->flags & FLAG_OUTSIDE;

	if (is_reported_below(delta, entry))
		return;
	if (entry->op == DELTA_ADDED)
		*(is_outside ? &delta->added_outside : &delta->added) += 1;
	else if (entry->op == DELTA_DELETED)
		*(is_outside ? &delta->deleted_outside : &delta->deleted) += 1;
	else
		*(is_outside ? &delta->modified_outside : &delta->modified) += 1;
}

void delta_count(struct delta *delta)
{
	delta->added = delta->modified = delta->deleted = 0;
	delta->added_outside = delta->modified_outside = delta->deleted_outside = 0;
	for (size_t i = 0; i < delta->count; i++)
		count_entry(delta, &delta->items[i]);
}

void delta_add(struct delta_walk *walk, const struct delta_found *found)
{
	struct delta *delta = walk->delta;
	struct delta_entry entry = { .op = found->op,
				     .aspects = found->aspects,
				     .flags = found->flags };
	const char *path = found->path[0] ? found->path : "/";

	if (walk->options->only_workspace && walk->options->workspace &&
	    !view_is_below(path, walk->options->workspace))
		return;
	if (!delta_may_keep(walk, strlen(path)))
		return;
	entry.path = delta_text(delta, path, strlen(path));
	if (found->from)
		entry.from = delta_text(delta, found->from, strlen(found->from));
	fill_side(walk, &found->new, entry.path, &entry.new);
	fill_side(walk, &found->old, entry.path, &entry.old);
	entry.flags |= find_kind_flags(&entry) | find_place_flags(walk->options->workspace, &entry);
	if (delta->count == walk->allocated) {
		walk->allocated = walk->allocated ? walk->allocated * 2 : 64;
		delta->items = xrealloc(delta->items, walk->allocated, sizeof(*delta->items));
	}
	delta->items[delta->count++] = entry;
}
