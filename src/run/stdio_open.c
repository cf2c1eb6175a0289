/* SPDX-License-Identifier: Apache-2.0 */
/* The standard streams of a run: deciding what the payload gets for each. */
#include "run/stdio.h"

#include "base/core/own.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int make_pipe(int *ret_read, int *ret_write, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

static int set_nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int open_feed(struct stdio *stdio, enum feed_kind kind, struct error *err)
{
	return feed_open(&stdio->feed, kind, STDIN_FILENO, &stdio->child_fds[0], err);
}

static int open_file_input(struct stdio *stdio, struct error *err)
{
	int flags = fcntl(STDIN_FILENO, F_GETFL);

	if ((flags & O_ACCMODE) == O_WRONLY)
		return error_set(err, ERROR_USAGE, "standard input is not open for reading");
	return open_feed(stdio, FEED_FILE, err);
}

static int open_null(struct stdio *stdio, struct error *err)
{
	stdio->child_fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (stdio->child_fds[0] < 0)
		return error_errno(err, ERROR_HOST, "/dev/null");
	return 0;
}

/* Only a stream can be looked into in part; a message is taken or left. */
static enum feed_kind socket_kind(void)
{
	socklen_t size = sizeof(int);
	int type = 0;

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return FEED_DEVICE;
	return type == SOCK_STREAM ? FEED_SOCKET : FEED_DEVICE;
}

static int open_input(struct stdio *stdio, struct error *err)
{
	struct stat st;

	if (fstat(STDIN_FILENO, &st) < 0)
		return open_null(stdio, err);
	switch (st.st_mode & S_IFMT) {
	case S_IFIFO:
		return open_feed(stdio, FEED_PIPE, err);
	case S_IFSOCK:
		return open_feed(stdio, socket_kind(), err);
	case S_IFREG:
		return open_file_input(stdio, err);
	case S_IFCHR:
		if (st.st_rdev == makedev(1, 3))
			return open_null(stdio, err);
		if (stdio->use_pty && isatty(STDIN_FILENO)) {
			stdio->io.tty[0] = true;
			return 0;
		}
		return open_feed(stdio, FEED_DEVICE, err);
	default:
		return error_advise(err, ERROR_USAGE, "give a file, a pipe or a terminal",
				    "standard input is a %s",
				    S_ISDIR(st.st_mode) ? "directory" : "block device");
	}
}

static int open_output(struct stdio *stdio, int number, struct stream *stream, struct error *err)
{
	struct winsize size;
	struct stat st;

	stream->to_fd = stdio->passes_on ? number : -1;
	stream->buffer = xmalloc(STDIO_CHUNK);
	stream->to_may_block = fstat(number, &st) < 0 || !S_ISREG(st.st_mode);
	if (stdio->use_pty && isatty(number)) {
		stdio->io.tty[number] = true;
		if (ioctl(number, TIOCGWINSZ, &size) == 0) {
			stdio->io.rows = size.ws_row;
			stdio->io.columns = size.ws_col;
		}
		return 0;
	}
	if (make_pipe(&stream->from_fd, &stdio->child_fds[number], err) < 0)
		return -1;
	(void)set_nonblocking(stream->from_fd);
	return 0;
}

/* /dev/stdout and its like open the pipe anew: its inode must belong to the user inside. It is ours alone. */
static void give_away(int fd, const struct spec_ids *ids)
{
	struct stat st;

	if (ids->count > 1 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		(void)!fchown(fd, ids->host_uid + ids->uid, ids->host_gid + ids->gid);
}

int stdio_open(struct stdio *stdio, const struct spec *spec, const struct run_options *options,
	       struct run_result *result, struct run_log *log, struct error *err)
{
	memset(stdio, 0, sizeof(*stdio));
	feed_init(&stdio->feed);
	stdio->out =
		(struct stream){ .from_fd = -1, .to_fd = -1, .tag = 'o', .captured = &result->out };
	stdio->err =
		(struct stream){ .from_fd = -1, .to_fd = -1, .tag = 'e', .captured = &result->err };
	for (int i = 0; i < 3; i++)
		stdio->child_fds[i] = stdio->io.fds[i] = -1;
	stdio->capture = options->capture;
	stdio->out.is_exact = options->capture && options->is_exact;
	stdio->passes_on = !options->capture && !options->control;
	stdio->keep_bytes = spec->limits.output_bytes;
	stdio->log = log;
	stdio->use_pty = stdio->passes_on && isatty(STDOUT_FILENO);
	/* A pipe that is ours from end to end needs no feed. */
	if (options->control)
		stdio->child_fds[0] = fd_take(&options->control->input_fd);
	else if (open_input(stdio, err) < 0)
		return -1;
	if (open_output(stdio, STDOUT_FILENO, &stdio->out, err) < 0 ||
	    open_output(stdio, STDERR_FILENO, &stdio->err, err) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		if (stdio->child_fds[i] < 0)
			continue;
		stdio->io.fds[i] = stdio->child_fds[i];
		give_away(stdio->child_fds[i], &spec->ids);
	}
	return 0;
}

void stdio_keep_out(struct stdio *stdio, const struct secrets *secrets,
		    const struct secrets *others)
{
	struct secrets both = secrets_both(secrets, others);

	scrub_words_init(&stdio->words, &both);
	free(both.items);
	scrub_init(&stdio->out.scrub, &stdio->words);
	scrub_init(&stdio->err.scrub, &stdio->words);
}

void stdio_started(struct stdio *stdio)
{
	for (int i = 0; i < 3; i++)
		fd_close(&stdio->child_fds[i]);
}

static void make_raw(struct stdio *stdio)
{
	struct termios raw;

	if (!stdio->io.tty[0] || tcgetattr(STDIN_FILENO, &stdio->saved_terminal) < 0)
		return;
	raw = stdio->saved_terminal;
	cfmakeraw(&raw);
	stdio->has_saved_terminal = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void stdio_take_pty(struct stdio *stdio, struct task *task)
{
	struct winsize size;

	if (task->pty_master < 0 || stdio->out.from_fd >= 0)
		return;
	(void)set_nonblocking(task->pty_master);
	stdio->out.from_fd = task->pty_master;
	if (stdio->io.tty[0])
		feed_open_terminal(&stdio->feed, STDIN_FILENO, task->pty_master);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && task->driver->resize)
		task->driver->resize(task, size.ws_row, size.ws_col);
	make_raw(stdio);
}
