/* SPDX-License-Identifier: Apache-2.0 */
/* A remote that is a directory: files written once, by descriptor, following no link. */
#include "app/travel/remote.h"

#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "workspace/disk/copy_file.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK "aisbx-remote"
#define FIRST "aisbx-remote 1 "
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define NAME_MAX_BYTES 200
#define LIST_MAX 1000000

int remote_draft(struct error *err)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("aisbx-travel", MFD_CLOEXEC);
	return fd >= 0 ? fd : error_errno(err, ERROR_HOST, "no room for a draft in /var/tmp");
}

/* Parts of letters, digits, '.', '_' and '-', of which none begins with a dot. The serving side relies on it. */
static int check_name(const char *name, struct error *err)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name);
	bool is_good = len > 0 && len < NAME_MAX_BYTES;
	char shown[STR_SHOWN_SIZE];

	for (const char *part = name; is_good; part++) {
		size_t letter_count = strspn(part, letters);

		is_good = letter_count > 0 && part[0] != '.';
		part += letter_count;
		if (!*part)
			break;
		is_good &= *part == '/';
	}
	return is_good ? 0
		       : error_set(err, ERROR_INPUT, "'%s' is no name of a file in a remote",
				   str_shown(name, shown));
}

/* The directory of NAME, made where it is missing; *ret_leaf points into NAME. */
static int open_parent(int root_fd, const char *name, bool makes, const char **ret_leaf)
{
	int fd = sys_open_beneath(root_fd, ".", DIRECTORY);
	const char *at = name, *slash;

	for (; fd >= 0 && (slash = strchr(at, '/')); at = slash + 1) {
		owned(free_ptr) char *part = xstrndup(at, (size_t)(slash - at));
		int next = -1;

		if (!makes || mkdirat(fd, part, 0777) == 0 || errno == EEXIST)
			next = sys_open_beneath(fd, part, DIRECTORY);
		int errnum = errno;

		(void)close(fd);
		errno = errnum;
		fd = next;
	}
	*ret_leaf = at;
	return fd;
}

/* Writes a file beside its place: without a name where that works, so that a killed process leaves nothing. */
static int open_draft(int dir_fd, char ret_name[static ID_RUN_SIZE + 8], struct error *err)
{
	char id[ID_RUN_SIZE];
	int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0444);

	ret_name[0] = '\0';
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	if (id_run(id, err) < 0)
		return -1;
	(void)snprintf(ret_name, ID_RUN_SIZE + 8, ".new-%s", id);
	return openat(dir_fd, ret_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
}

static int link_draft(int dir_fd, int fd, const char *draft, const char *leaf)
{
	char self[32];

	if (draft[0])
		return linkat(dir_fd, draft, dir_fd, leaf, 0);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, dir_fd, leaf, AT_SYMLINK_FOLLOW);
}

/* What is called by its digest and lies there already must be that: a push of something else could never be pulled. */
static int check_kept(int dir_fd, const char *name, const char *leaf, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (!str_starts(name, "objects/") && !str_starts(name, "bundles/"))
		return 0;
	fd = file_open(dir_fd, leaf, O_NOFOLLOW, NULL);
	return fd >= 0 && digest_matches(fd, leaf) == 1
		       ? 0
		       : error_advise(err, ERROR_INPUT, "remove that file there, then push again",
				      "remote: %s is damaged", name);
}

int remote_dir_put(int root_fd, const char *name, int fd, bool *ret_is_new, struct error *err)
{
	char draft_name[ID_RUN_SIZE + 8] = "";
	owned(fd_close) int dir_fd = -1, draft_fd = -1;
	const char *leaf;
	int status, errnum;

	*ret_is_new = false;
	if (check_name(name, err) < 0)
		return -1;
	dir_fd = open_parent(root_fd, name, true, &leaf);
	if (dir_fd < 0)
		return error_errno(err, ERROR_HOST, "remote: %s", name);
	if (faccessat(dir_fd, leaf, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return check_kept(dir_fd, name, leaf, err);
	draft_fd = open_draft(dir_fd, draft_name, err);
	/* What a head names is on disk before it. */
	status = draft_fd < 0 || copy_content(fd, draft_fd) < 0 ||
				 (str_starts(name, "names/") && syncfs(draft_fd) < 0)
			 ? -1
			 : 0;
	if (status == 0)
		status = link_draft(dir_fd, draft_fd, draft_name, leaf);
	if (status == 0 && str_starts(name, "names/"))
		status = fsync(dir_fd);
	errnum = errno;
	if (draft_fd >= 0 && draft_name[0])
		(void)unlinkat(dir_fd, draft_name, 0);
	*ret_is_new = status == 0;
	if (status == 0)
		return 0;
	if (errnum == EEXIST)
		return check_kept(dir_fd, name, leaf, err);
	errno = errnum;
	return error_errno(err, ERROR_HOST, "remote: cannot keep %s", name);
}

int remote_dir_open_file(int root_fd, const char *name, int *ret_fd, struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	const char *leaf;

	if (check_name(name, err) < 0)
		return -1;
	dir_fd = open_parent(root_fd, name, false, &leaf);
	*ret_fd = dir_fd < 0 ? -1 : file_open(dir_fd, leaf, O_NOFOLLOW, NULL);
	if (*ret_fd >= 0)
		return 0;
	if (errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "remote: there is no %s", name);
	return error_errno(err, ERROR_INPUT, "remote: %s", name);
}

int remote_dir_list(int root_fd, const char *directory, struct strv *ret_names, struct error *err)
{
	owned(dir_close) DIR *dir = NULL;
	owned(fd_close) int fd = -1;
	struct dirent *entry;
	int got;

	if (check_name(directory, err) < 0)
		return -1;
	fd = sys_open_beneath(root_fd, directory, DIRECTORY);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_errno(err, ERROR_INPUT, "remote: %s", directory);
	dir = dir_take(&fd);
	while ((got = dir_next(dir, &entry)) > 0) {
		if (entry->d_name[0] != '.')
			strv_add(ret_names, entry->d_name);
		if (ret_names->count > LIST_MAX)
			return error_set(err, ERROR_DENIED, "remote: too much lies in %s",
					 directory);
	}
	if (got < 0)
		return error_errno(err, ERROR_HOST, "remote: %s", directory);
	strv_sort(ret_names);
	return 0;
}

static bool is_empty(int fd)
{
	owned(dir_close) DIR *dir = dir_open(fd, ".");
	struct dirent *entry;

	return dir && dir_next(dir, &entry) == 0;
}

static int make_mark(int fd, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int draft = remote_draft(err);
	char id[ID_RUN_SIZE];
	bool is_new;

	if (draft < 0 || id_run(id, err) < 0)
		return -1;
	str_addf(&text, FIRST "%s\n", id);
	if (fd_write_all(draft, text.data, text.len) < 0)
		return error_errno(err, ERROR_HOST, "remote: %s", MARK);
	return remote_dir_put(fd, MARK, draft, &is_new, err);
}

int remote_dir_open(const char *path, bool makes, struct remote *ret_remote, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	struct error absent;
	const char *id;

	if (makes && dir_make_all(path) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	fd = open(path, DIRECTORY);
	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	if (!makes && is_empty(fd))
		return error_set(err, ERROR_NOT_FOUND, "nothing was pushed to %s", path);
	if (makes && is_empty(fd) && make_mark(fd, err) < 0)
		return -1;
	if (file_read(fd, MARK, 128, &text, &absent) < 0 || !str_starts(str_cstr(&text), FIRST))
		return error_advise(err, ERROR_INPUT, "name an empty directory to make one of it",
				    "%s is no remote of this version of aisbx", path);
	id = str_cstr(&text) + strlen(FIRST);
	(void)snprintf(ret_remote->id, sizeof(ret_remote->id), "%.*s", (int)strcspn(id, "\n"), id);
	if (id_run_epoch_ms(ret_remote->id) == 0)
		return error_set(err, ERROR_INPUT, "%s/" MARK " is damaged", path);
	ret_remote->fd = fd_take(&fd);
	return 0;
}
