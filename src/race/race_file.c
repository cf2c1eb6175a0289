/* Race files: YAML in, a plan out; every mistake with its line. */
#include "race/race.h"

#include "base/nearest.h"
#include "base/own.h"
#include "base/yaml.h"

#include <string.h>

struct race_reader {
	const char *origin;
	struct race_plan *plan;
	struct error *err;
};

static int at(const struct race_reader *reader, const struct value *item)
{
	return error_context(reader->err, "%s:%u", reader->origin, item->line);
}

static int refuse(const struct race_reader *reader, const struct value *item, const char *what)
{
	error_set(reader->err, ERROR_INPUT, "%s", what);
	return at(reader, item);
}

static int unknown_key(const struct race_reader *reader, const struct value *item, const char *key,
		       const char *const *names)
{
	char shown[STR_SHOWN_SIZE];
	struct nearest nearest;

	nearest_init(&nearest, key);
	for (; *names; names++)
		nearest_try(&nearest, *names);
	for (const struct setting_row *row = setting_rows; row->name; row++)
		nearest_try(&nearest, row->name);
	error_set(reader->err, ERROR_INPUT, "unknown key '%s'%s%s%s", str_shown(key, shown),
		  nearest.best ? " (did you mean '" : "", nearest.best ? nearest.best : "",
		  nearest.best ? "'?)" : "");
	return at(reader, item);
}

static int read_text(const struct race_reader *reader, const struct value *item, const char *key,
		     char **ret_text)
{
	if (item->kind != VALUE_TEXT || !item->text.len ||
	    strlen(item->text.bytes) != item->text.len) {
		error_set(reader->err, ERROR_INPUT, "'%s' must be a text", key);
		return at(reader, item);
	}
	free(*ret_text);
	*ret_text = xstrdup(item->text.bytes);
	return 0;
}

static int read_words(const struct race_reader *reader, const struct value *item, const char *key,
		      struct strv *ret_words)
{
	bool is_good = item->kind == VALUE_LIST && item->many.count > 0;

	for (size_t i = 0; is_good && i < item->many.count; i++) {
		const struct value *word = item->many.items[i];

		is_good = word->kind == VALUE_TEXT && strlen(word->text.bytes) == word->text.len;
		if (is_good)
			strv_add(ret_words, word->text.bytes);
	}
	if (is_good && ret_words->items[0][0])
		return 0;
	error_set(reader->err, ERROR_INPUT, "'%s' must be a list of words: [\"git\", \"apply\"]",
		  key);
	return at(reader, item);
}

static void shell_words(struct strv *words, const char *script)
{
	strv_add(words, "sh");
	strv_add(words, "-c");
	strv_add(words, script);
}

/* A map of variables, or a list of K=V. */
static int read_env(const struct race_reader *reader, const struct value *item,
		    struct settings *settings)
{
	const struct setting_row *row = setting_find("env");

	if (item->kind != VALUE_MAP && item->kind != VALUE_LIST)
		return refuse(reader, item, "'env' must be a map of names and values");
	for (size_t i = 0; i < item->many.count; i++) {
		const struct value *one = item->many.items[i];
		owned(free_ptr) char *pair = NULL;

		if (one->kind != VALUE_TEXT || strlen(one->text.bytes) != one->text.len)
			return refuse(reader, one, "a variable's value must be a text");
		pair = item->kind == VALUE_MAP
			       ? xasprintf("%s=%s", item->many.keys[i], one->text.bytes)
			       : xstrdup(one->text.bytes);
		if (settings_set(settings, row, "env", pair, reader->err) < 0)
			return at(reader, one);
	}
	return 0;
}

/* Limits and the other settings of a run, by their flags' names. */
static int read_setting(const struct race_reader *reader, const struct value *item, const char *key,
			const char *const *names, struct settings *settings)
{
	const struct setting_row *row = setting_find(key);

	if (strcmp(key, "env") == 0)
		return read_env(reader, item, settings);
	if (!row || !row->flag)
		return unknown_key(reader, item, key, names);
	if (row->kind == SETTING_LIST && item->kind == VALUE_LIST) {
		for (size_t i = 0; i < item->many.count; i++) {
			if (read_setting(reader, item->many.items[i], key, names, settings) < 0)
				return -1;
		}
		return 0;
	}
	if (item->kind != VALUE_TEXT || strlen(item->text.bytes) != item->text.len) {
		error_set(reader->err, ERROR_INPUT, "'%s' must be a single value", key);
		return at(reader, item);
	}
	return settings_set(settings, row, key, item->text.bytes, reader->err) < 0
		       ? at(reader, item)
		       : 0;
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
			return refuse(reader, item,
				      "an attempt has a script or a command, not both");
		if (key[0] == 'c')
			return read_words(reader, item, key, &attempt->command);
		if (read_text(reader, item, key, &text) < 0)
			return -1;
		shell_words(&attempt->command, text);
		return 0;
	}
	if (strcmp(key, "setup") == 0) {
		if (read_text(reader, item, key, &text) < 0)
			return -1;
		shell_words(&attempt->setup, text);
		return 0;
	}
	return read_setting(reader, item, key, attempt_keys, &attempt->settings);
}

static int read_attempt(const struct race_reader *reader, const struct value *map)
{
	const char *name = map->kind == VALUE_MAP ? value_get_text(map, "name") : NULL;
	struct race_attempt *attempt;

	if (!name)
		return refuse(reader, map,
			      "an attempt is a map with a name: {name: patch, script: \"...\"}");
	if (race_add(reader->plan, name, &attempt, reader->err) < 0)
		return at(reader, map);
	for (size_t i = 0; i < map->many.count; i++) {
		if (read_attempt_key(reader, map->many.items[i], map->many.keys[i], attempt) < 0)
			return -1;
	}
	if (attempt->command.count == 0)
		return refuse(reader, map, "this attempt has neither script nor command");
	return 0;
}

static int read_attempts(const struct race_reader *reader, const struct value *list)
{
	if (list->kind != VALUE_LIST || list->many.count == 0)
		return refuse(reader, list, "'attempts' must be a list of attempts");
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
		return read_text(reader, item, key, &plan->base);
	if (strcmp(key, "check") == 0)
		return read_text(reader, item, key, &plan->check);
	if (strcmp(key, "prefer") != 0)
		return read_setting(reader, item, key, plan_keys, &plan->settings);
	if (read_text(reader, item, key, &text) < 0)
		return -1;
	return race_rules_parse(text, &plan->rules, reader->err) < 0 ? at(reader, item) : 0;
}

int race_read(const char *bytes, size_t len, const char *origin, struct race_plan *plan,
	      struct error *err)
{
	const struct race_reader reader = { origin, plan, err };
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
