/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `filesystem` and `credentials` of srt's settings: paths that are not to be seen. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "profile/srt_parts.h"

#include <stdlib.h>
#include <string.h>

const char *srt_path_text(const struct srt_reader *reader, const struct value *item,
			  const char *key, bool *ret_literal)
{
	const struct value *path = item->kind == VALUE_MAP ? value_get(item, "path") : item;

	if (!path || !value_is_word(path)) {
		srt_refuse(reader, item, key,
			   "has an entry that is neither a path nor {\"path\": ...}");
		return NULL;
	}
	*ret_literal = item->kind == VALUE_MAP && value_is_true(item, "literal");
	return path->text.bytes;
}

/* "dir/" followed by ** or *: all of the directory. */
static void drop_whole(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && (path[len - 1] == '*' || path[len - 1] == '/')) {
		if (path[len - 1] == '*' && path[len - 2] != '*' && path[len - 2] != '/')
			return;
		path[--len] = '\0';
	}
}

/* Absolute and clean, owned by the caller; NULL with an error. */
static char *read_path(const struct srt_reader *reader, const struct value *item, const char *key)
{
	const struct srt_place *place = reader->place;
	bool literal = false;
	const char *text = srt_path_text(reader, item, key, &literal);
	owned(free_ptr) char *joined = NULL;
	char *clean = NULL;

	if (!text)
		return NULL;
	if (literal && strpbrk(text, "*?[")) {
		srt_refuse(reader, item, key,
			   "has a literal path with a *, ? or [ in it: name its directory");
		return NULL;
	}
	if (strcmp(text, "~") == 0 || str_starts(text, "~/"))
		joined = xasprintf("%s/%s", place->home, text + 1);
	else if (text[0] == '/')
		joined = xstrdup(text);
	else
		joined = xasprintf("%s/%s", place->cwd, text);
	drop_whole(joined);
	clean = path_clean(joined);
	if (!clean)
		srt_refuse(reader, item, key, "goes up with '..': write where it leads");
	return clean;
}

static int take_deny_read(struct srt_reader *reader, const struct value *item, const char *key)
{
	owned(free_ptr) char *path = read_path(reader, item, key);

	if (!path)
		return -1;
	const char *star = strchr(path, '*');

	if (strpbrk(path, "?[{") || (star && (strchr(star, '/') || strstr(star, "**"))))
		return srt_refuse(reader, item, key,
				  "is a pattern that cannot be enforced here: only * in the last "
				  "part can; name the files or their directory");
	strv_add(&reader->settings->hide, path);
	return 0;
}

static int take_allow_read(struct srt_reader *reader, const struct value *item, const char *key)
{
	owned(free_ptr) char *path = read_path(reader, item, key);

	if (!path)
		return -1;
	strv_add(&reader->allow_read, path);
	return 0;
}

/* The path to write to; NULL where it cannot be understood, which matters for promotions, not for a run. */
static char *read_write_path(struct srt_reader *reader, const struct value *item, const char *key)
{
	struct error unclear = { 0 };
	struct srt_reader silent = *reader;
	char *path;

	silent.file.err = &unclear;
	path = read_path(&silent, item, key);
	if (path && strchr(path, '{')) {
		free(path);
		path = NULL;
	}
	return path;
}

/* A run writes nothing of the host: there is nothing to shut. */
static int take_deny_write(struct srt_reader *reader, const struct value *item, const char *key)
{
	bool literal;
	const char *text = srt_path_text(reader, item, key, &literal);
	char *path;

	if (!text)
		return -1;
	path = read_write_path(reader, item, key);
	if (path)
		strv_take(&reader->writes->deny, path);
	else if (!reader->writes->unclear)
		reader->writes->unclear = xstrdup(text);
	return 0;
}

/* Nor is anything opened: opening a fifo would wait, or wake its reader. */
static int take_allow_write(struct srt_reader *reader, const struct value *item, const char *key)
{
	bool literal;
	char *path;

	if (!srt_path_text(reader, item, key, &literal))
		return -1;
	path = read_write_path(reader, item, key);
	if (path)
		strv_take(&reader->writes->allow, path);
	if (!reader->says_writes)
		strv_addf(reader->notes,
			  "%s: %s: what is written goes into the sandbox, not to the host",
			  reader->place->origin, key);
	reader->says_writes = true;
	return 0;
}

const struct srt_key srt_filesystem_keys[] = {
	{ "denyRead", SRT_LIST, take_deny_read, NULL },
	{ "allowRead", SRT_LIST, take_allow_read, NULL },
	{ "allowWrite", SRT_LIST, take_allow_write, NULL },
	{ "denyWrite", SRT_LIST, take_deny_write, NULL },
	{ "allowGitConfig", SRT_IDLE, NULL, NULL },
	{ "disabled", SRT_NOT_GIVEN, NULL, NULL },
	{ .name = NULL },
};

/* Only what is denied can be: a value that is replaced on its way would have to be found in connections. */
static int check_mode(const struct srt_reader *reader, const struct value *item, const char *key)
{
	const char *mode = item->kind == VALUE_MAP ? value_get_text(item, "mode") : NULL;

	if (mode && strcmp(mode, "deny") == 0)
		return 0;
	error_advise(reader->file.err, ERROR_DENIED, "deny it, or take it out",
		     "%s: only \"mode\": \"deny\" can be enforced here", key);
	return value_reader_at(&reader->file, item);
}

static int take_credential_file(struct srt_reader *reader, const struct value *item,
				const char *key)
{
	if (check_mode(reader, item, key) < 0)
		return -1;
	return take_deny_read(reader, item, key);
}

/* Variables of the caller are not passed on unless a flag or the profile names them. */
static int take_variable(struct srt_reader *reader, const struct value *item, const char *key)
{
	return check_mode(reader, item, key);
}

#define DROP_INJECT "aisbx puts no secrets into connections of such a file; take it out"

const struct srt_key srt_credentials_keys[] = {
	{ "files", SRT_LIST, take_credential_file, NULL },
	{ "envVars", SRT_LIST, take_variable, NULL },
	{ "allowPlaintextInject", SRT_NOT_GIVEN, NULL, NULL },
	{ "awsPairs", SRT_REFUSED, NULL, DROP_INJECT },
	{ "sigv4", SRT_REFUSED, NULL, DROP_INJECT },
	{ .name = NULL },
};

/* Whether something in LIST is PATH or above it. */
static bool covers(const struct strv *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++) {
		if (path_is_within(path, list->items[i]))
			return true;
	}
	return false;
}

/* The workspace is seen wherever it lies: a file that hides it must say that it knows. */
static int check_workspace(struct srt_reader *reader, const struct value *file)
{
	const char *workspace = reader->place->workspace;

	if (!workspace || !covers(&reader->settings->hide, workspace) ||
	    covers(&reader->allow_read, workspace))
		return 0;
	error_set(reader->file.err, ERROR_DENIED,
		  "filesystem.denyRead hides the workspace %s, which every sandbox sees: add it to "
		  "allowRead, or choose another with -C",
		  workspace);
	return value_reader_at(&reader->file, file);
}

/* One that is hidden and allowed again is seen. */
static void drop_workspace(struct strv *hide, const char *workspace)
{
	struct strv kept = STRV_INIT;

	for (size_t i = 0; i < hide->count; i++) {
		if (!workspace || strcmp(hide->items[i], workspace) != 0)
			strv_add(&kept, hide->items[i]);
	}
	strv_done(hide);
	*hide = kept;
}

int srt_check_paths(struct srt_reader *reader, const struct value *file)
{
	const char *workspace = reader->place->workspace;

	if (check_workspace(reader, file) < 0)
		return -1;
	for (size_t i = 0; i < reader->allow_read.count; i++) {
		const char *path = reader->allow_read.items[i];
		bool is_shown = !covers(&reader->settings->hide, path) ||
				(workspace && (path_is_within(path, workspace) ||
					       path_is_within(workspace, path)));

		if (!is_shown)
			strv_addf(reader->notes,
				  "%s: filesystem.allowRead: %s stays hidden, with what denyRead "
				  "hides above it",
				  reader->place->origin, path);
	}
	drop_workspace(&reader->settings->hide, workspace);
	return 0;
}
