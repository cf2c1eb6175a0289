/* SPDX-License-Identifier: Apache-2.0 */
/* The serving side of a remote behind ssh: puts, gets and lists files of one directory. */
#include "app/travel/remote.h"

#include "base/core/own.h"
#include "base/file/fd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096u
#define CHUNK ((size_t)64 << 10)
#define FILE_MAX (UINT64_C(64) << 30)

struct serving {
	const char *path;
	struct remote remote; /* once it is open */
	FILE *in;
};

/* STATUS of a write to the client. */
static int answered(int status, struct error *err)
{
	return status == 0 ? 0 : error_errno(err, ERROR_HOST, "cannot answer");
}

static int send_text(const char *text, size_t len, struct error *err)
{
	return answered(fd_write_all(STDOUT_FILENO, text, len), err);
}

/* SIZE bytes of the client to FD; where that cannot be written, they are read all the same. */
static int take_bytes(struct serving *serving, uint64_t size, int fd, struct error *err)
{
	char chunk[CHUNK];
	int errnum = 0;

	while (size > 0) {
		size_t want = size < sizeof(chunk) ? (size_t)size : sizeof(chunk);
		size_t got = fread(chunk, 1, want, serving->in);

		if (got == 0)
			return error_set(err, ERROR_INPUT, "the client went away");
		if (!errnum && fd_write_all(fd, chunk, got) < 0)
			errnum = errno;
		size -= got;
	}
	errno = errnum;
	return errnum ? error_errno(err, ERROR_HOST, "no room for what comes") : 0;
}

static int serve_open(struct serving *serving, const char *how, struct error *err)
{
	if (serving->remote.fd < 0 &&
	    remote_dir_open(serving->path, strcmp(how, "make") == 0, &serving->remote, err) < 0)
		return -1;
	return answered(remote_write(STDOUT_FILENO, "ok %s\n", serving->remote.id), err);
}

static int serve_put(struct serving *serving, const char *name, uint64_t size, struct error *err)
{
	owned(fd_close) int fd = remote_draft(err);
	bool is_new = false;

	/* The bytes are read in any case: they are never taken for requests. */
	if (take_bytes(serving, size, fd, err) < 0 ||
	    remote_dir_put(serving->remote.fd, name, fd, &is_new, err) < 0)
		return -1;
	return answered(remote_write(STDOUT_FILENO, "ok %s\n", is_new ? "new" : "old"), err);
}

static int serve_get(struct serving *serving, const char *name, uint64_t max, struct error *err)
{
	owned(fd_close) int fd = -1;
	char chunk[CHUNK];
	struct stat st;
	ssize_t got;

	if (remote_dir_open_file(serving->remote.fd, name, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > max)
		return error_set(err, ERROR_DENIED, "%s is larger than it may be", name);
	if (answered(remote_write(STDOUT_FILENO, "ok %" PRIu64 "\n", (uint64_t)st.st_size), err) <
	    0)
		return -1;
	for (off_t at = 0; at < st.st_size; at += got) {
		got = fd_read_at(fd, chunk, sizeof(chunk), at);
		if (got <= 0 || send_text(chunk, (size_t)got, err) < 0)
			/* The client counts: half an answer cannot be taken back. */
			_exit(1);
	}
	return 0;
}

static int serve_list(struct serving *serving, const char *directory, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;

	if (remote_dir_list(serving->remote.fd, directory, &names, err) < 0)
		return -1;
	str_addf(&text, "ok %zu\n", names.count);
	for (size_t i = 0; i < names.count; i++)
		str_addf(&text, "%s\n", names.items[i]);
	return send_text(text.data, text.len, err);
}

static int serve_line(struct serving *serving, char *line, struct error *err)
{
	char *rest = NULL;
	const char *verb = strtok_r(line, " ", &rest), *name = strtok_r(NULL, " ", &rest);
	const char *number = strtok_r(NULL, " ", &rest);
	uint64_t size = number ? strtoull(number, NULL, 10) : 0;

	if (verb && name && strcmp(verb, "open") == 0)
		return serve_open(serving, name, err);
	/* Bytes may follow that are not read, and are no requests: this is the end. */
	if (verb && strcmp(verb, "put") == 0 &&
	    (serving->remote.fd < 0 || !number || size > FILE_MAX))
		_exit(1);
	if (!verb || serving->remote.fd < 0 || size > FILE_MAX)
		return error_set(err, ERROR_INPUT, "that is no request");
	if (name && number && strcmp(verb, "put") == 0)
		return serve_put(serving, name, size, err);
	if (name && number && strcmp(verb, "get") == 0)
		return serve_get(serving, name, size, err);
	if (name && strcmp(verb, "list") == 0)
		return serve_list(serving, name, err);
	return error_set(err, ERROR_INPUT, "that is no request");
}

int remote_serve(const char *path, struct error *err)
{
	struct serving serving = { .path = path,
				   .remote = { .fd = -1, .in_fd = -1, .out_fd = -1 },
				   .in = stdin };
	char line[LINE_MAX_BYTES];
	int status = 0;

	while (status == 0 && fgets(line, sizeof(line), serving.in)) {
		struct error refused = { 0 };
		size_t len = strcspn(line, "\n");

		if (line[len] != '\n') {
			status = error_set(err, ERROR_INPUT, "a request is too long");
			break;
		}
		line[len] = '\0';
		if (serve_line(&serving, line, &refused) < 0)
			status = answered(remote_write(STDOUT_FILENO, "no %d %s\n",
						       (int)refused.code, refused.text),
					  err);
	}
	remote_close(&serving.remote);
	return status;
}
