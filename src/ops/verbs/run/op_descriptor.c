/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a caller passes by descriptor: a command line is readable by every local user. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "ops/rows/rows.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As many bytes as the kernel takes for all words and variables of a program, by default. */
#define VARIABLES_MAX ((size_t)2 << 20)

/* The descriptor's number; 0 where MIN allows it, never the output or the errors. */
static int read_number(const char *where, const char *text, int min, int *ret_fd, struct error *err)
{
	int64_t number = 0;

	if (units_count(where, text, 0, INT32_MAX, &number, err) < 0)
		return -1;
	if (number < min || number == STDOUT_FILENO || number == STDERR_FILENO) {
		error_set(err, ERROR_USAGE, "%s: %s is in use", where, text);
		return error_add_hint(err, "pass another descriptor: %s 3 3<FILE", where);
	}
	*ret_fd = (int)number;
	return 0;
}

/*
 * Puts a file with BYTES in the place of the pipe they came from: when the call turns out to need libraries, the
 * program replaces itself and reads the descriptor again.
 */
static int replace_pipe(int fd, const struct str *bytes)
{
	owned(fd_close) int copy = memfd_create("given", MFD_CLOEXEC);

	if (copy < 0 || fd_write_all(copy, str_cstr(bytes), bytes->len) < 0 ||
	    lseek(copy, 0, SEEK_SET) < 0)
		return -1;
	return dup2(copy, fd) < 0 ? -1 : 0;
}

/* Reads FD to its end and leaves it as it was for a second reading. */
static int read_twice(int fd, size_t limit, struct str *ret_bytes)
{
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (fd_read_all(fd, limit, ret_bytes) < 0)
		return -1;
	if (at >= 0)
		return lseek(fd, at, SEEK_SET) < 0 ? -1 : 0;
	return replace_pipe(fd, ret_bytes);
}

int op_arg_descriptor(const struct op_call *call, const char *name, int min, size_t limit,
		      struct str *ret_bytes, struct error *err)
{
	owned(free_ptr) char *where = xasprintf("--%s", name);
	const char *text = op_arg_text(call, name);
	struct stat status;
	int fd = -1;

	if (!text)
		return 0;
	if (read_number(where, text, min, &fd, err) < 0)
		return -1;
	if (fstat(fd, &status) < 0 || S_ISDIR(status.st_mode)) {
		error_set(err, ERROR_USAGE, "%s: %s is no open descriptor with something to read",
			  where, text);
		return error_add_hint(err, "open it: %s %s %s<FILE", where, text, text);
	}
	if (read_twice(fd, limit, ret_bytes) == 0)
		return 1;
	if (errno == EFBIG)
		return error_advise(err, ERROR_USAGE, "pass fewer", "%s: more than %zu bytes",
				    where, limit);
	return error_errno(err, ERROR_HOST, "%s %s", where, text);
}

int op_take_variables(const struct op_call *call, struct settings *settings, struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;
	int given =
		op_arg_descriptor(call, "env-fd", STDERR_FILENO + 1, VARIABLES_MAX, &bytes, err);

	if (given <= 0)
		return given;
	if (bytes.len > 0 && bytes.data[bytes.len - 1] != '\0')
		return error_advise(err, ERROR_USAGE,
				    "end each one with a null byte, as printf 'K=V\\0' does",
				    "--env-fd: the last variable is cut off");
	for (size_t at = 0; at < bytes.len; at += strlen(bytes.data + at) + 1) {
		if (settings_set(settings, setting_find("env"), "--env-fd", bytes.data + at, err) <
		    0)
			return -1;
	}
	return 0;
}
