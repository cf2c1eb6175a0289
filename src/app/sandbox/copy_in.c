/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of the host's copied into a sandbox: packed by a child, unpacked by a command. */
#include "app/sandbox/copy_in.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "base/process/process.h"
#include "app/sandbox/copy_pack.h"
#include "app/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* $1 is the place, $2 the name the copy has in a directory; empty: what is in it goes there itself. */
static const char unpack_script[] = "if [ -n \"$2\" ] && [ -d \"$1\" ]; then set -- \"$1/$2\"; fi; "
				    "mkdir -p \"$1\" && cd \"$1\" && exec tar -xpf -";

struct packer {
	pid_t pid;
	int error_fd; /* why it failed */
};

static _Noreturn void pack_main(int dir_fd, const char *path, pid_t parent, int out_fd,
				int error_fd)
{
	const int keep[] = { 2, dir_fd, out_fd, error_fd };
	struct error err = { 0 };

	parent_end_follow(parent, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
	if (pack_write(dir_fd, path, out_fd, &err) == 0)
		_exit(0);
	(void)fd_write_all(error_fd, &err, sizeof(err));
	_exit(1);
}

/* The archive becomes our stdin, and so the command's. */
static int start_packer(int dir_fd, const char *path, struct packer *ret_packer, struct error *err)
{
	int archive[2], report[2];

	if (pipe2(archive, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	owned(fd_close) int read_fd = archive[0], write_fd = archive[1];

	if (pipe2(report, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	owned(fd_close) int error_fd = report[0], report_fd = report[1];
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0)
		pack_main(dir_fd, path, parent, write_fd, report_fd);
	if (pid < 0)
		return error_errno(err, ERROR_HOST, PROCESS_REFUSED);
	*ret_packer = (struct packer){ .pid = pid, .error_fd = fd_take(&error_fd) };
	if (dup2(read_fd, STDIN_FILENO) < 0)
		return error_errno(err, ERROR_HOST, "the archive");
	return 0;
}

/* 0 when it wrote everything. */
static int finish_packer(struct packer *packer, struct error *err)
{
	struct error said;
	ssize_t got = read(packer->error_fd, &said, sizeof(said));

	fd_close(&packer->error_fd);
	if (child_wait(packer->pid) == 0)
		return 0;
	if (got != (ssize_t)sizeof(said))
		return error_set(err, ERROR_HOST, "packing was interrupted");
	*err = said;
	return -1;
}

/* The name of the directory itself; "" where the path does not say it: then what is in it is meant. */
static char *name_of(const char *path)
{
	owned(free_ptr) char *copy = xstrdup(path);
	size_t len = strlen(copy);

	while (len > 0 && copy[len - 1] == '/')
		copy[--len] = '\0';
	const char *slash = strrchr(copy, '/');
	const char *name = slash ? slash + 1 : copy;
	bool is_said = strcmp(name, ".") != 0 && strcmp(name, "..") != 0;

	return xstrdup(is_said ? name : "");
}

static int unpack(const struct app_copy_in *copy, struct run_result *result, struct error *err)
{
	const struct app_run_options options = { .capture = true };
	owned(free_ptr) char *name = name_of(copy->from);
	owned(request_done) struct request request;

	request_init(&request);
	request.environ = copy->environ;
	strv_add(&request.command, "/bin/sh");
	strv_add(&request.command, "-c");
	strv_add(&request.command, unpack_script);
	strv_add(&request.command, "sh");
	/* A name that begins with a dash is not an option. */
	strv_addf(&request.command, "%s%s", copy->to[0] == '-' ? "./" : "",
		  *copy->to ? copy->to : ".");
	strv_add(&request.command, name);
	return app_exec(copy->sandbox, &request, &options, result, err);
}

/* Why it did not come to a good end inside. */
static int explain(const struct app_copy_in *copy, const struct run_result *result,
		   struct error *err)
{
	const char *said = str_cstr(&result->err.kept);
	owned(free_ptr) char *line = xstrndup(said, strcspn(said, "\n"));
	char shown[STR_SHOWN_SIZE], place[STR_SHOWN_SIZE];

	if (strv_has(&result->limits_hit, "disk"))
		return error_advise(
			err, ERROR_DENIED, "make one with more: aisbx create NAME --disk SIZE",
			"%s is larger than the disk space of '%s', what fitted was copied",
			copy->from, copy->sandbox);
	if (result->exit_code == 127)
		return error_advise(err, ERROR_DENIED, "copy file by file",
				    "there is no tar in '%s' to unpack with", copy->sandbox);
	return error_set(err, ERROR_USAGE, "cannot write %s in %s: %s", str_shown(copy->to, place),
			 copy->sandbox, str_shown(line, shown));
}

int app_copy_in(const struct app_copy_in *copy, struct copied *ret_copied, struct error *err)
{
	owned(fd_close) int dir_fd = open(copy->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned(run_result_done) struct run_result result;
	struct packer packer;
	struct error packing;

	run_result_init(&result);
	if (dir_fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_USAGE, "%s",
				   copy->from);
	if (pack_survey(dir_fd, copy->from, ret_copied, err) < 0 ||
	    start_packer(dir_fd, copy->from, &packer, err) < 0)
		return -1;
	int status = unpack(copy, &result, err);

	/* A writer gets EPIPE. */
	(void)!close(STDIN_FILENO);
	/* NOLINTNEXTLINE(android-cloexec-open): standard input is there to be inherited */
	(void)!open("/dev/null", O_RDONLY);
	int packed = finish_packer(&packer, &packing);

	if (status < 0)
		return -1;
	if (result.exit_code != 0)
		return explain(copy, &result, err);
	if (packed < 0)
		*err = packing;
	return packed;
}
