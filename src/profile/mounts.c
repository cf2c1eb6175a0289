/* SPDX-License-Identifier: Apache-2.0 */
/* The key `mounts`: a list of {host, guest, mode}. */
#include "profile/reader.h"

#include "base/text/suggest.h"
#include "base/core/own.h"

#include <string.h>

static int read_mode(const struct reader *reader, const struct value *item,
		     struct settings_mount *mount)
{
	static const char *const modes[] = { "ro", "rw", "rw-through", NULL };
	const char *mode = reader_text(reader, item, "mode");
	char shown[STR_SHOWN_SIZE];

	if (!mode)
		return -1;
	for (size_t i = 0; modes[i]; i++) {
		if (strcmp(mode, modes[i]) != 0)
			continue;
		mount->writable = i > 0;
		mount->through = i == 2;
		return 0;
	}
	error_set(reader->file.err, ERROR_INPUT, "mode '%s' is none of ro, rw, rw-through",
		  str_shown(mode, shown));
	return value_reader_at(&reader->file, item);
}

static int read_guest(const struct reader *reader, const struct value *item, char **ret_guest)
{
	const char *guest = reader_text(reader, item, "guest");
	owned(free_ptr) char *clean = NULL;

	if (!guest)
		return -1;
	if (guest[0] != '/')
		return reader_refuse(reader, item, "guest", "must be an absolute path");
	clean = reader_path(reader, item, "guest", guest);
	if (!clean)
		return -1;
	if (strcmp(clean, "/") == 0)
		return reader_refuse(reader, item, "guest", "cannot be the root");
	*ret_guest = ptr_take(&clean);
	return 0;
}

static int read_host(const struct reader *reader, const struct value *item, char **ret_host)
{
	const char *host = reader_text(reader, item, "host");

	*ret_host = host ? reader_path(reader, item, "host", host) : NULL;
	return *ret_host ? 0 : -1;
}

static int read_member(const struct reader *reader, const char *key, const struct value *item,
		       struct settings_mount *mount)
{
	static const char *const keys[] = { "host", "guest", "mode", NULL };

	if (strcmp(key, "host") == 0)
		return read_host(reader, item, &mount->host);
	if (strcmp(key, "guest") == 0)
		return read_guest(reader, item, &mount->guest);
	if (strcmp(key, "mode") == 0)
		return read_mode(reader, item, mount);
	return value_reader_unknown(&reader->file, item, key, suggest_of(key, keys));
}

static void mount_done(struct settings_mount *mount)
{
	free(mount->host);
	free(mount->guest);
}

static int read_mount(const struct reader *reader, const struct value *map)
{
	owned(mount_done) struct settings_mount mount = { .host = NULL };

	if (map->kind != VALUE_MAP)
		return reader_refuse(reader, map, "mounts",
				     "has entries of the form {host: PATH, guest: PATH, mode: ro}");
	for (size_t i = 0; i < map->many.count; i++)
		if (read_member(reader, map->many.keys[i], map->many.items[i], &mount) < 0)
			return -1;
	if (!mount.host || !mount.guest)
		return reader_refuse(reader, map, "mounts",
				     mount.host ? "has an entry without 'guest'"
						: "has an entry without 'host'");
	settings_add_mount(&reader->profile->settings, mount.host, mount.guest, mount.writable,
			   mount.through);
	return 0;
}

int reader_mounts(const struct reader *reader, const struct value *list)
{
	if (list->kind != VALUE_LIST)
		return reader_refuse(reader, list, "mounts", "takes a list");
	for (size_t i = 0; i < list->many.count; i++)
		if (read_mount(reader, list->many.items[i]) < 0)
			return -1;
	return 0;
}
