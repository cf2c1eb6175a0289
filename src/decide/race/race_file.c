/* SPDX-License-Identifier: Apache-2.0 */
/* Race files: YAML in, a plan out; every mistake with its line. */
#include "decide/race/race.h"

#include "base/core/own.h"
#include "base/text/yaml.h"
#include "spec/settings_value.h"

#include <string.h>

struct race_reader {
	struct value_reader file;
	struct race_plan *plan;
};

/* A command: at least a program's name. */
static int read_command(const struct race_reader *reader, const struct value *item,
			struct strv *ret_words)
{
	if (value_reader_words(&reader->file, item, "command", ret_words) < 0)
		return -1;
	if (ret_words->count == 0 || !ret_words->items[0][0])
		return value_reader_refuse(
			&reader->file, item,
			"'command' must be a list of words: [\"make\", \"all\"]");
	return 0;
}

static const char *const attempt_keys[] = { "name", "script", "command", "setup", NULL };

static int read_attempt_key(const struct race_reader *reader, const struct value *item,
			    const char *key, struct race_attempt *attempt)
{
	owned(free_ptr) char *text = NULL;

	if (strcmp(key, "name") == 0)
		return 0;
	if (strcmp(key, "command") == 0 || strcmp(key, "script") == 0) {
		if (attempt->command.count > 0)
			return value_reader_refuse(
				&reader->file, item,
				"an attempt has a script or a command, not both");
		if (key[0] == 'c')
			return read_command(reader, item, &attempt->command);
		if (value_reader_text(&reader->file, item, key, &text) < 0)
			return -1;
		strv_add_script(&attempt->command, text);
		return 0;
	}
	if (strcmp(key, "setup") == 0) {
		if (value_reader_text(&reader->file, item, key, &text) < 0)
			return -1;
		strv_add_script(&attempt->setup, text);
		return 0;
	}
	return settings_read_file(&reader->file, item, key, attempt_keys, &attempt->settings);
}

static int read_attempt(const struct race_reader *reader, const struct value *map)
{
	const char *name = map->kind == VALUE_MAP ? value_get_text(map, "name") : NULL;
	struct race_attempt *attempt;

	if (!name)
		return value_reader_refuse(
			&reader->file, map,
			"an attempt is a map with a name: {name: patch, script: \"...\"}");
	if (race_add(reader->plan, name, &attempt, reader->file.err) < 0)
		return value_reader_at(&reader->file, map);
	for (size_t i = 0; i < map->many.count; i++) {
		if (read_attempt_key(reader, map->many.items[i], map->many.keys[i], attempt) < 0)
			return -1;
	}
	if (attempt->command.count == 0)
		return value_reader_refuse(&reader->file, map,
					   "this attempt has neither script nor command");
	return 0;
}

static int read_attempts(const struct race_reader *reader, const struct value *list)
{
	if (list->kind != VALUE_LIST || list->many.count == 0)
		return value_reader_refuse(&reader->file, list,
					   "'attempts' must be a list of attempts");
	for (size_t i = 0; i < list->many.count; i++) {
		if (read_attempt(reader, list->many.items[i]) < 0)
			return -1;
	}
	return 0;
}

static const char *const plan_keys[] = { "base", "check", "prefer", "attempts", NULL };

static int read_plan_key(const struct race_reader *reader, const struct value *item,
			 const char *key)
{
	struct race_plan *plan = reader->plan;
	owned(free_ptr) char *text = NULL;

	if (strcmp(key, "attempts") == 0)
		return read_attempts(reader, item);
	if (strcmp(key, "base") == 0)
		return value_reader_text(&reader->file, item, key, &plan->base);
	if (strcmp(key, "check") == 0)
		return value_reader_text(&reader->file, item, key, &plan->check);
	if (strcmp(key, "prefer") != 0)
		return settings_read_file(&reader->file, item, key, plan_keys, &plan->settings);
	if (value_reader_text(&reader->file, item, key, &text) < 0)
		return -1;
	return race_rules_parse(text, &plan->rules, reader->file.err) < 0
		       ? value_reader_at(&reader->file, item)
		       : 0;
}

int race_read(const char *bytes, size_t len, const char *origin, struct race_plan *plan,
	      struct error *err)
{
	const struct race_reader reader = { { origin, err }, plan };
	owned(value_release) struct value *tree = NULL;

	if (yaml_read(bytes, len, origin, YAML_TEXT, &tree, err) < 0)
		return -1;
	if (tree->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "%s: a race file is a map with the key attempts",
				 origin);
	for (size_t i = 0; i < tree->many.count; i++) {
		if (read_plan_key(&reader, tree->many.items[i], tree->many.keys[i]) < 0)
			return -1;
	}
	if (plan->count == 0)
		return error_set(err, ERROR_INPUT, "%s: no attempts in it", origin);
	return 0;
}
