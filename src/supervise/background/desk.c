/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of a command in the background: its clients, and their answers. */
#include "supervise/background/desk.h"

#include "base/fd.h"
#include "base/local_socket.h"
#include "base/own.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAITING_MAX 64
#define EVENTS_MAX 16

#define NAME_SIZE 40

static const char *name_of(const char *id, char name[static NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "%.26s.socket", id);
	return name;
}

int desk_open(struct desk *desk, int dir_fd, const char *id, int input_fd, struct error *err)
{
	char name[NAME_SIZE];

	*desk = (struct desk){ .input_fd = input_fd };
	desk->listen_fd = local_socket_listen(dir_fd, name_of(id, name), WAITING_MAX);
	desk->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (desk->listen_fd < 0 || desk->epoll_fd < 0 ||
	    fd_watch(desk->epoll_fd, desk->listen_fd) < 0) {
		error_errno(err, ERROR_HOST, "the socket of the command");
		desk_close(desk);
		return -1;
	}
	return 0;
}

void desk_close(struct desk *desk)
{
	while (desk->count > 0)
		close(desk->clients[--desk->count].fd);
	fd_close(&desk->listen_fd);
	fd_close(&desk->epoll_fd);
	fd_close(&desk->input_fd);
}

static void accept_one(struct desk *desk)
{
	owned(fd_close) int fd = local_socket_accept(desk->listen_fd, SOCK_NONBLOCK);

	if (fd < 0 || desk->count == DESK_CLIENTS_MAX || fd_watch(desk->epoll_fd, fd) < 0)
		return;
	desk->clients[desk->count++] = (struct desk_client){ .fd = fd_take(&fd) };
}

static void drop(struct desk *desk, struct desk_client *client)
{
	close(client->fd);
	*client = desk->clients[--desk->count];
}

static void answer(const struct desk_client *client, enum desk_kind kind, int fd)
{
	struct desk_message message;

	/* All of it goes over the wire, what lies between the fields too. */
	memset(&message, 0, sizeof(message));
	message.kind = kind;
	/* A client that does not read an answer needs none. */
	(void)fd_send(client->fd, &message, sizeof(message), &fd, fd >= 0);
}

static void end_input(struct desk *desk, const struct desk_client *client)
{
	answer(client, desk->input_fd >= 0 ? DESK_DONE : DESK_CLOSED, -1);
	fd_close(&desk->input_fd);
}

/* The signal asked for, or 0. */
static int hear(struct desk *desk, struct desk_client *client)
{
	struct desk_message message;
	size_t count = 0;
	ssize_t got = fd_receive(client->fd, &message, sizeof(message), NULL, 0, &count);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got != (ssize_t)sizeof(message)) {
		drop(desk, client);
		return 0;
	}
	switch (message.kind) {
	case DESK_WAIT:
		client->is_waiting = true;
		client->out = message.out;
		client->err = message.err;
		return 0;
	case DESK_INPUT:
		answer(client, desk->input_fd >= 0 ? DESK_INPUT : DESK_CLOSED, desk->input_fd);
		return 0;
	case DESK_INPUT_END:
		end_input(desk, client);
		return 0;
	case DESK_SIGNAL:
		answer(client, DESK_DONE, -1);
		return message.signal > 0 && message.signal <= SIGRTMAX ? message.signal : 0;
	case DESK_NEWS:
	case DESK_DONE:
	case DESK_CLOSED:
		break;
	}
	drop(desk, client);
	return 0;
}

static struct desk_client *client_of(struct desk *desk, int fd)
{
	for (size_t i = 0; i < desk->count; i++) {
		if (desk->clients[i].fd == fd)
			return &desk->clients[i];
	}
	return NULL;
}

/* Stops at the first signal: the rest is still ready at the next turn. */
static int hear_all(struct desk *desk)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(desk->epoll_fd, events, EVENTS_MAX, 0), sig = 0;

	for (int i = 0; i < count && !sig; i++) {
		struct desk_client *client = client_of(desk, events[i].data.fd);

		if (client)
			sig = hear(desk, client);
		else if (events[i].data.fd == desk->listen_fd)
			accept_one(desk);
	}
	return sig;
}

int desk_attend(struct desk *desk, bool is_ready, uint64_t kept_out, uint64_t kept_err)
{
	int sig = is_ready ? hear_all(desk) : 0;

	for (size_t i = 0; i < desk->count; i++) {
		struct desk_client *client = &desk->clients[i];

		if (!client->is_waiting || (kept_out <= client->out && kept_err <= client->err))
			continue;
		client->is_waiting = false;
		answer(client, DESK_NEWS, -1);
	}
	return sig;
}

int desk_connect(int dir_fd, const char *id)
{
	char name[NAME_SIZE];

	return local_socket_connect(dir_fd, name_of(id, name), 0);
}

int desk_ask(int fd, struct desk_message *message, int wait_ms, int *ret_fd)
{
	owned(fd_close) int came = -1;
	size_t count = 0;
	int got;

	if (fd_send(fd, message, sizeof(*message), NULL, 0) < 0)
		return -1;
	do
		got = fd_wait(fd, POLLIN, wait_ms);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return 0;
	if (fd_receive(fd, message, sizeof(*message), &came, 1, &count) !=
	    (ssize_t)sizeof(*message))
		return -1;
	if (ret_fd)
		*ret_fd = fd_take(&came);
	return 1;
}
