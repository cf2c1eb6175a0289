/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of a command in the background: its clients, and their answers. */
#include "supervise/background/control_socket.h"

#include "base/file/fd.h"
#include "base/process/local_socket.h"
#include "base/core/own.h"

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

int control_socket_open(struct control_socket *control, int dir_fd, const char *id, int input_fd,
			struct error *err)
{
	char name[NAME_SIZE];

	*control = (struct control_socket){ .input_fd = input_fd };
	control->listen_fd = local_socket_listen(dir_fd, name_of(id, name), WAITING_MAX);
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (control->listen_fd < 0 || control->epoll_fd < 0 ||
	    fd_watch(control->epoll_fd, control->listen_fd) < 0) {
		error_errno(err, ERROR_HOST, "the socket of the command");
		control_socket_close(control);
		return -1;
	}
	return 0;
}

void control_socket_close(struct control_socket *control)
{
	while (control->count > 0)
		close(control->clients[--control->count].fd);
	fd_close(&control->listen_fd);
	fd_close(&control->epoll_fd);
	fd_close(&control->input_fd);
}

static void accept_one(struct control_socket *control)
{
	owned(fd_close) int fd = local_socket_accept(control->listen_fd, SOCK_NONBLOCK);

	if (fd < 0 || control->count == CONTROL_CLIENTS_MAX || fd_watch(control->epoll_fd, fd) < 0)
		return;
	control->clients[control->count++] = (struct control_socket_client){ .fd = fd_take(&fd) };
}

static void drop(struct control_socket *control, struct control_socket_client *client)
{
	close(client->fd);
	*client = control->clients[--control->count];
}

static void answer(const struct control_socket_client *client, enum control_kind kind, int fd)
{
	struct control_message message;

	/* All of it goes over the wire, what lies between the fields too. */
	memset(&message, 0, sizeof(message));
	message.kind = kind;
	/* A client that does not read an answer needs none. */
	(void)fd_send(client->fd, &message, sizeof(message), &fd, fd >= 0);
}

static void end_input(struct control_socket *control, const struct control_socket_client *client)
{
	answer(client, control->input_fd >= 0 ? CONTROL_DONE : CONTROL_CLOSED, -1);
	fd_close(&control->input_fd);
}

/* The signal asked for, or 0. */
static int handle_client(struct control_socket *control, struct control_socket_client *client)
{
	struct control_message message;
	size_t count = 0;
	ssize_t got = fd_receive(client->fd, &message, sizeof(message), NULL, 0, &count);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got != (ssize_t)sizeof(message)) {
		drop(control, client);
		return 0;
	}
	switch (message.kind) {
	case CONTROL_WAIT:
		client->is_waiting = true;
		client->out = message.out;
		client->err = message.err;
		return 0;
	case CONTROL_INPUT:
		answer(client, control->input_fd >= 0 ? CONTROL_INPUT : CONTROL_CLOSED,
		       control->input_fd);
		return 0;
	case CONTROL_INPUT_END:
		end_input(control, client);
		return 0;
	case CONTROL_SIGNAL:
		answer(client, CONTROL_DONE, -1);
		return message.signal > 0 && message.signal <= SIGRTMAX ? message.signal : 0;
	case CONTROL_NEWS:
	case CONTROL_DONE:
	case CONTROL_CLOSED:
		break;
	}
	drop(control, client);
	return 0;
}

static struct control_socket_client *client_of(struct control_socket *control, int fd)
{
	for (size_t i = 0; i < control->count; i++) {
		if (control->clients[i].fd == fd)
			return &control->clients[i];
	}
	return NULL;
}

/* Stops at the first signal: the rest is still ready at the next turn. */
static int handle_all(struct control_socket *control)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(control->epoll_fd, events, EVENTS_MAX, 0), sig = 0;

	for (int i = 0; i < count && !sig; i++) {
		struct control_socket_client *client = client_of(control, events[i].data.fd);

		if (client)
			sig = handle_client(control, client);
		else if (events[i].data.fd == control->listen_fd)
			accept_one(control);
	}
	return sig;
}

int control_socket_attend(struct control_socket *control, bool is_ready, uint64_t kept_out,
			  uint64_t kept_err)
{
	int sig = is_ready ? handle_all(control) : 0;

	for (size_t i = 0; i < control->count; i++) {
		struct control_socket_client *client = &control->clients[i];

		if (!client->is_waiting || (kept_out <= client->out && kept_err <= client->err))
			continue;
		client->is_waiting = false;
		answer(client, CONTROL_NEWS, -1);
	}
	return sig;
}

int control_socket_connect(int dir_fd, const char *id)
{
	char name[NAME_SIZE];

	return local_socket_connect(dir_fd, name_of(id, name), 0);
}

int control_socket_ask(int fd, struct control_message *message, int wait_ms, int *ret_fd)
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
