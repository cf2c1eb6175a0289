/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the messages of the daemon's socket, both sides: each input is a row of messages, two bytes of length before each.
 * A caller that sends them gets nothing out of turn; a daemon that sends them gets no call to run beside its own plan.
 */
#include "app/pool/pool_state.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "launch/ready.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES_MAX 16
#define READY_FDS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_cgroup_remove(const struct cgroup *group, unsigned timeout_ms);

/* Its directories are none here, and would be waited for. */
int __wrap_cgroup_remove(const struct cgroup *group, unsigned timeout_ms)
{
	(void)group;
	(void)timeout_ms;
	return 0;
}

/* The next message of an input; false where there is none. */
static bool next(const uint8_t **data, size_t *size, size_t *ret_len)
{
	if (*size < 2)
		return false;
	*ret_len = (size_t)(*data)[0] | (size_t)(*data)[1] << 8;
	*data += 2;
	*size -= 2;
	*ret_len = *ret_len < *size ? *ret_len : *size;
	return true;
}

/* Counts and places belong together, and a caller that is gone holds none. */
static void check_queue(const struct server *server)
{
	unsigned running = 0, waiting = 0;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		enum queue_state state = server->queue.places[i].state;

		if (state != QUEUE_NONE && server->clients[i].fd < 0)
			abort();
		running += state == QUEUE_RUNS;
		waiting += state == QUEUE_WAITS;
	}
	if (running != server->queue.running || waiting != server->queue.waiting || running > 1)
		abort();
}

static void as_daemon(const uint8_t *data, size_t size)
{
	struct server *server = xcalloc(1, sizeof(*server));
	struct helpers helpers = { 0 };
	int ends[2] = { -1, -1 };
	size_t len;

	server->helpers = &helpers;
	server->queue.limits = (struct queue_limits){ .running = 1, .waiting = 1 };
	server->cores = 1;
	server->peer.pidfd = server->shelf.janitor_fd = -1;
	shelf_init(&server->shelf);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		server->clients[i].fd = -1;
	if (readlink("/proc/self/exe", server->program, sizeof(server->program) - 1) < 0 ||
	    rlimit_read(0, &server->limits) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		abort();
	server->client_end = 1;
	server->clients[0] = (struct client){ .fd = ends[1], .pid = getpid() };
	for (int i = 0; i < MESSAGES_MAX && server->clients[0].fd >= 0 && next(&data, &size, &len);
	     i++) {
		/* Nothing to read is a caller that has gone. */
		if (len > 0 && send(ends[0], data, len, MSG_NOSIGNAL) != (ssize_t)len)
			break;
		if (len == 0)
			(void)shutdown(ends[0], SHUT_WR);
		client_serve(server, &server->clients[0]);
		check_queue(server);
		data += len;
		size -= len;
	}
	if (server->clients[0].fd >= 0)
		client_hang_up(server, &server->clients[0]);
	check_queue(server);
	shelf_done(&server->shelf);
	close(ends[0]);
	free(server);
}

/* All messages, then the end; the last with descriptors, as a sandbox comes. */
static int send_all(int fd, const uint8_t *data, size_t size)
{
	int fds[READY_FDS];
	size_t len;

	for (int i = 0; i < MESSAGES_MAX && next(&data, &size, &len); i++) {
		bool is_last = size - len < 2;

		for (int j = 0; j < READY_FDS; j++)
			fds[j] = is_last ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
		int status = len > 0 ? fd_send(fd, data, len, fds, is_last ? READY_FDS : 0) : -1;

		for (int j = 0; j < READY_FDS; j++)
			fd_close(&fds[j]);
		if (status < 0)
			break;
		data += len;
		size -= len;
	}
	return shutdown(fd, SHUT_WR);
}

static void as_caller(const uint8_t *data, size_t size)
{
	struct pool_slot slot = { .fd = -1, .runtime_dir = "/nowhere" };
	owned(spec_done) struct spec spec;
	struct error err = { 0 };
	int ends[2];

	spec_init(&spec);
	spec.sandbox = xstrdup("s-own");
	spec.hostname = xstrdup("s-own");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		abort();
	slot.fd = ends[0];
	slot.asked_ns = UINT64_MAX / 2;
	(void)send_all(ends[1], data, size);
	if (pool_wait(&slot, &err) < 0 && err.code != ERROR_BUSY)
		abort();
	if (slot.fd >= 0) {
		struct pool_answer answer;
		struct launch_prestart *ready =
			pool_receive(&slot, UINT64_MAX, &answer, sizeof(answer)) &&
					answer.kind == POOL_GIVEN
				? ready_receive(slot.fd, &spec)
				: NULL;

		if (!ready && strcmp(spec.sandbox, "s-own") != 0)
			abort();
		launch_abandon(ready);
	}
	pool_leave(&slot);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_daemon(data, size);
	as_caller(data, size);
	return 0;
}
