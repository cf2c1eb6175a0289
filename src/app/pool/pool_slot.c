/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's side of the daemon: reached or not, a place among those that run, and what becomes of one that hangs. */
#include "app/pool/pool.h"
#include "app/pool/queue.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/process/local_socket.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)

/* The value of NAME, which ends with '='; NULL: it is not set. */
static const char *find(const char *const *environ, const char *name)
{
	for (; environ && *environ; environ++) {
		if (str_starts(*environ, name))
			return *environ + strlen(name);
	}
	return NULL;
}

static int read_priority(const char *const *environ, uint32_t *ret_priority, struct error *err)
{
	static const char *const names[] = {
		[QUEUE_LOW] = "low", [QUEUE_NORMAL] = "normal", [QUEUE_HIGH] = "high"
	};
	const char *word = find(environ, "AISBX_PRIORITY=");

	*ret_priority = QUEUE_NORMAL;
	if (!word || !*word)
		return 0;
	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*ret_priority = i;
		if (strcmp(word, names[i]) == 0)
			return 0;
	}
	return error_set(err, ERROR_USAGE, "AISBX_PRIORITY: it is low, normal or high");
}

/* A stamp of the future is one of a clock that was set. */
static bool is_away(int dir_fd)
{
	struct stat st;

	if (fstatat(dir_fd, POOL_STAMP, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	uint64_t then_ms = clock_ns_of(&st.st_mtim) / NS_PER_MS, now_ms = clock_epoch_ms();

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

static int reach(const char *runtime_dir)
{
	owned(free_ptr) char *path = xasprintf("%s/" POOL_SOCKET, runtime_dir);
	owned(fd_close) int dir_fd = -1, fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
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

int pool_enter(const char *runtime_dir, const char *const *environ, struct pool_wish wish,
	       struct pool_slot *ret_slot, struct error *err)
{
	struct pool_ask ask = { .version = POOL_VERSION,
				.kind = POOL_SLOT,
				.flags = (wish.will_ask ? POOL_WILL_ASK : 0u) |
					 (wish.insists ? POOL_INSISTS : 0u) };
	const char *word = find(environ, "AISBX_DAEMON=");

	*ret_slot = POOL_SLOT_NONE;
	if (read_priority(environ, &ask.priority, err) < 0)
		return -1;
	if (word && strcmp(word, "0") == 0)
		return 0;
	ret_slot->asked_ns = clock_now_ns();
	ret_slot->runtime_dir = runtime_dir;
	ret_slot->fd = reach(runtime_dir);
	/* A refusal that came before it is read all the same. */
	if (ret_slot->fd >= 0)
		(void)send(ret_slot->fd, &ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT);
	return 0;
}

bool pool_receive(struct pool_slot *slot, uint64_t until_ns, void *message, size_t len)
{
	if (fd_wait_until(slot->fd, POLLIN, until_ns) <= 0) {
		leave_stamp(slot->runtime_dir);
		return false;
	}
	return recv(slot->fd, message, len, MSG_DONTWAIT) == (ssize_t)len &&
	       *(const uint32_t *)message == POOL_VERSION;
}

int pool_wait(struct pool_slot *slot, struct error *err)
{
	uint64_t until_ns = slot->asked_ns + POOL_PATIENCE_MS * NS_PER_MS;
	struct pool_answer answer = { 0 };
	bool has_waited = false;

	if (slot->fd < 0)
		return 0;
	while (pool_receive(slot, until_ns, &answer, sizeof(answer)) && answer.kind == POOL_WAIT) {
		has_waited = true;
		until_ns = clock_now_ns() + POOL_WAIT_MAX_MS * NS_PER_MS;
	}
	if (has_waited)
		slot->queued_ms = (clock_now_ns() - slot->asked_ns) / NS_PER_MS;
	/* A daemon that ends or hangs while this call waits counts it no longer: it goes on by itself. */
	if (answer.kind != POOL_RUN)
		pool_leave(slot);
	if (answer.kind != POOL_BUSY)
		return has_waited;
	return error_advise(err, ERROR_BUSY,
			    "try again later, or start the daemon with more --max-running or "
			    "--queue; `aisbx queue` shows them",
			    "busy: %u sandboxes run and %u calls wait already", answer.running,
			    answer.waiting);
}

int pool_enter_now(const char *runtime_dir, const char *const *environ, bool insists,
		   struct pool_slot *ret_slot, struct error *err)
{
	const struct pool_wish wish = { .insists = insists };

	if (pool_enter(runtime_dir, environ, wish, ret_slot, err) < 0)
		return -1;
	return pool_wait(ret_slot, err);
}

void pool_leave(struct pool_slot *slot)
{
	fd_close(&slot->fd);
}
