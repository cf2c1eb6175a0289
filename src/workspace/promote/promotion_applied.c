/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a promotion left on the host, noted when it was applied and compared before it is taken back.
 *
 * The transaction compares inodes, sizes and mtimes, which an edit can keep; the ctime it cannot. But ctimes also move when a
 * later promotion of the same file is undone, or when the file gets another name. So where the ctime is not the one that was
 * noted, content and extended attributes decide.
 */
#include "workspace/promote/promotion_applied.h"

#include "base/core/own.h"
#include "workspace/disk/digest.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define APPLIED "applied"

/* Opens a file or directory that is IDENTITY; -1 with errno. */
static int open_object(int target_fd, const char *relative, const struct txn_identity *identity)
{
	if (target_type(identity) == 'f')
		return target_open_file(target_fd, relative, identity);
	return sys_open_beneath(target_fd, *relative ? relative : ".",
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/* 0, or -1 with errno. */
static int digest_attributes(int fd, char ret_hex[static SHA256_HEX_SIZE])
{
	owned(txn_attributes_done) struct txn_attributes meta = { 0 };

	if (txn_meta_read(fd, true, &meta) < 0)
		return -1;
	origin_digest_xattrs(&meta.xattrs, ret_hex);
	return 0;
}

/* Looks at what RECORD is about; false when it cannot be read, and then nothing is noted of it. */
static bool note_object(int target_fd, const char *target, struct origin_record *record)
{
	const char *relative = target_relative(target, record->path);
	struct origin *origin = &record->origin;
	bool is_merged = origin->quality != ORIGIN_EXACT;

	if (!relative || target_look(target_fd, relative, &origin->identity) < 0)
		return false;
	char type = target_type(&origin->identity);

	if (type != 'f' && type != 'd')
		return type != 0;
	owned(fd_close) int fd = open_object(target_fd, relative, &origin->identity);

	/* The list of paths has the sandbox's version of what was merged. */
	return fd >= 0 && digest_attributes(fd, origin->xattrs) == 0 &&
	       (!is_merged || type != 'f' || digest_fd(fd, origin->sha256) == 0);
}

void promotion_note_applied(const struct store *store, const struct promotion_entry *entry)
{
	owned(origin_records_done) struct origin_records paths = { 0 };
	owned(fd_close) int dir_fd = -1, target_fd = -1;
	owned(str_done) struct str lines = STR_INIT;
	struct error ignored = { 0 };

	if (promotion_open_directory(store, entry->id, &dir_fd, &ignored) < 0 ||
	    origin_records_read(dir_fd, "paths", &paths, &ignored) < 0 ||
	    target_open(entry->target, &target_fd, &ignored) < 0)
		return;
	for (size_t i = 0; i < paths.count; i++)
		if (note_object(target_fd, entry->target, &paths.items[i]))
			origin_records_put(&lines, &paths.items[i]);
	if (lines.len > 0)
		(void)origin_records_append(dir_fd, APPLIED, &lines, &ignored);
}

/* Whether the object at RELATIVE, which is NOW, has content and attributes as noted. 1, 0, or -1 with errno. */
static int has_content(int target_fd, const char *relative, const struct txn_identity *now,
		       const struct origin_record *path, const struct origin_record *applied)
{
	const struct origin_record *known = applied ? applied : path;
	char hex[SHA256_HEX_SIZE];
	int is_same = 1;

	/* Only the process that applied it could note what came of a merge. */
	if (!applied && path->origin.quality != ORIGIN_EXACT)
		return 1;
	owned(fd_close) int fd = open_object(target_fd, relative, now);

	if (fd < 0)
		return errno == EACCES || errno == ESTALE ? 0 : -1;
	if (target_type(now) == 'f')
		is_same = digest_matches(fd, known->origin.sha256);
	if (is_same <= 0 || !applied)
		return is_same;
	return digest_attributes(fd, hex) < 0 ? -1 : strcmp(hex, applied->origin.xattrs) == 0;
}

/*
 * Whether what is at a path is what was promoted there, by ctime, content and attributes, which the transaction does
 * not compare. 1, 0, or -1 with errno.
 */
static int is_as_applied(int target_fd, const char *relative, const struct origin_record *path,
			 const struct origin_record *applied)
{
	struct txn_identity now;

	if (target_look(target_fd, relative, &now) < 0)
		return -1;
	char type = target_type(&now);

	if (applied && target_is_same(&now, &applied->origin.identity))
		return 1;
	return type == 'f' || type == 'd' ? has_content(target_fd, relative, &now, path, applied)
					  : 1;
}

int promotion_check_applied(void *cookie, struct strv *ret_changed, struct error *err)
{
	const struct promotion_check *check = cookie;
	const char *target = check->entry->target;
	owned(origin_records_done) struct origin_records paths = { 0 }, applied = { 0 };
	owned(fd_close) int dir_fd = -1, target_fd = -1;

	if (promotion_open_directory(check->store, check->entry->id, &dir_fd, err) < 0 ||
	    origin_records_read(dir_fd, "paths", &paths, err) < 0 ||
	    origin_records_read(dir_fd, APPLIED, &applied, err) < 0 ||
	    target_open(target, &target_fd, err) < 0)
		return -1;
	origin_records_sort(&applied);
	for (size_t i = 0; i < paths.count; i++) {
		const struct origin_record *path = &paths.items[i];
		const char *relative = target_relative(target, path->path);
		int is_good =
			!relative ? 1
				  : is_as_applied(target_fd, relative, path,
						  origin_records_find(&applied, path->path, true));

		if (is_good < 0)
			return error_errno(err, ERROR_HOST, "cannot look at '%s'", path->path);
		if (!is_good)
			strv_add(ret_changed, relative);
	}
	return 0;
}
