/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own configuration read: never one of a workspace. */
#include "app/config/own_config.h"

#include "app/config/profile_load.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/fd.h"
#include "base/text/clean_path.h"
#include "base/text/suggest.h"
#include "base/text/units.h"
#include "base/text/value_reader.h"
#include "base/text/yaml.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum key_kind { KEY_TEXT, KEY_TIME, KEY_RETAIN, KEY_AGE, KEY_BOUNDS, KEY_BELOW };

struct key {
	const char *name;
	enum key_kind kind;
	size_t offset;
};

#define AT(field) offsetof(struct own_config, field)
#define BELOW(field) offsetof(struct own_kept_below, field)
static const struct key top_keys[] = {
	{ "sync", KEY_TIME, AT(sync_ms) },
	{ "sync_to", KEY_TEXT, AT(sync_to) },
	{ "retain", KEY_RETAIN, 0 },
	{ "archive", KEY_TEXT, AT(archive) },
	{ "allow_weaker", KEY_TEXT, AT(weaker) },
	{ NULL, KEY_TEXT, 0 },
};
static const struct key kept_keys[] = {
	{ "runs", KEY_AGE, AT(runs) },
	{ "logs", KEY_BOUNDS, AT(logs) },
	{ "workspaces", KEY_BELOW, 0 },
	{ NULL, KEY_TEXT, 0 },
};
static const struct key below_keys[] = {
	{ "runs", KEY_AGE, BELOW(runs) },
	{ "logs", KEY_AGE, BELOW(logs) },
	{ NULL, KEY_TEXT, 0 },
};

void own_config_done(struct own_config *config)
{
	free_ptr(&config->sync_to);
	free_ptr(&config->archive);
	free_ptr(&config->weaker);
	for (size_t i = 0; i < config->below_count; i++)
		free(config->below[i].path);
	free_ptr(&config->below);
	config->below_count = 0;
}

static const struct key *find_key(const struct key *keys, const char *name)
{
	while (keys->name && strcmp(keys->name, name) != 0)
		keys++;
	return keys->name ? keys : NULL;
}

static const char *nearest(const struct key *keys, const char *name)
{
	struct suggest suggest;

	suggest_init(&suggest, name);
	for (; keys->name; keys++)
		suggest_try(&suggest, keys->name);
	return suggest.best;
}

static int read_time(const struct value_reader *reader, const struct key *key,
		     const struct value *item, int64_t *ret_ms)
{
	if (!value_is_word(item))
		return value_reader_refuse(reader, item, "write a time, such as 30d");
	return units_duration(key->name, item->text.bytes, ret_ms, reader->err) < 0
		       ? value_reader_at(reader, item)
		       : 0;
}

/* One word of a bound. What could be either, such as 30m, is refused: read as the other it would remove what was to stay. */
static int read_bound(const struct value_reader *reader, const struct key *key,
		      const struct value *item, struct own_kept *kept)
{
	struct error ignored;
	bool is_time, is_size;

	if (key->kind == KEY_AGE)
		return read_time(reader, key, item, &kept->ms);
	is_time = value_is_word(item) &&
		  units_duration("", item->text.bytes, &kept->ms, &ignored) == 0;
	is_size = value_is_word(item) &&
		  units_size("", item->text.bytes, &kept->bytes, &ignored) == 0;
	if (is_time != is_size)
		return 0;
	return value_reader_refuse(
		reader, item, "write a time, such as 30d, a size, such as 10gb, or [30d, 10gb]");
}

static int read_bounds(const struct value_reader *reader, const struct key *key,
		       const struct value *item, struct own_kept *kept)
{
	if (item->kind != VALUE_LIST || key->kind == KEY_AGE || item->many.count == 0)
		return read_bound(reader, key, item, kept);
	for (size_t i = 0; i < item->many.count; i++)
		if (read_bound(reader, key, item->many.items[i], kept) < 0)
			return -1;
	return 0;
}

static int read_map(const struct value_reader *reader, const struct value *map,
		    const struct key *keys, struct own_config *config, void *base);

static int read_below(const struct value_reader *reader, const struct value *map,
		      struct own_config *config)
{
	if (map->kind != VALUE_MAP)
		return value_reader_refuse(reader, map, "write /DIR: {runs: 7d, logs: 1d}");
	for (size_t i = 0; i < map->many.count; i++) {
		const char *path = map->many.keys[i];
		struct own_kept_below *one;

		if (path[0] != '/')
			return value_reader_refuse(reader, map->many.items[i],
						   "write the workspace's absolute path");
		config->below = xrealloc(config->below, config->below_count + 1, sizeof(*one));
		one = &config->below[config->below_count++];
		*one = (struct own_kept_below){ .path = path_clean(path) };
		if (!one->path)
			one->path = xstrdup(path);
		if (read_map(reader, map->many.items[i], below_keys, config, one) < 0)
			return -1;
	}
	return 0;
}

static int read_item(const struct value_reader *reader, const struct key *key,
		     const struct value *item, struct own_config *config, void *base)
{
	void *place = (char *)base + key->offset;

	switch (key->kind) {
	case KEY_TEXT:
		return value_reader_text(reader, item, key->name, place);
	case KEY_TIME:
		return read_time(reader, key, item, place);
	case KEY_RETAIN:
		return read_map(reader, item, kept_keys, config, config);
	case KEY_BELOW:
		return read_below(reader, item, config);
	case KEY_AGE:
	case KEY_BOUNDS:
		break;
	}
	return read_bounds(reader, key, item, place);
}

static int read_map(const struct value_reader *reader, const struct value *map,
		    const struct key *keys, struct own_config *config, void *base)
{
	if (map->kind != VALUE_MAP)
		return value_reader_refuse(reader, map, "write keys and values");
	for (size_t i = 0; i < map->many.count; i++) {
		const struct value *item = map->many.items[i];
		const struct key *key = find_key(keys, map->many.keys[i]);

		if (!key)
			return value_reader_unknown(reader, item, map->many.keys[i],
						    nearest(keys, map->many.keys[i]));
		if (read_item(reader, key, item, config, base) < 0)
			return -1;
	}
	return 0;
}

int own_config_read(const char *const *env, struct own_config *ret_config, struct error *err)
{
	owned(free_ptr) char *dir = app_config_dir(env);
	owned(free_ptr) char *path = dir ? xasprintf("%s/config.yaml", dir) : NULL;
	owned(str_done) struct str text = STR_INIT;
	owned(value_release) struct value *tree = NULL;
	const struct value_reader reader = { path, err };

	*ret_config = (struct own_config){ 0 };
	if (!path || access(path, F_OK) < 0)
		return 0;
	if (file_read(AT_FDCWD, path, YAML_MAX_BYTES, &text, err) < 0 ||
	    yaml_read(str_cstr(&text), text.len, path, YAML_TEXT, &tree, err) < 0)
		return -1;
	if (tree->kind == VALUE_NULL)
		return 0;
	if (read_map(&reader, tree, top_keys, ret_config, ret_config) < 0) {
		own_config_done(ret_config);
		return -1;
	}
	bool is_unknown = ret_config->weaker && strcmp(ret_config->weaker, "landlock") != 0;

	if (is_unknown || (ret_config->sync_ms && !ret_config->sync_to)) {
		own_config_done(ret_config);
		return error_set(err, ERROR_INPUT, "%s: %s", path,
				 is_unknown ? "allow_weaker can be landlock and nothing else"
					    : "sync needs sync_to, a database's URL");
	}
	return 0;
}
