/* SPDX-License-Identifier: Apache-2.0 */
/* An archive that is a directory, and what both kinds share. */
#include "app/archive/place.h"

#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DRAFTS "drafts"
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* A draft that no process has written to for so long is one that a killed process left. */
#define DRAFT_AGE_S (24 * 3600)

struct dir_place {
	struct archive_place base;
	char *path;
	int fd;
};

void archive_draft_done(struct archive_draft *draft)
{
	fd_close(&draft->fd);
	if (draft->path)
		(void)unlink(draft->path);
	free_ptr(&draft->path);
}

int archive_draft_make(const char *path, struct archive_draft *ret_draft, struct error *err)
{
	char id[ID_RUN_SIZE];

	*ret_draft = (struct archive_draft){ .fd = -1 };
	if (id_run(id, err) < 0)
		return -1;
	ret_draft->path = xasprintf("%s/%s", path, id);
	ret_draft->fd = open(ret_draft->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (ret_draft->fd >= 0)
		return 0;
	(void)error_errno(err, ERROR_HOST, "cannot write to '%s'", path);
	free_ptr(&ret_draft->path);
	return -1;
}

bool archive_is_manifest_name(const char *name)
{
	static const char form[] = "dddd-dd-dd/";
	size_t len = sizeof(form) - 1;
	char hex[SHA256_HEX_SIZE];

	for (size_t i = 0; i < len; i++) {
		bool is_digit = name[i] >= '0' && name[i] <= '9';

		if (form[i] == 'd' ? !is_digit : name[i] != form[i])
			return false;
	}
	if (strlen(name) != len + SHA256_HEX_SIZE - 1 + strlen(".json") || !str_ends(name, ".json"))
		return false;
	(void)snprintf(hex, sizeof(hex), "%s", name + len);
	return sha256_is_hex(hex);
}

static int dir_draft(struct archive_place *base, struct archive_draft *ret_draft, struct error *err)
{
	const struct dir_place *place = (struct dir_place *)base;
	owned(free_ptr) char *path = xasprintf("%s/" DRAFTS, place->path);

	return archive_draft_make(path, ret_draft, err);
}

/* Makes what is missing of the directories above NAME, and opens the last one. */
static int open_above(const struct dir_place *place, const char *name, bool is_made)
{
	owned(free_ptr) char *dirs = xstrdup(name);
	owned(fd_close) int fd = fcntl(place->fd, F_DUPFD_CLOEXEC, 3);
	char *at = dirs, *slash;

	for (; fd >= 0 && (slash = strchr(at, '/')); at = slash + 1) {
		owned(fd_close) int up = fd_take(&fd);

		*slash = '\0';
		if (is_made && mkdirat(up, at, 0700) == 0 && fsync(up) < 0)
			return -1;
		fd = openat(up, at, DIRECTORY);
	}
	return fd_take(&fd);
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* What is on disk under NAME is what it has to be. */
static int look_back(int dir_fd, const char *name, const char *sha256, struct error *err)
{
	owned(fd_close) int fd = file_open(dir_fd, last_part(name), O_NOFOLLOW, NULL);
	char found[SHA256_HEX_SIZE];

	if (fd < 0 || sha256_fd(fd, found) < 0)
		return error_errno(err, ERROR_HOST, "cannot read back '%s'", name);
	if (strcmp(found, sha256) != 0)
		return error_advise(err, ERROR_INPUT, "move it out of the archive",
				    "'%s' is damaged: it holds other bytes than its name says",
				    name);
	return 0;
}

static int dir_put(struct archive_place *base, const struct archive_draft *draft, const char *name,
		   const char *sha256, struct error *err)
{
	const struct dir_place *place = (struct dir_place *)base;
	owned(fd_close) int above = open_above(place, name, true);

	if (above < 0)
		return error_errno(err, ERROR_HOST, "cannot make '%s' in '%s'", name, place->path);
	if (fsync(draft->fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot write to '%s'", place->path);
	/* Never in the place of another file: link fails where rename would replace. Not all filesystems have links. */
	if (linkat(AT_FDCWD, draft->path, above, last_part(name), 0) < 0 && errno != EEXIST &&
	    renameat2(AT_FDCWD, draft->path, above, last_part(name), RENAME_NOREPLACE) < 0 &&
	    errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make '%s' in '%s'", name, place->path);
	if (fsync(above) < 0)
		return error_errno(err, ERROR_HOST, "cannot write to '%s'", place->path);
	return look_back(above, name, sha256, err);
}

static int dir_get(struct archive_place *base, const char *name, uint64_t max, int *ret_fd,
		   struct error *err)
{
	const struct dir_place *place = (struct dir_place *)base;
	owned(fd_close) int above = open_above(place, name, false);
	owned(fd_close) int fd = -1;
	struct stat st;

	if (above >= 0)
		fd = file_open(above, last_part(name), O_NOFOLLOW, &st);
	if (fd < 0 && errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "'%s' is not in the archive", name);
	if (fd < 0)
		return error_errno(err, ERROR_INPUT, "'%s' of the archive", name);
	if ((uint64_t)st.st_size > max)
		return error_set(err, ERROR_INPUT, "'%s' of the archive is too large", name);
	*ret_fd = fd_take(&fd);
	return 0;
}

static int list_day(int above, const char *day, struct strv *ret_names, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(above, day);
	struct dirent *entry;
	int got;

	while ((got = dir_next(dir, &entry)) > 0) {
		owned(free_ptr) char *name = xasprintf("%s/%s", day, entry->d_name);

		if (archive_is_manifest_name(name))
			strv_add(ret_names, name);
	}
	return got < 0 && errno != ENOTDIR && errno != ELOOP
		       ? error_errno(err, ERROR_HOST, "cannot list " ARCHIVE_MANIFESTS "/%s", day)
		       : 0;
}

static int dir_list(struct archive_place *base, struct strv *ret_names, struct error *err)
{
	const struct dir_place *place = (struct dir_place *)base;
	owned(fd_close) int above = openat(place->fd, ARCHIVE_MANIFESTS, DIRECTORY);
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;
	int got;

	if (above < 0 && errno == ENOENT)
		return 0;
	dir = above < 0 ? NULL : dir_open(above, ".");
	while ((got = dir_next(dir, &entry)) > 0)
		if (list_day(above, entry->d_name, ret_names, err) < 0)
			return -1;
	return got < 0 ? error_errno(err, ERROR_HOST, "cannot list " ARCHIVE_MANIFESTS " in '%s'",
				     place->path)
		       : 0;
}

static void dir_close_place(struct archive_place *base)
{
	struct dir_place *place = (struct dir_place *)base;

	fd_close(&place->fd);
	free(place->path);
}

/* Drafts of all machines that share the archive: those that may still be written to are young. */
static void sweep_drafts(int place_fd)
{
	owned(fd_close) int fd = openat(place_fd, DRAFTS, DIRECTORY);
	owned(dir_close) DIR *dir = fd < 0 ? NULL : dir_open(fd, ".");
	struct dirent *entry;
	struct stat st;

	while (dir && dir_next(dir, &entry) > 0)
		if (id_run_epoch_ms(entry->d_name) > 0 &&
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime + DRAFT_AGE_S < time(NULL))
			(void)unlinkat(fd, entry->d_name, 0);
}

static int open_directory(const char *path, bool is_written, struct archive_place **ret_place,
			  struct error *err)
{
	static const struct archive_place_calls calls = { dir_draft, dir_put, dir_get, dir_list,
							  dir_close_place };
	struct dir_place *place = xcalloc(1, sizeof(*place));
	owned(archive_place_release) struct archive_place *base = &place->base;

	base->calls = &calls;
	place->path = xstrdup(path);
	place->fd = -1;
	if (is_written && mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make the archive '%s'", path);
	place->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the archive '%s'", path);
	if (is_written && mkdirat(place->fd, DRAFTS, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot write to the archive '%s'", path);
	if (is_written)
		sweep_drafts(place->fd);
	*ret_place = ptr_take(&base);
	return 0;
}

int archive_place_check(const char *url, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (str_starts(url, "file:/") || str_starts(url, "s3://"))
		return 0;
	return error_set(err, ERROR_INPUT,
			 "archive: %s is neither file:/DIR nor s3://BUCKET/PREFIX",
			 str_shown(url, shown));
}

int archive_place_open(const struct archive_address *address, struct archive_place **ret_place,
		       struct error *err)
{
	const char *url = address->url;
	int status;

	if (archive_place_check(url, err) < 0)
		return -1;
	if (str_starts(url, "file:/")) {
		const char *path = url + strlen("file:");

		/* file:///DIR is the same. */
		status = open_directory(str_starts(path, "///") ? path + 2 : path,
					address->is_written, ret_place, err);
	} else {
		status = archive_s3_open(address, ret_place, err);
	}
	if (status == 0)
		(*ret_place)->url = xstrdup(url);
	return status;
}

void archive_place_release(struct archive_place **slot)
{
	if (!*slot)
		return;
	(*slot)->calls->close(*slot);
	free((*slot)->url);
	free_ptr(slot);
}
