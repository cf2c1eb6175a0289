/* SPDX-License-Identifier: Apache-2.0 */
/* Files of agents: read, compared, replaced. */
#include "app/agent/setup_file.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)16 << 20)
#define NEW_SUFFIX ".aisbx-new"

static int read_file(struct setup_file *file, struct error *err)
{
	owned(fd_close) int fd = file_open(AT_FDCWD, file->path, 0, &file->st);

	file->exists = fd >= 0;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fd_read_all(fd, BYTES_MAX, &file->before) < 0)
		return error_errno(err, ERROR_HOST, "%s", file->path);
	if (file->st.st_uid != geteuid())
		return error_set(err, ERROR_DENIED, "%s belongs to another user", file->path);
	if (memchr(str_cstr(&file->before), '\0', file->before.len))
		return error_set(err, ERROR_INPUT, "%s is no text", file->path);
	str_add_bytes(&file->after, str_cstr(&file->before), file->before.len);
	return 0;
}

int setup_files_get(struct setup_files *files, const char *path, struct setup_file **ret_file,
		    struct error *err)
{
	/* Dot files are often links into a tree of their own: the file there is the one to replace. */
	owned(free_ptr) char *real = path_real(path);
	struct setup_file *file;

	for (size_t i = 0; i < files->count; i++) {
		if (strcmp(files->items[i].path, real ? real : path) == 0) {
			*ret_file = &files->items[i];
			return 0;
		}
	}
	if (files->count == SETUP_FILES_MAX)
		return error_advise(err, ERROR_USAGE, "name one agent at a time",
				    "too many files at once");
	file = &files->items[files->count++];
	*file = (struct setup_file){ .path = real ? ptr_take(&real) : xstrdup(path) };
	*ret_file = file;
	return read_file(file, err);
}

void setup_files_done(struct setup_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->items[i].path);
		str_done(&files->items[i].before);
		str_done(&files->items[i].after);
	}
	files->count = 0;
}

int setup_check_links(const char *dir, const char *name, struct error *err)
{
	owned(str_done) struct str path = STR_INIT;
	struct stat st;

	str_add(&path, dir);
	for (const char *at = name; *at;) {
		size_t len = strcspn(at, "/");

		str_add_char(&path, '/');
		str_add_bytes(&path, at, len);
		if (lstat(str_cstr(&path), &st) == 0 && S_ISLNK(st.st_mode))
			return error_advise(err, ERROR_DENIED, "take the link away first",
					    "%s is a link, which in a project may lead anywhere",
					    str_cstr(&path));
		at += len + (at[len] == '/');
	}
	return 0;
}

bool setup_file_is_over(const struct setup_file *file)
{
	const char *at = str_cstr(&file->after);

	at += strspn(at, " \r\n\t{}");
	return file->is_made && !*at;
}

static int refuse_changed(const struct setup_file *file, struct error *err)
{
	return error_advise(err, ERROR_CONFLICT, "try again", "%s was changed meanwhile",
			    file->path);
}

/* The program that owns the file may have written it meanwhile. */
static int check_same(const struct setup_file *file, struct error *err)
{
	struct stat st;
	bool exists = lstat(file->path, &st) == 0;

	if (exists == file->exists &&
	    (!exists || (st.st_ino == file->st.st_ino && st.st_size == file->st.st_size &&
			 st.st_ctim.tv_sec == file->st.st_ctim.tv_sec &&
			 st.st_ctim.tv_nsec == file->st.st_ctim.tv_nsec)))
		return 0;
	return refuse_changed(file, err);
}

/* Whether the file at PATH, which was FILE until now, holds what was read from it. */
static bool is_as_read(const struct setup_file *file, const char *path)
{
	owned(str_done) struct str now = STR_INIT;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);

	return fd >= 0 && fd_read_all(fd, BYTES_MAX, &now) == 0 && now.len == file->before.len &&
	       memcmp(str_cstr(&now), str_cstr(&file->before), now.len) == 0;
}

/* Filesystems that do not know the flags of renameat2. */
static bool is_unsupported(int errnum)
{
	return errnum == EINVAL || errnum == ENOSYS;
}

static int put_plainly(const struct setup_file *file, const char *new_path, struct error *err)
{
	if (check_same(file, err) < 0)
		return -1;
	return rename(new_path, file->path) < 0 ? error_errno(err, ERROR_HOST, "%s", file->path)
						: 0;
}

/* The draft comes in, and what it replaces comes out and is looked at: nothing that was written meanwhile is lost. */
static int put_draft(const struct setup_file *file, const char *new_path, struct error *err)
{
	unsigned flag = file->exists ? RENAME_EXCHANGE : RENAME_NOREPLACE;

	if (renameat2(AT_FDCWD, new_path, AT_FDCWD, file->path, flag) < 0) {
		if (is_unsupported(errno))
			return put_plainly(file, new_path, err);
		return errno == EEXIST || errno == ENOENT
			       ? refuse_changed(file, err)
			       : error_errno(err, ERROR_HOST, "%s", file->path);
	}
	if (!file->exists || is_as_read(file, new_path))
		return 0;
	/* Where the file is gone by now, what came out is still the newest of it. */
	if (renameat2(AT_FDCWD, new_path, AT_FDCWD, file->path, RENAME_EXCHANGE) < 0 &&
	    rename(new_path, file->path) < 0)
		return error_errno(err, ERROR_HOST, "%s", file->path);
	return refuse_changed(file, err);
}

/* The same with nothing to come in. */
static int remove_whole(const struct setup_file *file, const char *new_path, struct error *err)
{
	if (check_same(file, err) < 0)
		return -1;
	if (rename(file->path, new_path) < 0)
		return error_errno(err, ERROR_HOST, "%s", file->path);
	if (is_as_read(file, new_path))
		return 0;
	if (renameat2(AT_FDCWD, new_path, AT_FDCWD, file->path, RENAME_NOREPLACE) < 0 &&
	    (!is_unsupported(errno) || rename(new_path, file->path) < 0))
		return error_errno(err, ERROR_HOST, "%s", file->path);
	return refuse_changed(file, err);
}

static int fill(int fd, const struct setup_file *file)
{
	if (fd < 0 || fd_write_all(fd, str_cstr(&file->after), file->after.len) < 0)
		return -1;
	if (file->exists &&
	    (fchmod(fd, file->st.st_mode & 07777) < 0 ||
	     (file->st.st_gid != getegid() && fchown(fd, (uid_t)-1, file->st.st_gid) < 0)))
		return -1;
	return fsync(fd);
}

void setup_file_sweep(const struct setup_file *file)
{
	owned(free_ptr) char *new_path = xasprintf("%s" NEW_SUFFIX, file->path);

	(void)unlink(new_path);
}

static int write_draft(const struct setup_file *file, const char *new_path, struct error *err)
{
	owned(free_ptr) char *dir =
		xstrndup(file->path, (size_t)(strrchr(file->path, '/') - file->path));
	owned(fd_close) int fd = -1;

	if (*dir && dir_make_all(dir) < 0)
		return error_errno(err, ERROR_HOST, "%s", dir);
	fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fill(fd, file) < 0 ? error_errno(err, ERROR_HOST, "%s", new_path) : 0;
}

int setup_file_write(const struct setup_file *file, struct error *err)
{
	owned(free_ptr) char *new_path = xasprintf("%s" NEW_SUFFIX, file->path);
	int status;

	if (check_same(file, err) < 0)
		return -1;
	setup_file_sweep(file);
	if (setup_file_is_over(file)) {
		status = remove_whole(file, new_path, err);
	} else {
		status = write_draft(file, new_path, err);
		if (status == 0)
			status = put_draft(file, new_path, err);
	}
	setup_file_sweep(file);
	return status;
}
