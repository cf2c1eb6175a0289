/* SPDX-License-Identifier: Apache-2.0 */
/* A zygote pool: finds the keeper for a run, or makes one. */
#include "driver/zygote_pool.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "base/process/process.h"
#include "driver/wasm/zygote_pool_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* So many zygotes at a time, and so long without work. */
#define KEEPERS_MAX 16
#define IDLE_NS (300 * UINT64_C(1000000000))
/*
 * How long an end is waited for before it is made: a zygote pool's, and a keeper's. On a busy machine a sandbox takes seconds
 * to start and to end, and one that is killed in the midst of it leaves things for the next run to remove.
 */
#define CLOSE_MS 60000
#define KEEPER_MS 30000
#define LOOK_MS 50
/* A zygote that could not even start is not tried again at once. */
#define FAILURES_MAX 16
#define FAILURE_NS (60 * UINT64_C(1000000000))

struct keeper {
	pid_t pid;
	int fd;
	char key[SHA256_HEX_SIZE];
	bool is_busy;
	bool was_ready; /* once */
	uint64_t since_ns;
};

struct failure {
	char key[SHA256_HEX_SIZE];
	uint64_t at_ns;
};

struct place {
	int fd;
	struct keeper keepers[KEEPERS_MAX];
	size_t count;
	struct failure failures[FAILURES_MAX];
	size_t failure_next;
};

int zygote_pool_ask_receive(int fd, struct zygote_pool_ask *ret_ask)
{
	size_t count = 0;
	ssize_t got = fd_receive(fd, &ret_ask->message, sizeof(ret_ask->message), ret_ask->fds,
				 ASK_FD_COUNT, &count);

	for (size_t i = count; i < ASK_FD_COUNT; i++)
		ret_ask->fds[i] = -1;
	if (got < 0)
		return -1;
	return got == (ssize_t)sizeof(ret_ask->message) && count == ASK_FD_COUNT &&
	       ret_ask->message.kind == ZYGOTE_RUN;
}

void zygote_pool_ask_done(struct zygote_pool_ask *ask)
{
	for (size_t i = 0; i < ASK_FD_COUNT; i++)
		fd_close(&ask->fds[i]);
}

void zygote_pool_ask_refuse(struct zygote_pool_ask *ask)
{
	const struct zygote_message refused = { .kind = ZYGOTE_REFUSED };

	if (ask->fds[ASK_FD_REPLY] >= 0)
		(void)fd_send(ask->fds[ASK_FD_REPLY], &refused, sizeof(refused), NULL, 0);
	zygote_pool_ask_done(ask);
}

/* Waits for a child that was asked to end; one that is stopped and cannot react is killed at once. */
static void see_end(pid_t pid, int end_fd, int patience_ms)
{
	uint64_t late_ns = clock_now_ns() + (uint64_t)patience_ms * 1000000;

	while (end_fd >= 0 && process_can_go_on(pid) && clock_now_ns() < late_ns)
		(void)fd_wait(end_fd, POLLIN, LOOK_MS);
	/* Its pid cannot be reused before it is waited for. */
	child_end(pid);
}

/* Takes it out of the list: its end of the stream is its end. */
static void let_go(struct place *place, size_t index)
{
	struct keeper *keeper = &place->keepers[index];
	owned(fd_close) int end_fd = child_open(keeper->pid);

	if (!keeper->was_ready) {
		struct failure *failure = &place->failures[place->failure_next++ % FAILURES_MAX];

		memcpy(failure->key, keeper->key, sizeof(failure->key));
		failure->at_ns = clock_now_ns();
	}
	fd_close(&keeper->fd);
	see_end(keeper->pid, end_fd, KEEPER_MS);
	*keeper = place->keepers[--place->count];
}

static bool has_failed(const struct place *place, const char *key)
{
	for (size_t i = 0; i < FAILURES_MAX; i++) {
		const struct failure *failure = &place->failures[i];

		if (failure->at_ns && clock_now_ns() - failure->at_ns < FAILURE_NS &&
		    strcmp(failure->key, key) == 0)
			return true;
	}
	return false;
}

/* Room for one more: where there is none, the one that has been idle longest goes. */
static bool make_room(struct place *place)
{
	size_t oldest = place->count;

	if (place->count < KEEPERS_MAX)
		return true;
	for (size_t i = 0; i < place->count; i++) {
		if (!place->keepers[i].is_busy &&
		    (oldest == place->count ||
		     place->keepers[i].since_ns < place->keepers[oldest].since_ns))
			oldest = i;
	}
	if (oldest == place->count)
		return false;
	let_go(place, oldest);
	return true;
}

static bool start_keeper(struct place *place, struct zygote_pool_ask *ask)
{
	struct keeper *keeper = &place->keepers[place->count];
	pid_t zygote_pool = getpid(), pid;
	struct error ignored;
	int fd;

	pid = child_fork(CHILD_TALKS, 0, &fd, &ignored);
	if (pid == 0)
		_exit(keeper_main(fd, zygote_pool, ask));
	if (pid < 0)
		return false;
	*keeper = (struct keeper){ .pid = pid, .fd = fd, .is_busy = true };
	memcpy(keeper->key, ask->message.key, sizeof(keeper->key));
	place->count++;
	zygote_pool_ask_done(ask);
	return true;
}

static void serve(struct place *place, struct zygote_pool_ask *ask)
{
	ask->message.key[SHA256_HEX_SIZE - 1] = '\0';
	for (size_t i = 0; i < place->count; i++) {
		struct keeper *keeper = &place->keepers[i];

		/* A run that is given to one that is halted would never begin. */
		if (keeper->is_busy || strcmp(keeper->key, ask->message.key) != 0 ||
		    !process_can_go_on(keeper->pid) ||
		    fd_send(keeper->fd, &ask->message, sizeof(ask->message), ask->fds,
			    ASK_FD_COUNT) < 0)
			continue;
		keeper->is_busy = true;
		zygote_pool_ask_done(ask);
		return;
	}
	if (has_failed(place, ask->message.key) || !make_room(place) || !start_keeper(place, ask))
		zygote_pool_ask_refuse(ask);
}

static void handle_keeper(struct place *place, size_t index)
{
	struct keeper *keeper = &place->keepers[index];
	struct zygote_message message;

	if (recv(keeper->fd, &message, sizeof(message), 0) != (ssize_t)sizeof(message)) {
		let_go(place, index);
		return;
	}
	keeper->is_busy = false;
	keeper->was_ready = true;
	keeper->since_ns = clock_now_ns();
}

static void drop_idle(struct place *place)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = place->count; i-- > 0;) {
		if (!place->keepers[i].is_busy && now_ns - place->keepers[i].since_ns > IDLE_NS)
			let_go(place, i);
	}
}

/* False at the end: no client is left. */
static bool turn(struct place *place)
{
	struct pollfd polls[1 + KEEPERS_MAX] = { { .fd = place->fd, .events = POLLIN } };
	size_t count = place->count;

	for (size_t i = 0; i < count; i++)
		polls[1 + i] = (struct pollfd){ .fd = place->keepers[i].fd, .events = POLLIN };
	if (poll(polls, 1 + count, count > 0 ? (int)(IDLE_NS / 1000000) : -1) < 0)
		return errno == EINTR;
	/* Backwards: a removed entry is replaced by the last. */
	for (size_t i = count; i-- > 0;) {
		if (polls[1 + i].revents)
			handle_keeper(place, i);
	}
	drop_idle(place);
	if (polls[0].revents) {
		struct zygote_pool_ask ask = ZYGOTE_POOL_ASK_INIT;
		int got = zygote_pool_ask_receive(place->fd, &ask);

		if (got == 1)
			serve(place, &ask);
		else
			zygote_pool_ask_done(&ask);
		return got == 1;
	}
	return true;
}

static _Noreturn void zygote_pool_main(int fd, pid_t owner)
{
	struct place place = { .fd = fd };

	if (process_detach(&fd, 1, "aisbx-pool") < 0)
		_exit(1);
	parent_end_follow(owner, SIGKILL);
	while (turn(&place))
		;
	/* All at once, then one by one. */
	for (size_t i = 0; i < place.count; i++)
		fd_close(&place.keepers[i].fd);
	while (place.count > 0)
		let_go(&place, place.count - 1);
	_exit(0);
}

int zygote_pool_open(struct zygote_pool *ret_zygote_pool, struct error *err)
{
	int ends[2];

	*ret_zygote_pool = (struct zygote_pool)ZYGOTE_POOL_INIT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "socket");
	ret_zygote_pool->run_fd = ends[0];
	ret_zygote_pool->own_fd = ends[1];
	return 0;
}

int zygote_pool_poll_fd(const struct zygote_pool *zygote_pool)
{
	return zygote_pool->pid > 0 ? zygote_pool->end_fd : zygote_pool->own_fd;
}

void zygote_pool_step(struct zygote_pool *zygote_pool)
{
	pid_t owner = getpid();

	/* Ended: the next request gets another. */
	if (zygote_pool->pid > 0) {
		if (waitpid(zygote_pool->pid, NULL, WNOHANG) == zygote_pool->pid) {
			zygote_pool->pid = 0;
			fd_close(&zygote_pool->end_fd);
		}
		return;
	}
	zygote_pool->pid = fork();
	if (zygote_pool->pid == 0) {
		close(zygote_pool->run_fd);
		zygote_pool_main(zygote_pool->own_fd, owner);
	}
	if (zygote_pool->pid > 0)
		zygote_pool->end_fd = child_open(zygote_pool->pid);
	else
		zygote_pool->pid = 0;
}

void zygote_pool_look(struct zygote_pool *zygote_pool)
{
	if (fd_wait(zygote_pool_poll_fd(zygote_pool), POLLIN, 0) > 0)
		zygote_pool_step(zygote_pool);
}

void zygote_pool_close(struct zygote_pool *zygote_pool)
{
	fd_close(&zygote_pool->run_fd);
	fd_close(&zygote_pool->own_fd);
	/* Its keepers go with it in any case; gently they also clean up. */
	if (zygote_pool->pid > 0)
		see_end(zygote_pool->pid, zygote_pool->end_fd, CLOSE_MS);
	fd_close(&zygote_pool->end_fd);
	*zygote_pool = (struct zygote_pool)ZYGOTE_POOL_INIT;
}
