/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the difference between two real trees in one of the forms a delta can be shown in.
 *
 *   patch-trees FORM OLD NEW [WORD...]    FORM: patch, stat, names, names-z, json
 *     rename=FROM=TO    a file that moved; both are paths in the trees
 *     flag=PATH=NUMBER  flags of the entry for PATH, as enum delta_flag has them
 *     columns=NUMBER    of the histogram
 *
 * The trees are walked here, so that what is tested does not depend on layers, mounts or sandboxes.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/patch/patch.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKSPACE "/workspace"

static struct strv found;
static size_t root_len;

static int keep_path(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	if (at->level > 0)
		strv_add(&found, path + root_len + 1);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct strv list_tree(const char *root)
{
	struct strv names;

	found = (struct strv)STRV_INIT;
	root_len = strlen(root);
	if (nftw(root, keep_path, 16, FTW_PHYS) < 0)
		perror(root);
	names = found;
	if (names.count > 0)
		qsort(names.items, names.count, sizeof(*names.items), compare_names);
	return names;
}

static void read_side(const char *root, const char *name, struct delta_side *side)
{
	char target[4096];

	side->layer_path = xasprintf("%s/%s", root, name);
	side->exists = lstat(side->layer_path, &side->st) == 0;
	if (side->exists && S_ISLNK(side->st.st_mode)) {
		ssize_t len = readlink(side->layer_path, target, sizeof(target));

		side->link = xstrndup(target, len > 0 ? (size_t)len : 0);
	}
}

static bool same_bytes(const char *a, const char *b)
{
	owned(str_done) struct str left = STR_INIT, right = STR_INIT;
	struct error err;

	return file_read(AT_FDCWD, a, 1UL << 30, &left, &err) == 0 &&
	       file_read(AT_FDCWD, b, 1UL << 30, &right, &err) == 0 && left.len == right.len &&
	       memcmp(str_cstr(&left), str_cstr(&right), left.len) == 0;
}

static unsigned aspects_of(const struct delta_entry *entry)
{
	const struct stat *old = &entry->old.st, *new = &entry->new.st;
	unsigned aspects = entry->from ? ASPECT_PATH : 0;

	if (!entry->old.exists || !entry->new.exists)
		return ASPECT_CONTENT;
	if ((old->st_mode & S_IFMT) != (new->st_mode &S_IFMT))
		return ASPECT_TYPE;
	if (old->st_mode != new->st_mode)
		aspects |= ASPECT_MODE;
	if (S_ISREG(new->st_mode) && !same_bytes(entry->old.layer_path, entry->new.layer_path))
		aspects |= ASPECT_CONTENT;
	if (S_ISLNK(new->st_mode) && strcmp(entry->old.link, entry->new.link) != 0)
		aspects |= ASPECT_CONTENT;
	return aspects;
}

static enum delta_op op_of(const struct delta_entry *entry)
{
	if (!entry->old.exists)
		return DELTA_ADDED;
	if (!entry->new.exists)
		return DELTA_DELETED;
	if (entry->from)
		return DELTA_RENAMED;
	return entry->aspects & ASPECT_TYPE ? DELTA_TYPE : DELTA_MODIFIED;
}

static void side_done(struct delta_side *side)
{
	free(side->layer_path);
	free(side->link);
}

static void entry_done(struct delta_entry *entry)
{
	side_done(&entry->old);
	side_done(&entry->new);
	free(entry->path);
	free(entry->from);
}

/* Directories are listed only where that is the change. */
static void add_entry(struct delta *delta, const char *roots[2], const char *name, const char *from)
{
	struct delta_entry entry = { .path = xasprintf(WORKSPACE "/%s", name) };

	if (from)
		entry.from = xasprintf(WORKSPACE "/%s", from);
	read_side(roots[0], from ? from : name, &entry.old);
	read_side(roots[1], name, &entry.new);
	entry.aspects = aspects_of(&entry);
	entry.op = op_of(&entry);
	const struct delta_side *one = entry.new.exists ? &entry.new : &entry.old;
	bool plain_dir = entry.aspects == ASPECT_CONTENT && S_ISDIR(one->st.st_mode);

	if (entry.aspects == 0 || plain_dir) {
		entry_done(&entry);
		return;
	}
	delta->items = xrealloc(delta->items, delta->count + 1, sizeof(*delta->items));
	delta->items[delta->count++] = entry;
}

/* FROM of "rename=FROM=TO" whose TO, or TO whose FROM is NAME. */
static char *rename_of(char **words, const char *name, bool want_from)
{
	for (; *words; words++) {
		const char *pair = *words + strlen("rename="), *middle;

		if (!str_starts(*words, "rename=") || !(middle = strchr(pair, '=')))
			continue;
		owned(free_ptr) char *from = xstrndup(pair, (size_t)(middle - pair));

		if (want_from && strcmp(middle + 1, name) == 0)
			return ptr_take(&from);
		if (!want_from && strcmp(from, name) == 0)
			return xstrdup(middle + 1);
	}
	return NULL;
}

static void set_flags(struct delta *delta, char **words)
{
	for (; *words; words++) {
		const char *pair = *words + strlen("flag="), *middle = strrchr(*words, '=');

		if (!str_starts(*words, "flag="))
			continue;
		owned(free_ptr) char *path =
			xasprintf(WORKSPACE "/%.*s", (int)(middle - pair), pair);

		for (size_t i = 0; i < delta->count; i++) {
			if (strcmp(delta->items[i].path, path) == 0)
				delta->items[i].flags = (unsigned)atoi(middle + 1);
		}
	}
}

static void read_delta(const char *roots[2], char **words, struct delta *delta)
{
	owned(strv_done) struct strv old = list_tree(roots[0]), new = list_tree(roots[1]);
	size_t i = 0, j = 0;

	while (i < old.count || j < new.count) {
		int order = i >= old.count   ? 1
			    : j >= new.count ? -1
					     : strcmp(old.items[i], new.items[j]);
		const char *name = order <= 0 ? old.items[i] : new.items[j];
		owned(free_ptr) char *from = rename_of(words, name, true);
		owned(free_ptr) char *to = rename_of(words, name, false);

		if (!to)
			add_entry(delta, roots, name, from);
		i += order <= 0;
		j += order >= 0;
	}
	set_flags(delta, words);
}

static int print(void *cookie, const char *bytes, size_t len, struct error *err)
{
	(void)err;
	return fwrite(bytes, 1, len, cookie) == len ? 0 : -1;
}

static bool choose(const char *form, char **words, struct patch_options *options)
{
	static const char *const names[] = { "patch", "stat", "names", "json" };

	options->nul = strcmp(form, "names-z") == 0;
	for (; *words; words++) {
		if (str_starts(*words, "columns="))
			options->columns = (unsigned)atoi(*words + strlen("columns="));
	}
	for (unsigned i = 0; i < 4; i++) {
		if (str_starts(form, names[i])) {
			options->form = (enum patch_form)i;
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	struct patch_options options = { .workspace = WORKSPACE, .context = 3 };
	struct patch_sink sink = { .add = print, .cookie = stdout };
	struct view_stack stack = { 0 };
	struct delta delta = { 0 };
	struct error err = { 0 };

	if (argc < 4 || !choose(argv[1], argv + 4, &options))
		return 2;
	read_delta((const char *[2]){ argv[2], argv[3] }, argv + 4, &delta);
	int status = patch_write(&stack, &delta, &options, &sink, &err);

	for (size_t i = 0; i < delta.count; i++)
		entry_done(&delta.items[i]);
	free(delta.items);
	return status < 0 || fflush(stdout) != 0 ? 1 : 0;
}
