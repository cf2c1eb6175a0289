/* SPDX-License-Identifier: Apache-2.0 */
/* How much of its room for artifacts an owner has used, so that no program fills the disk by saving. */
#include "app/change/artifact_parts.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/text/units.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_MAX 4096u

static bool is_same_owner(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* What one record takes: the contents it names, and itself. 0 for another owner's, or one that cannot be read. */
static uint64_t bytes_of(int dir_fd, const char *name, const char *owner)
{
	owned(value_release) struct value *record = NULL;
	struct error ignored;
	struct stat st;
	int64_t size = 0;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    artifact_read(dir_fd, name, &record, &ignored) < 0 ||
	    !is_same_owner(value_get_text(record, "owner"), owner))
		return 0;
	/* Records of earlier versions have the size alone. */
	if (!value_get_int(record, "allocated", &size))
		(void)value_get_int(record, "size", &size);
	return (uint64_t)st.st_size + (uint64_t)size;
}

/* The caller holds the lock of the records, so no draft has a writer: it is what a killed save left. */
static void remove_drafts(int dir_fd)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0)
		if (entry->d_name[0] == '.')
			(void)unlinkat(dir_fd, entry->d_name, 0);
}

int artifact_room_read(int dir_fd, const char *owner, uint64_t bytes_max,
		       struct artifact_room *ret_room, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;

	*ret_room = (struct artifact_room){ .bytes_max = bytes_max };
	remove_drafts(dir_fd);
	if (artifact_names(dir_fd, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		uint64_t bytes = bytes_of(dir_fd, names.items[i], owner);

		ret_room->bytes += bytes;
		ret_room->count += bytes > 0;
	}
	return 0;
}

int artifact_room_take(struct artifact_room *room, uint64_t bytes, struct error *err)
{
	char used[32], most[32];

	if (room->count < COUNT_MAX && bytes <= room->bytes_max &&
	    room->bytes <= room->bytes_max - bytes) {
		room->bytes += bytes;
		return 0;
	}
	/* To the next MiB: an exact number of bytes is harder to read. */
	units_format_size((int64_t)(((room->bytes >> 20) + (room->bytes % (1u << 20) > 0)) << 20),
			  used);
	units_format_size((int64_t)room->bytes_max, most);
	return error_advise(err, ERROR_DENIED,
			    "remove some with aisbx artifact rm ID, then aisbx gc",
			    "no room for this artifact: %zu are kept with %s, at most %u with %s",
			    room->count, used, COUNT_MAX, most);
}
