/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remotes by their URL. Behind ssh, the other side runs `aisbx push --serve DIR`, and both speak in lines:
 *
 *   open make|read      -> ok ID
 *   put NAME SIZE, bytes -> ok new|old
 *   get NAME MAX        -> ok SIZE, bytes
 *   list DIRECTORY      -> ok COUNT, names
 *
 * or "no CODE WORDS". Nothing else can be asked for, whatever the client is.
 */
#include "app/travel/remote.h"

#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/text/shell_quote.h"
#include "workspace/disk/copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096u
#define CHUNK ((size_t)64 << 10)
#define LIST_MAX 1000000

void remote_close(struct remote *remote)
{
	fd_close(&remote->fd);
	fd_close(&remote->in_fd);
	fd_close(&remote->out_fd);
	if (remote->ssh > 0)
		(void)child_wait(remote->ssh);
	remote->ssh = 0;
	str_done(&remote->seen);
}

/* More of what the other side sends; 0 at its end. */
static ssize_t read_more(struct remote *remote)
{
	char chunk[CHUNK];
	ssize_t got;

	do
		got = read(remote->out_fd, chunk, sizeof(chunk));
	while (got < 0 && errno == EINTR);
	if (got > 0)
		str_add_bytes(&remote->seen, chunk, (size_t)got);
	return got;
}

static int broken(struct error *err)
{
	return error_advise(err, ERROR_HOST,
			    "aisbx must be in the PATH there, for ssh HOST aisbx push --serve DIR",
			    "ssh: the other side went away or answers something else");
}

/* The next line without its newline; the caller's. NULL at the end or when it is too long. */
static char *read_line(struct remote *remote)
{
	for (;;) {
		const char *text = str_cstr(&remote->seen);
		size_t len = strcspn(text, "\n");

		if (len < remote->seen.len && text[len] == '\n') {
			char *line = xstrndup(text, len);

			str_drop_front(&remote->seen, len + 1);
			return line;
		}
		if (remote->seen.len > LINE_MAX_BYTES || read_more(remote) <= 0)
			return NULL;
	}
}

/* SIZE bytes to FD. */
static int read_bytes(struct remote *remote, uint64_t size, int fd, struct error *err)
{
	while (size > 0) {
		size_t part = remote->seen.len < size ? remote->seen.len : (size_t)size;

		if (part > 0 && fd_write_all(fd, remote->seen.data, part) < 0)
			return error_errno(err, ERROR_HOST, "cannot write what comes by ssh");
		str_drop_front(&remote->seen, part);
		size -= part;
		if (size > 0 && read_more(remote) <= 0)
			return broken(err);
	}
	return 0;
}

static int send_file(int to_fd, int fd, uint64_t size)
{
	char chunk[CHUNK];

	for (uint64_t at = 0; at < size;) {
		size_t want = size - at < sizeof(chunk) ? (size_t)(size - at) : sizeof(chunk);
		ssize_t got = fd_read_at(fd, chunk, want, (off_t)at);

		if (got <= 0 || fd_write_all(to_fd, chunk, (size_t)got) < 0)
			return -1;
		at += (uint64_t)got;
	}
	return 0;
}

/* The answer behind "ok"; the caller's. NULL with an error, the other side's where it gave one. */
static char *read_answer(struct remote *remote, struct error *err)
{
	owned(free_ptr) char *line = read_line(remote);
	char shown[STR_SHOWN_SIZE];

	if (line && (strcmp(line, "ok") == 0 || str_starts(line, "ok ")))
		return xstrdup(line[2] ? line + 3 : "");
	if (line && str_starts(line, "no ")) {
		char *words = NULL;
		long code = strtol(line + 3, &words, 10);
		bool is_code = code == ERROR_NOT_FOUND || code == ERROR_DENIED ||
			       code == ERROR_INPUT || code == ERROR_CONFLICT;

		error_set(err, is_code ? (enum error_code)code : ERROR_HOST, "ssh:%s",
			  str_shown(words, shown));
		return NULL;
	}
	(void)broken(err);
	return NULL;
}

int remote_write(int fd, const char *format, ...)
{
	owned(free_ptr) char *line = NULL;
	va_list args;

	va_start(args, format);
	line = xvasprintf(format, args);
	va_end(args);
	return fd_write_all(fd, line, strlen(line));
}

int remote_put(struct remote *remote, const char *name, int fd, bool *ret_is_new, struct error *err)
{
	owned(free_ptr) char *answer = NULL;
	struct stat st;

	if (remote->fd >= 0)
		return remote_dir_put(remote->fd, name, fd, ret_is_new, err);
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	if (remote_write(remote->in_fd, "put %s %" PRIu64 "\n", name, (uint64_t)st.st_size) < 0 ||
	    send_file(remote->in_fd, fd, (uint64_t)st.st_size) < 0)
		return broken(err);
	answer = read_answer(remote, err);
	if (!answer)
		return -1;
	*ret_is_new = strcmp(answer, "new") == 0;
	return 0;
}

int remote_put_bytes(struct remote *remote, const char *name, const struct str *bytes,
		     bool *ret_is_new, struct error *err)
{
	owned(fd_close) int fd = remote_draft(err);

	if (fd < 0)
		return -1;
	if (fd_write_all(fd, str_cstr(bytes), bytes->len) < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	return remote_put(remote, name, fd, ret_is_new, err);
}

static int too_large(const char *name, struct error *err)
{
	return error_set(err, ERROR_DENIED, "remote: %s is larger than it may be", name);
}

int remote_get(struct remote *remote, const char *name, uint64_t max, int to_fd, struct error *err)
{
	owned(free_ptr) char *answer = NULL;
	owned(fd_close) int fd = -1;
	struct stat st;
	uint64_t size;

	if (remote->fd >= 0) {
		if (remote_dir_open_file(remote->fd, name, &fd, err) < 0)
			return -1;
		if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > max)
			return too_large(name, err);
		return copy_content(fd, to_fd) == 0
			       ? 0
			       : error_errno(err, ERROR_HOST, "remote: %s", name);
	}
	if (remote_write(remote->in_fd, "get %s %" PRIu64 "\n", name, max) < 0)
		return broken(err);
	answer = read_answer(remote, err);
	if (!answer)
		return -1;
	size = strtoull(answer, NULL, 10);
	return size > max ? too_large(name, err) : read_bytes(remote, size, to_fd, err);
}

int remote_get_bytes(struct remote *remote, const char *name, size_t max, struct str *ret_bytes,
		     struct error *err)
{
	owned(fd_close) int fd = remote_draft(err);

	if (fd < 0 || remote_get(remote, name, max, fd, err) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, max, ret_bytes) < 0)
		return error_errno(err, ERROR_HOST, "remote: %s", name);
	return 0;
}

int remote_list(struct remote *remote, const char *directory, struct strv *ret_names,
		struct error *err)
{
	owned(free_ptr) char *answer = NULL;

	if (remote->fd >= 0)
		return remote_dir_list(remote->fd, directory, ret_names, err);
	if (remote_write(remote->in_fd, "list %s\n", directory) < 0)
		return broken(err);
	answer = read_answer(remote, err);
	if (!answer)
		return -1;
	for (uint64_t left = strtoull(answer, NULL, 10); left > 0; left--) {
		char *line = ret_names->count < LIST_MAX ? read_line(remote) : NULL;

		if (!line)
			return broken(err);
		strv_take(ret_names, line);
	}
	return 0;
}

/* ssh with the words of the user's own configuration; a host cannot be taken for an option. */
static int start_ssh(const char *host, const char *port, const char *path, struct remote *remote,
		     struct error *err)
{
	owned(str_done) struct str command = STR_INIT;
	owned(fd_close) int to_child = -1, from_child = -1;
	owned(strv_done) struct strv words = STRV_INIT;
	int in[2], out[2];

	str_add(&command, "aisbx push --serve ");
	shell_quote_add(&command, path);
	strv_add(&words, "ssh");
	strv_add(&words, "-T");
	if (port) {
		strv_add(&words, "-p");
		strv_add(&words, port);
	}
	strv_add(&words, "--");
	strv_add(&words, host);
	strv_add(&words, str_cstr(&command));
	if (pipe2(in, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "ssh");
	to_child = in[0];
	remote->in_fd = in[1];
	if (pipe2(out, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "ssh");
	remote->out_fd = out[0];
	from_child = out[1];
	const struct child_exec exec = { .words = words.items,
					 .environ = environ,
					 .streams = { to_child, from_child, STDERR_FILENO } };

	remote->ssh = child_exec(&exec, err);
	return remote->ssh > 0 ? 0 : -1;
}

static int open_ssh(const char *url, bool makes, struct remote *remote, struct error *err)
{
	const char *at = url + strlen("ssh://"), *slash = strchr(at, '/');
	owned(free_ptr) char *host = slash ? xstrndup(at, (size_t)(slash - at)) : NULL;
	owned(free_ptr) char *answer = NULL;
	char *user_end = host ? strrchr(host, '@') : NULL;
	char *port = host ? strrchr(user_end ? user_end : host, ':') : NULL;

	if (!host || !*host || host[0] == '-' ||
	    (user_end && memchr(host, ':', (size_t)(user_end - host))))
		return error_advise(err, ERROR_USAGE, "ssh's own files keep keys",
				    "write ssh://[USER@]HOST[:PORT]/DIR, without a password");
	if (port)
		*port++ = '\0';
	if (port && (!*port || strspn(port, "0123456789") != strlen(port)))
		return error_set(err, ERROR_USAGE, "'%s' is no port", port);
	/* That ssh ends is an answer, and no reason to end, too. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (start_ssh(host, port, slash, remote, err) < 0)
		return -1;
	if (remote_write(remote->in_fd, "open %s\n", makes ? "make" : "read") < 0)
		return broken(err);
	answer = read_answer(remote, err);
	if (!answer)
		return -1;
	/* It becomes a part of files' names here. */
	if (id_run_epoch_ms(answer) == 0)
		return broken(err);
	(void)snprintf(remote->id, sizeof(remote->id), "%s", answer);
	return 0;
}

int remote_open(const char *url, bool makes, struct remote *ret_remote, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	int status;

	*ret_remote = (struct remote){ .fd = -1, .in_fd = -1, .out_fd = -1 };
	if (url[0] == '/')
		status = remote_dir_open(url, makes, ret_remote, err);
	else if (str_starts(url, "file:///"))
		status = remote_dir_open(url + strlen("file://"), makes, ret_remote, err);
	else if (str_starts(url, "file:/") && url[6] != '/')
		status = remote_dir_open(url + strlen("file:"), makes, ret_remote, err);
	else if (str_starts(url, "ssh://"))
		status = open_ssh(url, makes, ret_remote, err);
	else
		return error_advise(err, ERROR_USAGE, "write file:/DIR or ssh://HOST/DIR",
				    "'%s' is no remote", str_shown(url, shown));
	if (status < 0)
		remote_close(ret_remote);
	return status;
}
