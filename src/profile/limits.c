/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of limits, as other tools write them:
 *
 *   default_limits: {memory_mb: 256, cpu_cores: 1, execution_time_seconds: 30, max_processes: 64, disk_mb: 100}
 *   language_specific:
 *     python: {memory_mb: 512}
 */
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "profile/reader.h"

#include <string.h>

static const struct {
	const char *key;
	const char *setting;
	const char *unit; /* put behind the number */
} limits[] = {
	{ "memory_mb", "mem", "m" },
	{ "cpu_cores", "cpu", "" },
	{ "execution_time_seconds", "time", "s" },
	{ "max_processes", "pids", "" },
	{ "disk_mb", "disk", "m" },
};

static int unknown(const struct reader *reader, const struct value *item, const char *key)
{
	struct suggest suggest;

	suggest_init(&suggest, key);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		suggest_try(&suggest, limits[i].key);
	return value_reader_unknown(&reader->file, item, key, suggest.best);
}

static int read_limit(const struct reader *reader, const char *key, const struct value *item,
		      struct settings *settings)
{
	const char *text = reader_text(reader, item, key);
	owned(free_ptr) char *value = NULL;

	if (!text)
		return -1;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (strcmp(limits[i].key, key) != 0)
			continue;
		/* The unit is the key's: 512m here would be something else than it looks. */
		if (!text[0] || strspn(text, "0123456789.") != strlen(text))
			return reader_refuse(reader, item, key, "is a number");
		value = xasprintf("%s%s", text, limits[i].unit);
		if (settings_set(settings, setting_find(limits[i].setting), key, value,
				 reader->file.err) < 0) {
			reader->file.err->code = ERROR_INPUT;
			return value_reader_at(&reader->file, item);
		}
		return 0;
	}
	return unknown(reader, item, key);
}

int reader_limits(const struct reader *reader, const struct value *map, struct settings *settings)
{
	if (map->kind != VALUE_MAP)
		return reader_refuse(reader, map, "limits", "are a map: {memory_mb: 512}");
	for (size_t i = 0; i < map->many.count; i++) {
		if (read_limit(reader, map->many.keys[i], map->many.items[i], settings) < 0)
			return -1;
	}
	return 0;
}

int reader_language_limits(const struct reader *reader, const struct value *map)
{
	if (map->kind != VALUE_MAP)
		return reader_refuse(reader, map, "language_specific",
				     "is a map: {python: {memory_mb: 512}}");
	for (size_t i = 0; i < map->many.count; i++) {
		enum profile_language language = profile_language_named(map->many.keys[i]);

		if (language == PROFILE_LANGUAGES)
			return reader_refuse(
				reader, map->many.items[i], map->many.keys[i],
				"is no language here; write python, javascript or shell");
		if (reader_limits(reader, map->many.items[i],
				  &reader->profile->languages[language]) < 0)
			return -1;
	}
	return 0;
}
