/* SPDX-License-Identifier: Apache-2.0 */
/* /files: a file as the body of an answer, and files from the body of a request. */
#include "base/core/error.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/text/json_write.h"
#include "envd/metadata.h"
#include "envd/multipart.h"
#include "envd/place.h"
#include "envd/routes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ((size_t)64 << 10)
#define FILES_MAX 1000

extern char **environ;

struct transfer {
	struct call *call;
	int fd;		      /* the file under way; -1: none */
	char *path;	      /* of it */
	pid_t unpacker;	      /* writes to it what goes to fd; 0: none */
	bool is_packed;	      /* by gzip */
	bool is_form, is_one; /* is_one: the request's own path counts, and only one file */
	bool has_failed;
	struct multipart form;
	struct str answer; /* [{name, type, path}... */
	unsigned count;
};

static void refuse_errno(struct call *call, const char *path)
{
	int errnum = errno;
	unsigned status = errnum == ENOENT					    ? 404
			  : errnum == EACCES || errnum == EPERM			    ? 403
			  : errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG ? 507
			  : errnum == EIO					    ? 500
										    : 400;

	call_refuse(call, status, "%s: %s", path, error_words(errnum));
}

/* The path of the request; else it was answered. */
static char *path_of(struct call *call)
{
	const char *given = call_word(call, "path");
	char *path;

	if (!place_check_user(call))
		return NULL;
	path = place_of(given ? given : "");
	if (!path)
		call_refuse(call, 400, "%.200s: only your own ~ is known", given);
	return path;
}

void transfer_download(struct call *call, const struct value *message)
{
	owned(free_ptr) char *path = path_of(call);
	struct transfer *transfer;
	struct stat st;

	(void)message;
	if (!path)
		return;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, &st);

	if (fd < 0) {
		if (errno == EISDIR)
			call_refuse(call, 400, "path '%s' is a directory", path);
		else
			refuse_errno(call, path);
		return;
	}
	if (st.st_size == 0) {
		owned(str_done) struct str text = STR_INIT;

		/* Files of proc have no size, but content. */
		if (fd_read_all(fd, PART, &text) < 0)
			refuse_errno(call, path);
		else
			call_reply(call, 200, "application/octet-stream", str_cstr(&text),
				   text.len);
		return;
	}
	transfer = xcalloc(1, sizeof(*transfer));
	transfer->fd = fd_take(&fd);
	call->own = transfer;
	call_stream(call, "application/octet-stream");
}

bool transfer_more(struct call *call)
{
	const struct transfer *transfer = call->own;
	char bytes[PART];
	ssize_t got = transfer ? read(transfer->fd, bytes, sizeof(bytes)) : 0;

	if (got > 0) {
		call_add(call, bytes, (size_t)got);
		return true;
	}
	call_end(call);
	return false;
}

void transfer_left(struct call *call)
{
	struct transfer *transfer = call->own;

	call->own = NULL;
	if (!transfer)
		return;
	fd_close(&transfer->fd);
	if (transfer->unpacker > 0)
		child_end(transfer->unpacker);
	multipart_done(&transfer->form);
	str_done(&transfer->answer);
	free(transfer->path);
	free(transfer);
}

static bool fail(struct transfer *transfer)
{
	refuse_errno(transfer->call, transfer->path);
	transfer->has_failed = true;
	return false;
}

/* From here on bytes are unpacked on their way to the file, by the sandbox's own program. */
static bool unpack(struct transfer *transfer)
{
	char *const words[] = { (char *)(uintptr_t) "gzip", (char *)(uintptr_t) "-dc", NULL };
	owned(fd_close) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int ends[2] = { -1, -1 };
	struct error err;

	if (null_fd < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return fail(transfer);
	owned(fd_close) int in_fd = ends[0], to_fd = ends[1];
	const struct child_exec exec = { .words = words,
					 .environ = environ,
					 .streams = { in_fd, transfer->fd, null_fd } };

	transfer->unpacker = child_exec(&exec, &err);
	if (transfer->unpacker < 0) {
		call_refuse(transfer->call, 415, "there is no gzip in this sandbox: send it plain");
		transfer->has_failed = true;
		return false;
	}
	fd_close(&transfer->fd);
	transfer->fd = fd_take(&to_fd);
	return true;
}

static bool open_file(struct transfer *transfer, char *path)
{
	struct stat st;

	free(transfer->path);
	transfer->path = path;
	if (transfer->count++ == FILES_MAX) {
		errno = E2BIG;
		return fail(transfer);
	}
	if (place_make_parents(path) < 0)
		return fail(transfer);
	transfer->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
	if (transfer->fd < 0 || fstat(transfer->fd, &st) < 0)
		return fail(transfer);
	/* A fifo or device is no place for a file. */
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return fail(transfer);
	}
	/* E2B's agent sets the owner of each file, which those who watch the directory see. */
	if ((st.st_size > 0 && ftruncate(transfer->fd, 0) < 0) ||
	    fchown(transfer->fd, getuid(), getgid()) < 0)
		return fail(transfer);
	metadata_put(transfer->fd, &transfer->call->words);
	return !transfer->is_packed || unpack(transfer);
}

static bool begin_file(void *cookie, const char *name)
{
	struct transfer *transfer = cookie;
	const char *given = call_word(transfer->call, "path");
	char *path;

	if (transfer->is_one && transfer->count > 0) {
		call_refuse(transfer->call, 400, "a path and several files do not go together");
		transfer->has_failed = true;
		return false;
	}
	path = place_of(transfer->is_one ? given : name);
	if (!path || (!transfer->is_one && !*name)) {
		call_refuse(transfer->call, 400, "a file without a name, or with another's ~");
		transfer->has_failed = true;
		free(path);
		return false;
	}
	return open_file(transfer, path);
}

static bool put_bytes(void *cookie, const char *bytes, size_t len)
{
	struct transfer *transfer = cookie;

	return fd_write_all(transfer->fd, bytes, len) == 0 ? true : fail(transfer);
}

static bool end_file(void *cookie)
{
	struct transfer *transfer = cookie;
	pid_t unpacker = transfer->unpacker;
	struct json json;

	fd_close(&transfer->fd);
	transfer->unpacker = 0;
	if (unpacker > 0 && child_exit_code(child_wait(unpacker)) != 0) {
		call_refuse(transfer->call, 400, "%s: the body is not whole, or not of gzip",
			    transfer->path);
		transfer->has_failed = true;
		return false;
	}
	str_add(&transfer->answer, transfer->answer.len ? "," : "[");
	json_init(&json, &transfer->answer);
	json_open(&json, '{');
	json_key(&json, "name");
	json_text(&json, strrchr(transfer->path, '/') + 1);
	json_key(&json, "type");
	json_text(&json, "file");
	json_key(&json, "path");
	json_text(&json, transfer->path);
	metadata_write(&json, transfer->path);
	json_close(&json, '}');
	return true;
}

void transfer_upload(struct call *call, const struct value *message)
{
	const char *type = call_word(call, "type"), *encoding = call_word(call, "encoding");
	const char *given = call_word(call, "path");
	owned(free_ptr) char *path = path_of(call);
	struct transfer *transfer;

	(void)message;
	if (!path)
		return;
	bool is_form = type && strncasecmp(type, "multipart/", 10) == 0;
	bool is_packed = encoding && strcasecmp(encoding, "gzip") == 0 && !is_form;

	if (encoding && *encoding && !is_packed && strcasecmp(encoding, "identity") != 0) {
		call_refuse(call, 415, "Content-Encoding %.32s is not served here: send it plain",
			    encoding);
		return;
	}
	call->own = transfer = xcalloc(1, sizeof(*transfer));
	*transfer = (struct transfer){ .call = call, .fd = -1, .is_one = given && *given };
	transfer->is_form = is_form;
	transfer->is_packed = is_packed;
	if (transfer->is_form) {
		if (!multipart_init(&transfer->form, type))
			call_refuse(call, 400, "no boundary that can be used in '%.100s'", type);
		transfer->form.begin = begin_file;
		transfer->form.part = put_bytes;
		transfer->form.end = end_file;
		transfer->form.cookie = transfer;
	} else if (!transfer->is_one) {
		call_refuse(call, 400, "path is missing");
	} else {
		(void)open_file(transfer, ptr_take(&path));
	}
}

static void finish(struct transfer *transfer)
{
	struct call *call = transfer->call;

	if (transfer->is_form && transfer->form.state != MULTIPART_OVER) {
		call_refuse(call, 400, "the form ends before its last boundary");
		return;
	}
	if (!transfer->is_form && !end_file(transfer))
		return;
	str_add(&transfer->answer, transfer->answer.len ? "]" : "[]");
	call_reply(call, 200, "application/json", transfer->answer.data, transfer->answer.len);
}

void transfer_part(struct call *call, const char *bytes, size_t len)
{
	struct transfer *transfer = call->own;

	if (!transfer || transfer->has_failed)
		return;
	if (!bytes) {
		finish(transfer);
	} else if (!transfer->is_form) {
		(void)put_bytes(transfer, bytes, len);
	} else if (!multipart_take(&transfer->form, bytes, len) && !transfer->has_failed) {
		transfer->has_failed = true;
		call_refuse(call, 400, "the body is no multipart/form-data");
	}
}
