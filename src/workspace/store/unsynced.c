/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of layers the disk may not have yet: lines of one file, added to and taken out under its lock. */
#include "workspace/store/unsynced.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/store_parts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNSYNCED_FILE "unsynced-layers"
#define BYTES_MAX (16u << 20)

static int open_locked(const struct store *store, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (store_open_lock_file(store->fd, UNSYNCED_FILE, &fd, err) < 0)
		return -1;
	if (store_flock(fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "cannot lock '%s'", UNSYNCED_FILE);
	*ret_fd = fd_take(&fd);
	return 0;
}

int unsynced_add(const struct store *store, const char *lid, struct error *err)
{
	owned(fd_close) int fd = -1;
	char line[LAYER_ID_SIZE + 1];
	int len = snprintf(line, sizeof(line), "%s\n", lid);

	if (open_locked(store, &fd, err) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_END) < 0 || fd_write_all(fd, line, (size_t)len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write '%s'", UNSYNCED_FILE);
	return 0;
}

/* Lines that are no ids are what a killed process left. */
static void parse(char *text, struct strv *ids)
{
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (layer_id_is_valid(line) && !strv_has(ids, line))
			strv_add(ids, line);
	}
}

static int read_ids(int fd, struct strv *ids, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (fd_read_all(fd, BYTES_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "cannot read '%s'", UNSYNCED_FILE);
	if (text.len > 0)
		parse(text.data, ids);
	return 0;
}

int unsynced_list(const struct store *store, struct strv *ids, struct error *err)
{
	owned(fd_close) int fd = -1;

	return open_locked(store, &fd, err) < 0 ? -1 : read_ids(fd, ids, err);
}

int unsynced_remove(const struct store *store, const struct strv *ids, struct error *err)
{
	owned(strv_done) struct strv all = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;

	if (open_locked(store, &fd, err) < 0 || read_ids(fd, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++) {
		if (!strv_has(ids, all.items[i]))
			str_addf(&text, "%s\n", all.items[i]);
	}
	/* In this order a kill leaves ids that are there twice, never one that is missing. */
	if (pwrite(fd, str_cstr(&text), text.len, 0) != (ssize_t)text.len ||
	    ftruncate(fd, (off_t)text.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write '%s'", UNSYNCED_FILE);
	return 0;
}

bool unsynced_is_any(const struct store *store)
{
	struct stat st;

	return fstatat(store->fd, UNSYNCED_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
}
