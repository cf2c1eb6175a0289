/* SPDX-License-Identifier: Apache-2.0 */
/* Files of agents: read, compared, replaced. */
#include "app/agent/setup_file.h"

#include "base/dir.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/real_path.h"

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
			return error_set(err, ERROR_DENIED,
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
	return error_advise(err, ERROR_CONFLICT, "try again", "%s was changed meanwhile",
			    file->path);
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

int setup_file_write(const struct setup_file *file, struct error *err)
{
	owned(free_ptr) char *new_path = xasprintf("%s" NEW_SUFFIX, file->path);
	owned(free_ptr) char *dir =
		xstrndup(file->path, (size_t)(strrchr(file->path, '/') - file->path));
	owned(fd_close) int fd = -1;

	if (check_same(file, err) < 0)
		return -1;
	if (setup_file_is_over(file))
		return unlink(file->path) < 0 ? error_errno(err, ERROR_HOST, "%s", file->path) : 0;
	if (*dir && dir_make_all(dir) < 0)
		return error_errno(err, ERROR_HOST, "%s", dir);
	/* What a call that was killed left behind. */
	(void)unlink(new_path);
	fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fill(fd, file) < 0 || rename(new_path, file->path) < 0) {
		error_errno(err, ERROR_HOST, "%s", file->path);
		(void)unlink(new_path);
		return -1;
	}
	return 0;
}
