/* SPDX-License-Identifier: Apache-2.0 */
/* The kept output of a run: one file, made at the first byte, up to a cap. */
#include "run/log.h"

#include "base/core/clock.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* In a log this small the heads are not counted. */
#define SMALL_BYTES (64u << 10)

void run_log_init(struct run_log *log, const char *state_dir, const char *run_id, uint64_t cap)
{
	*log = (struct run_log){ .dir_fd = -1, .name = run_id, .fd = -1, .cap = cap };
	log->began_ns = clock_now_ns();
	if (state_dir)
		log->dir_fd = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Output that cannot be kept is still delivered: a full disk must not end a run. */
static int make_file(struct run_log *log)
{
	char name[96];

	if (log->dir_fd < 0)
		return -1;
	(void)mkdirat(log->dir_fd, "logs", 0700);
	(void)snprintf(name, sizeof(name), "logs/%s", log->name);
	log->fd = openat(log->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 0600);
	if (log->fd < 0)
		fd_close(&log->dir_fd);
	return log->fd;
}

void run_log_add(struct run_log *log, char tag, const char *bytes, size_t len)
{
	char head[64];
	char newline = '\n';

	/* Heads of tiny frames take many times what they bring: a program that writes byte by byte fills no disk either. */
	if ((uint64_t)log->size > 2 * log->cap + SMALL_BYTES)
		log->cap = log->kept;
	if (len > log->cap - log->kept)
		len = (size_t)(log->cap - log->kept);
	if (len == 0 || (log->fd < 0 && make_file(log) < 0))
		return;
	int head_len = snprintf(head, sizeof(head), "%c %.3f %zu\n", tag,
				(double)(clock_now_ns() - log->began_ns) / 1e9, len);
	struct iovec parts[3] = { { head, (size_t)head_len }, { NULL, len }, { &newline, 1 } };

	memcpy(&parts[1].iov_base, &bytes, sizeof(bytes));
	if (writev(log->fd, parts, 3) != head_len + (ssize_t)len + 1) {
		/* Half a frame would make whatever follows unreadable: what was kept so far is all there will be. */
		(void)!ftruncate(log->fd, log->size);
		log->cap = log->kept;
		return;
	}
	log->size += head_len + (off_t)len + 1;
	log->kept += len;
	log->kept_out += tag == 'o' ? len : 0;
}

void run_log_done(struct run_log *log)
{
	fd_close(&log->fd);
	fd_close(&log->dir_fd);
}
