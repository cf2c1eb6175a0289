/* SPDX-License-Identifier: Apache-2.0 */
/* Settings files of srt: the keys, one by one, and what becomes of each. */
#include "profile/srt.h"

#include "base/text/json_read.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "profile/srt_parts.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 1000

int srt_refuse(const struct srt_reader *reader, const struct value *item, const char *key,
	       const char *reason)
{
	char shown[STR_SHOWN_SIZE];

	if (item->kind == VALUE_TEXT)
		error_set(reader->file.err, ERROR_INPUT, "%s: '%s' %s", key,
			  str_shown(item->text.bytes, shown), reason);
	else
		error_set(reader->file.err, ERROR_INPUT, "%s %s", key, reason);
	return value_reader_at(&reader->file, item);
}

/* Whether a key has an effect: false, null and empty values are the same as no key. */
static bool says_something(const struct value *item)
{
	switch (item->kind) {
	case VALUE_NULL:
		return false;
	case VALUE_BOOL:
		return item->truth;
	case VALUE_LIST:
	case VALUE_MAP:
		return item->many.count > 0;
	case VALUE_INT:
	case VALUE_REAL:
	case VALUE_TEXT:
		break;
	}
	return true;
}

static int read_list(struct srt_reader *reader, const struct value *list, const char *name,
		     const struct srt_key *key)
{
	if (list->kind != VALUE_LIST)
		return srt_refuse(reader, list, name, "must be a list");
	if (list->many.count > ENTRIES_MAX)
		return srt_refuse(reader, list, name, "has more than 1000 entries");
	for (size_t i = 0; i < list->many.count; i++) {
		if (key->take(reader, list->many.items[i], name) < 0)
			return -1;
	}
	return 0;
}

static int read_key(struct srt_reader *reader, const struct value *item, const char *name,
		    const struct srt_key *key)
{
	switch (key->fate) {
	case SRT_LIST:
		return read_list(reader, item, name, key);
	case SRT_MAP:
		if (item->kind != VALUE_MAP)
			return srt_refuse(reader, item, name, "must be an object");
		return key->take(reader, item, name);
	case SRT_NOT_GIVEN:
		if (says_something(item))
			strv_addf(reader->notes, "%s: %s is not given in a sandbox of aisbx",
				  reader->place->origin, name);
		return 0;
	case SRT_REFUSED:
		if (!says_something(item))
			return 0;
		error_set(reader->file.err, ERROR_DENIED, "%s cannot be enforced here: %s", name,
			  key->instead);
		return value_reader_at(&reader->file, item);
	case SRT_IDLE:
		break;
	}
	return 0;
}

static const struct srt_key *find_key(const struct srt_key *keys, const char *name,
				      struct suggest *suggest)
{
	suggest_init(suggest, name);
	for (; keys->name; keys++) {
		if (strcmp(keys->name, name) == 0)
			return keys;
		suggest_try(suggest, keys->name);
	}
	return NULL;
}

int srt_read_keys(struct srt_reader *reader, const struct value *map, const char *section,
		  const struct srt_key *keys)
{
	for (size_t i = 0; i < map->many.count; i++) {
		const struct value *item = map->many.items[i];
		owned(free_ptr) char *name = xasprintf("%s%s", section, map->many.keys[i]);
		struct suggest suggest;
		const struct srt_key *key = find_key(keys, map->many.keys[i], &suggest);

		if (!key)
			return value_reader_unknown(&reader->file, item, name, suggest.best);
		if (read_key(reader, item, name, key) < 0)
			return -1;
	}
	return 0;
}

/* Keys the file must have, as srt itself insists: a forgotten one is a mistake, not a wish. */
static int want(const struct srt_reader *reader, const struct value *map, const char *section,
		const char *const *names)
{
	for (; *names; names++) {
		if (value_get(map, *names))
			continue;
		error_set(reader->file.err, ERROR_INPUT,
			  "'%s%s' is missing: srt's file must have it, if only as an empty list",
			  section, *names);
		return value_reader_at(&reader->file, map);
	}
	return 0;
}

static int take_network(struct srt_reader *reader, const struct value *map, const char *name)
{
	static const char *const needed[] = { "allowedDomains", "deniedDomains", NULL };

	(void)name;
	if (want(reader, map, "network.", needed) < 0)
		return -1;
	return srt_read_keys(reader, map, "network.", srt_network_keys);
}

static int take_filesystem(struct srt_reader *reader, const struct value *map, const char *name)
{
	static const char *const needed[] = { "denyRead", "allowWrite", "denyWrite", NULL };

	(void)name;
	if (want(reader, map, "filesystem.", needed) < 0)
		return -1;
	return srt_read_keys(reader, map, "filesystem.", srt_filesystem_keys);
}

static int take_credentials(struct srt_reader *reader, const struct value *map, const char *name)
{
	(void)name;
	return srt_read_keys(reader, map, "credentials.", srt_credentials_keys);
}

/* Paths of srt's own helpers, and what concerns other systems, are no business of ours. */
static const struct srt_key top_keys[] = {
	{ "network", SRT_MAP, take_network, NULL },
	{ "filesystem", SRT_MAP, take_filesystem, NULL },
	{ "credentials", SRT_MAP, take_credentials, NULL },
	{ "ignoreViolations", SRT_IDLE, NULL, NULL },
	{ "enableWeakerNestedSandbox", SRT_NOT_GIVEN, NULL, NULL },
	{ "enableWeakerNetworkIsolation", SRT_NOT_GIVEN, NULL, NULL },
	{ "allowAppleEvents", SRT_IDLE, NULL, NULL },
	{ "allowPty", SRT_IDLE, NULL, NULL },
	{ "mandatoryDenySearchDepth", SRT_IDLE, NULL, NULL },
	{ "ripgrep", SRT_IDLE, NULL, NULL },
	{ "seccomp", SRT_IDLE, NULL, NULL },
	{ "bwrapPath", SRT_IDLE, NULL, NULL },
	{ "socatPath", SRT_IDLE, NULL, NULL },
	{ "git", SRT_IDLE, NULL, NULL },
	{ "javaAgentJarPath", SRT_IDLE, NULL, NULL },
	{ "windows", SRT_IDLE, NULL, NULL },
	{ .name = NULL },
};

static int read_file(struct srt_reader *reader, const struct value *file)
{
	static const char *const needed[] = { "network", "filesystem", NULL };

	if (file->kind != VALUE_MAP)
		return srt_refuse(reader, file, "the file", "must be an object");
	if (want(reader, file, "", needed) < 0 || srt_read_keys(reader, file, "", top_keys) < 0)
		return -1;
	return srt_check_paths(reader, file);
}

void srt_writes_done(struct srt_writes *writes)
{
	strv_done(&writes->allow);
	strv_done(&writes->deny);
	free(writes->unclear);
	*writes = (struct srt_writes){ .unclear = NULL };
}

static int parse(const char *bytes, size_t len, struct srt_reader *reader)
{
	const struct json_limits limits = { .bytes = SRT_MAX_BYTES, .depth = 16 };
	owned(value_release) struct value *file = NULL;
	int status;

	if (json_read(bytes, len, &limits, &file, reader->file.err) < 0)
		return error_context(reader->file.err, "%s", reader->file.origin);
	status = read_file(reader, file);
	strv_done(&reader->allow_read);
	return status;
}

int srt_parse_writes(const char *bytes, size_t len, const struct srt_place *place,
		     struct srt_writes *ret_writes, struct error *err)
{
	owned(settings_done) struct settings settings;
	owned(strv_done) struct strv notes = STRV_INIT;
	struct srt_reader reader = {
		.file = { .origin = place->origin, .err = err },
		.place = place,
		.settings = &settings,
		.notes = &notes,
		.writes = ret_writes,
	};

	settings_init(&settings);
	*ret_writes = (struct srt_writes){ .unclear = NULL };
	return parse(bytes, len, &reader);
}

int srt_parse(const char *bytes, size_t len, const struct srt_place *place,
	      struct settings *ret_settings, struct strv *notes, struct error *err)
{
	owned(srt_writes_done) struct srt_writes unused = { .unclear = NULL };
	struct settings settings;
	struct srt_reader reader = {
		.file = { .origin = place->origin, .err = err },
		.place = place,
		.settings = &settings,
		.notes = notes,
		.writes = &unused,
	};

	settings_init(&settings);
	if (parse(bytes, len, &reader) < 0) {
		settings_done(&settings);
		return -1;
	}
	/* Silence would leave the profile's word in force. */
	settings.net = xstrdup(settings.allow.count > 0 ? "allow" : "none");
	*ret_settings = settings;
	return 0;
}
