/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's side of the pool: one question, answered in time or not at all. */
#include "app/pool/pool.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json_write.h"
#include "base/local_socket.h"
#include "base/own.h"
#include "base/value.h"
#include "launch/ready.h"
#include "spec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_refused(const char *const *environ)
{
	for (; environ && *environ; environ++) {
		if (strcmp(*environ, "AISBX_DAEMON=0") == 0)
			return true;
	}
	return false;
}

/* A stamp of the future is one of a clock that was set. */
static bool is_away(int dir_fd)
{
	struct stat st;

	if (fstatat(dir_fd, POOL_STAMP, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	uint64_t then_ms = clock_ns_of(&st.st_mtim) / 1000000, now_ms = clock_epoch_ms();

	return then_ms <= now_ms && now_ms - then_ms < POOL_AWAY_MS;
}

/* Where it cannot be left, the next caller loses as much time. */
static void leave_stamp(const char *runtime_dir)
{
	owned(free_ptr) char *path = xasprintf("%s/" POOL_STAMP, runtime_dir);
	owned(fd_close) int fd =
		open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd >= 0)
		(void)futimens(fd, NULL);
}

int pool_connect(const char *runtime_dir, const char *const *environ)
{
	owned(free_ptr) char *path = xasprintf("%s/" POOL_SOCKET, runtime_dir);
	owned(fd_close) int dir_fd = -1, fd = -1;
	struct stat st;

	if (is_refused(environ) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -1;
	dir_fd = open(runtime_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || is_away(dir_fd))
		return -1;
	fd = local_socket_connect(dir_fd, POOL_SOCKET, POOL_PATIENCE_MS);
	if (fd < 0 && errno == EAGAIN)
		leave_stamp(runtime_dir);
	if (fd < 0 || !local_socket_is_ours(fd))
		return -1;
	return fd_take(&fd);
}

/* Whether something is there to be read by then. */
static bool is_readable(int fd, uint64_t until_ns)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = clock_now_ns();

	return poll(&ready, 1, now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0) == 1;
}

/* For the next call. What does not fit is none for the pool. */
static void send_plan(int fd, const struct spec *spec)
{
	owned(value_release) struct value *value = spec_to_value(spec);
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, value, 0);
	if (text.len <= POOL_PLAN_MAX)
		(void)send(fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

struct launch_prestart *pool_take(int given_fd, const char *runtime_dir, struct spec *spec)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)POOL_PATIENCE_MS * 1000000;
	struct pool_ask ask = { .version = POOL_VERSION, .kind = POOL_ASK };
	owned(fd_close) int fd = given_fd;
	struct pool_answer answer;

	if (!pool_suits(spec))
		return NULL;
	pool_digest(spec, ask.digest);
	pool_around(ask.around);
	if (send(fd, &ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(ask))
		return NULL;
	if (!is_readable(fd, until_ns)) {
		leave_stamp(runtime_dir);
		return NULL;
	}
	if (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) != (ssize_t)sizeof(answer) ||
	    answer.version != POOL_VERSION)
		return NULL;
	if (answer.kind == POOL_WANTS)
		send_plan(fd, spec);
	if (answer.kind != POOL_GIVEN || !is_readable(fd, until_ns))
		return NULL;
	return ready_receive(fd, spec);
}
