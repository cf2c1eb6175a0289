/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that aisbx makes for the user. */
#include "app/config/own_key.h"

#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES_MAX 4096u

int own_key_open(const char *path, int *ret_fd, struct error *err)
{
	struct stat st;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, O_NOFOLLOW, &st);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_advise(err, ERROR_DENIED, "look at what is there, and remove it",
				    "%s must be a plain file: %s", path, error_words(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 077)) {
		error_set(err, ERROR_DENIED, "%s must be a file of yours alone", path);
		return error_add_hint(err, "write chmod 600 %s, or remove it and make a new one",
				      path);
	}
	*ret_fd = fd_take(&fd);
	return 1;
}

static int parse(const struct str *text, const char *path, unsigned char *ret_key, size_t len,
		 struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;
	bool is_key = base64_read(&bytes, str_cstr(text), strcspn(str_cstr(text), "\n")) &&
		      bytes.len == len;

	if (is_key)
		memcpy(ret_key, bytes.data, len);
	if (bytes.data)
		explicit_bzero(bytes.data, bytes.len);
	return is_key ? 0
		      : error_advise(err, ERROR_INPUT,
				     "put back the file as it was, or remove it for a new one",
				     "%s holds no key", path);
}

int own_key_read(const char *config_dir, const char *name, unsigned char *ret_key, size_t len,
		 struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", config_dir, name);
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	int status = own_key_open(path, &fd, err);

	if (status <= 0)
		return status;
	if (fd_read_all(fd, KEY_BYTES_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	status = parse(&text, path, ret_key, len, err);
	if (text.data)
		explicit_bzero(text.data, text.len);
	return status < 0 ? -1 : 1;
}

int own_key_keep(const char *config_dir, const char *name, const unsigned char *key, size_t len,
		 struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", config_dir, name);
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1, dir_fd = -1;
	char link[64];
	int status = 0;

	if (dir_make_all(config_dir) == 0 &&
	    (dir_fd = open(config_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
		fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", config_dir);
	base64_add(&text, key, len);
	str_add_char(&text, '\n');
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd_write_all(fd, text.data, text.len) < 0 || fsync(fd) < 0 ||
	    (linkat(AT_FDCWD, link, dir_fd, name, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST) ||
	    fsync(dir_fd) < 0)
		status = error_errno(err, ERROR_HOST, "%s", path);
	explicit_bzero(text.data, text.len);
	return status;
}
