/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML bytes in, profile or error with line and nearest key out.
 *
 * The tree is read as text, never as typed scalars: `PORT: 010` and `VERSION: 1.10` mean what was
 * written, and numbers are judged by settings_set alone, as on the command line.
 */
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/text/yaml.h"
#include "profile/path.h"
#include "profile/reader.h"

#include <string.h>

/* What other tools call things, so that their users are shown ours. */
static const struct {
	const char *theirs, *ours;
} aliases[] = {
	{ "network", "net" },	 { "memory", "mem" },	   { "timeout", "time" },
	{ "volumes", "mounts" }, { "environment", "env" }, { "command", "entrypoint" },
	{ "image", "root" },	 { "processes", "pids" },  { "capabilities", "caps" },
};

static const char *suggest_key(const char *key)
{
	static const char *const own[] = { "name", "extends", "mounts", "lifetime", "caps" };
	struct suggest suggest;

	suggest_init(&suggest, key);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		suggest_try(&suggest, own[i]);
	for (const struct setting_row *row = setting_rows; row->name; row++)
		suggest_try(&suggest, row->name);
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		suggest_try(&suggest, aliases[i].theirs);
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (suggest.best == aliases[i].theirs)
			return aliases[i].ours;
	return suggest.best;
}

static bool is_mount(const struct setting_row *row)
{
	return row->kind == SETTING_MOUNT_RO || row->kind == SETTING_MOUNT_RW ||
	       row->kind == SETTING_MOUNT_THROUGH;
}

static bool holds_file(const struct setting_row *row)
{
	return strcmp(row->name, "secret") == 0 || strcmp(row->name, "secret-header") == 0;
}

static int set_row(const struct reader *reader, const struct setting_row *row,
		   const struct value *item, const char *text)
{
	if (settings_set(&reader->profile->settings, row, row->name, text, reader->file.err) < 0) {
		/* To settings_set wrong words are bad usage; here they are a bad file. */
		reader->file.err->code = ERROR_INPUT;
		return value_reader_at(&reader->file, item);
	}
	return 0;
}

/* NAME=FILE: the file is resolved. A wrong form is passed on to settings_set, which refuses it. */
static int set_file(const struct reader *reader, const struct setting_row *row,
		    const struct value *item, const char *text)
{
	const char *file = strchr(text, '=');
	owned(free_ptr) char *path = NULL;
	owned(free_ptr) char *whole = NULL;

	if (!file || !file[1])
		return set_row(reader, row, item, text);
	path = reader_path(reader, item, row->name, file + 1);
	if (!path)
		return -1;
	whole = xasprintf("%.*s%s", (int)(file + 1 - text), text, path);
	return set_row(reader, row, item, whole);
}

/* SRC:DST or SRC, as the flags --ro, --rw and --rw-through take it. */
static int set_mount(const struct reader *reader, const struct setting_row *row,
		     const struct value *item, const char *text)
{
	const char *colon = strrchr(text, ':');
	owned(free_ptr) char *host = NULL;
	owned(free_ptr) char *path = NULL;
	owned(free_ptr) char *whole = NULL;

	host = colon ? xstrndup(text, (size_t)(colon - text)) : xstrdup(text);
	path = reader_path(reader, item, row->name, host);
	if (!path)
		return -1;
	whole = xasprintf("%s%s", path, colon ? colon : "");
	return set_row(reader, row, item, whole);
}

static int set_entry(const struct reader *reader, const struct setting_row *row,
		     const struct value *item, const char *text)
{
	if (is_mount(row))
		return set_mount(reader, row, item, text);
	if (holds_file(row))
		return set_file(reader, row, item, text);
	return set_row(reader, row, item, text);
}

/* {K: V}, for the lists whose entries are K=V. */
static int read_map(const struct reader *reader, const struct setting_row *row,
		    const struct value *map)
{
	if (strcmp(row->name, "env") != 0 && strcmp(row->name, "secret") != 0 &&
	    strcmp(row->name, "secret-env") != 0)
		return reader_refuse(reader, map, row->name, "takes a list, not a map");
	for (size_t i = 0; i < map->many.count; i++) {
		const struct value *item = map->many.items[i];
		const char *name = map->many.keys[i];
		const char *text = reader_text(reader, item, name);
		owned(free_ptr) char *pair = NULL;

		if (!text)
			return -1;
		if (strchr(name, '='))
			return reader_refuse(reader, item, name, "has a '=' in its name");
		pair = xasprintf("%s=%s", name, text);
		if (set_entry(reader, row, item, pair) < 0)
			return -1;
	}
	return 0;
}

static int read_entry(const struct reader *reader, const struct setting_row *row,
		      const struct value *item)
{
	const char *text = reader_text(reader, item, row->name);

	return text ? set_entry(reader, row, item, text) : -1;
}

static int read_list(const struct reader *reader, const struct setting_row *row,
		     const struct value *item)
{
	if (item->kind == VALUE_MAP)
		return read_map(reader, row, item);
	/* Splitting it would be a shell of our own; as one word it would name no program. */
	if (item->kind == VALUE_TEXT && strcmp(row->name, "entrypoint") == 0 &&
	    strpbrk(item->text.bytes, " \t\n"))
		return reader_refuse(reader, item, row->name, "is a list: [\"make\", \"all\"]");
	if (item->kind != VALUE_LIST)
		return read_entry(reader, row, item);
	/* It reads like "none", and a list without entries is no list: all would be permitted. */
	if (item->many.count == 0 && strcmp(row->name, "syscalls") == 0)
		return reader_refuse(reader, item, row->name,
				     "is empty: [exit_group] permits what every program needs");
	for (size_t i = 0; i < item->many.count; i++)
		if (read_entry(reader, row, item->many.items[i]) < 0)
			return -1;
	return 0;
}

static int read_row(const struct reader *reader, const struct setting_row *row,
		    const struct value *item)
{
	owned(free_ptr) char *path = NULL;
	const char *text;

	if (row->kind == SETTING_LIST || is_mount(row))
		return read_list(reader, row, item);
	text = reader_text(reader, item, row->name);
	if (!text)
		return -1;
	if (strcmp(row->name, "seccomp") != 0)
		return set_row(reader, row, item, text);
	path = reader_path(reader, item, row->name, text);
	return path ? set_row(reader, row, item, path) : -1;
}

/* Empty is what every sandbox has; anything else would be a promise we do not keep. */
static int read_caps(const struct reader *reader, const struct value *item)
{
	if (item->kind == VALUE_LIST && item->many.count == 0)
		return 0;
	return reader_refuse(reader, item, "caps", "must be empty: a sandbox has no capabilities");
}

static int read_name(const struct reader *reader, const struct value *item, char **ret_name)
{
	const char *name = reader_text(reader, item, "name");

	if (!name)
		return -1;
	if (!profile_is_name(name))
		return reader_refuse(reader, item, "name",
				     "is made of at most 63 letters, digits, '.', '_' and '-'");
	*ret_name = xstrdup(name);
	return 0;
}

static int read_extends(const struct reader *reader, const struct value *item, char **ret_extends)
{
	const char *name = reader_text(reader, item, "extends");

	if (!name)
		return -1;
	if (!profile_is_name(name) && !profile_is_file(name))
		return reader_refuse(reader, item, "extends",
				     "takes the name of a profile or a file");
	*ret_extends = xstrdup(name);
	return 0;
}

/* Ours are spelt with dashes, people write both; `lifetime` is another word for `time`. */
static char *our_spelling(const char *written)
{
	char *key = xstrdup(strcmp(written, "lifetime") == 0 ? "time" : written);

	for (char *at = key; *at; at++)
		if (*at == '_')
			*at = '-';
	return key;
}

static int read_key(struct reader *reader, const char *written, const struct value *item)
{
	owned(free_ptr) char *key = our_spelling(written);
	const struct setting_row *row = setting_find(key);

	if (strv_has(&reader->seen, key))
		return reader_refuse(reader, item, written, "says again what another key has said");
	strv_add(&reader->seen, key);

	if (strcmp(key, "name") == 0)
		return read_name(reader, item, &reader->profile->name);
	if (strcmp(key, "extends") == 0)
		return read_extends(reader, item, &reader->profile->extends);
	if (strcmp(key, "mounts") == 0)
		return reader_mounts(reader, item);
	if (strcmp(key, "caps") == 0)
		return read_caps(reader, item);
	if (strcmp(key, "default-limits") == 0)
		return reader_limits(reader, item, &reader->profile->settings);
	if (strcmp(key, "language-specific") == 0)
		return reader_language_limits(reader, item);
	if (!row || !(row->profile || is_mount(row)))
		return value_reader_unknown(&reader->file, item, written, suggest_key(key));
	return read_row(reader, row, item);
}

static int read_tree(struct reader *reader, const struct value *tree)
{
	if (tree->kind == VALUE_NULL) /* only comments: an empty profile is valid */
		return 0;
	if (tree->kind != VALUE_MAP) {
		error_set(reader->file.err, ERROR_INPUT, "a profile is a map of keys and values");
		return value_reader_at(&reader->file, tree);
	}
	for (size_t i = 0; i < tree->many.count; i++)
		if (read_key(reader, tree->many.keys[i], tree->many.items[i]) < 0)
			return -1;
	return 0;
}

int profile_parse(const char *bytes, size_t len, const char *origin, const char *base_dir,
		  struct profile *ret_profile, struct error *err)
{
	struct profile profile;
	struct reader reader = { { origin, err }, base_dir, &profile, STRV_INIT };
	owned(value_release) struct value *tree = NULL;
	int result;

	profile_init(&profile);
	result = yaml_read(bytes, len, origin, YAML_TEXT, &tree, err);
	if (result == 0)
		result = read_tree(&reader, tree);
	/* A file of limits sets nothing else: the rest keeps its defaults. */
	if (result == 0 && !profile.extends &&
	    (strv_has(&reader.seen, "default-limits") ||
	     strv_has(&reader.seen, "language-specific")))
		profile.extends = xstrdup("default");
	strv_done(&reader.seen);
	if (result < 0) {
		profile_done(&profile);
		return -1;
	}
	*ret_profile = profile;
	return 0;
}
