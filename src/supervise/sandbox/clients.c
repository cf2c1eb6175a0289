/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's clients: their requests, and init's answers. */
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/process/local_socket.h"
#include "supervise/sandbox/parts.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes as the kernel counts them: much of what it takes from us before it lets us wait, and not all. */
#define UNHEARD_MAX (128 << 10)

/* A late client gets the reason, and not that the sandbox was stopped. */
static void turn_away(int fd)
{
	const struct client client = { .fd = fd };
	struct error err;

	error_advise(&err, ERROR_CONFLICT, "try again later",
		     "%d others use the sandbox at this moment", CLIENTS_MAX);
	client_fail(&client, &err);
	close(fd);
}

void clients_accept(struct supervisor *supervisor)
{
	for (;;) {
		int fd = local_socket_accept(supervisor->options->listen_fd, 0);

		if (fd < 0)
			return;
		if (supervisor->client_count == CLIENTS_MAX ||
		    fd_watch(supervisor->epoll_fd, fd) < 0) {
			turn_away(fd);
		} else {
			supervisor->clients[supervisor->client_count++] =
				(struct client){ .fd = fd, .id = ++supervisor->next_id };
			fresh_prepare_next(supervisor);
		}
	}
}

struct client *client_of_fd(struct supervisor *supervisor, int fd)
{
	for (size_t i = 0; i < supervisor->client_count; i++) {
		if (supervisor->clients[i].fd == fd)
			return &supervisor->clients[i];
	}
	return NULL;
}

struct client *client_of_id(struct supervisor *supervisor, uint32_t id)
{
	for (size_t i = 0; i < supervisor->client_count; i++) {
		if (supervisor->clients[i].id == id)
			return &supervisor->clients[i];
	}
	return NULL;
}

static void send_init(struct supervisor *supervisor, enum attach_kind kind, uint32_t id)
{
	const struct attach_message message = { .kind = kind, .id = id };

	(void)attach_send(supervisor->launch.payload_fd, &message, NULL, 0);
}

static bool is_frozen(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->client_count; i++) {
		if (supervisor->clients[i].has_frozen)
			return true;
	}
	return false;
}

static void set_watched(const struct supervisor *supervisor, const struct client *client,
			uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = client->fd };

	(void)epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_MOD, client->fd, &event);
}

/*
 * Halts all processes inside for CLIENT, or lets them go on: with the last client that had halted them. Answered by DONE,
 * by init's FAILED where one cannot be halted: the others go on when the client leaves.
 */
static void halt(struct supervisor *supervisor, struct client *client, bool is_on)
{
	const struct attach_message done = { .kind = ATTACH_DONE, .id = client->id };

	client->has_frozen = is_on;
	if (!is_on && is_frozen(supervisor)) {
		(void)attach_send(client->fd, &done, NULL, 0);
		return;
	}
	send_init(supervisor, is_on ? ATTACH_FREEZE : ATTACH_THAW, client->id);
	for (size_t i = 0; !is_on && i < supervisor->client_count; i++)
		set_watched(supervisor, &supervisor->clients[i], EPOLLIN);
}

static void pass_signal(struct supervisor *supervisor, const struct client *client)
{
	const struct attach_message message = { .kind = supervisor->packet.message.kind,
						.id = client->id,
						.signal = supervisor->packet.message.signal };

	if (client->is_active && message.signal > 0 && message.signal <= SIGRTMAX)
		(void)attach_send(supervisor->launch.payload_fd, &message, NULL, 0);
}

/* A client that disconnects ends the command that it started; what a finished command left in the background stays. */
static void drop(struct supervisor *supervisor, struct client *client)
{
	if (client->is_active)
		send_init(supervisor, ATTACH_KILL, client->id);
	if (client->has_frozen)
		halt(supervisor, client, false);
	/* By hand: init may still hold a copy. */
	(void)epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
	close(client->fd);
	*client = supervisor->clients[--supervisor->client_count];
	fresh_tidy(supervisor);
}

/*
 * A command that enters would run among processes that are halted: it waits for the thaw in its client's socket. True when
 * CLIENT's next message is such a one; a client that has left is dropped with it.
 */
static bool hold(struct supervisor *supervisor, struct client *client)
{
	enum attach_kind kind;

	if (!is_frozen(supervisor) ||
	    recv(client->fd, &kind, sizeof(kind), MSG_PEEK | MSG_DONTWAIT) <
		    (ssize_t)sizeof(kind) ||
	    kind != ATTACH_EXEC)
		return false;
	if (fd_wait(client->fd, 0, 0) > 0)
		drop(supervisor, client);
	else
		set_watched(supervisor, client, 0);
	return true;
}

/* Sending to a stopped client would block the supervisor, and with it all other clients. */
static bool is_listening(const struct client *client)
{
	int unreported = 0;

	return ioctl(client->fd, SIOCOUTQ, &unreported) < 0 || unreported < UNHEARD_MAX;
}

void client_deny(struct client *client, const struct attach_denied *denied)
{
	struct attach_message message = { .kind = ATTACH_DENIED, .id = client->id };

	if (!is_listening(client)) {
		client->unsent++;
		return;
	}
	message.denied = *denied;
	(void)attach_send(client->fd, &message, NULL, 0);
}

void client_ask_to_look(struct client *client)
{
	const struct attach_message message = { .kind = ATTACH_LOOK, .id = client->id };

	if (client->is_asked_to_look || !is_listening(client))
		return;
	client->is_asked_to_look = attach_send(client->fd, &message, NULL, 0) == 0;
}

void client_fail(const struct client *client, const struct error *err)
{
	struct attach_message message = { .kind = ATTACH_FAILED, .id = client->id };

	message.error = *err;
	(void)attach_send(client->fd, &message, NULL, 0);
}

static void send_figures(struct supervisor *supervisor, const struct client *client, bool afresh)
{
	struct attach_message message = { .kind = ATTACH_FIGURES, .id = client->id };

	supervisor_figures(supervisor, client, afresh, &message.figures);
	(void)attach_send(client->fd, &message, NULL, 0);
}

static int forward(struct supervisor *supervisor, const struct client *client,
		   const struct strv words[ATTACH_GROUPS], struct error *err)
{
	const struct supervisor_options *options = supervisor->options;
	struct attach_packet *packet = &supervisor->packet;
	struct attach_message message = packet->message;
	struct strv inside[ATTACH_GROUPS] = {
		[ATTACH_COMMAND] = words[ATTACH_COMMAND],
		[ATTACH_SECRETS] = words[ATTACH_SECRETS],
		[ATTACH_USER] = words[ATTACH_USER],
	};
	size_t count = packet->fd_count - message.exec.is_outside;
	int fds[1 + ATTACH_FDS_MAX] = { client->fd };
	int status = 0;

	strv_add(&inside[ATTACH_DIRECTORY],
		 options->directory_of(words[ATTACH_DIRECTORY].items[0], options->cookie));
	options->environment(&words[ATTACH_ENVIRON], &inside[ATTACH_ENVIRON], options->cookie);
	for (size_t i = 0; i < words[ATTACH_SET].count; i++)
		settings_add_env(&inside[ATTACH_ENVIRON], words[ATTACH_SET].items[i]);
	for (size_t i = 0; i < count; i++)
		fds[1 + i] = packet->fds[i];
	message.id = client->id;
	message.exec.is_outside = false;
	if (attach_send_exec(supervisor->launch.payload_fd, &message, inside, fds, 1 + count) < 0)
		status = error_errno(err, ERROR_HOST, "cannot hand the command over");
	strv_done(&inside[ATTACH_DIRECTORY]);
	strv_done(&inside[ATTACH_ENVIRON]);
	return status;
}

static void start_exec(struct supervisor *supervisor, struct client *client)
{
	struct strv words[ATTACH_GROUPS] = { 0 };
	struct error err;

	if (client->is_active || client->pid)
		return;
	if (!fresh_look(supervisor)) {
		fresh_refuse(supervisor, client);
		return;
	}
	/* First of all: it is still awake now, and need not be woken for them later. */
	send_figures(supervisor, client, false);
	if (attach_words(&supervisor->packet, words, &err) < 0 ||
	    forward(supervisor, client, words, &err) < 0) {
		client_fail(client, &err);
	} else {
		client->is_active = true;
		supervisor->is_idle = false;
		fresh_note(supervisor);
	}
	if (words[ATTACH_SECRETS].count > 0)
		explicit_bzero(supervisor->packet.body, sizeof(supervisor->packet.body));
	secrets_words_done(&words[ATTACH_SECRETS]);
	for (size_t i = 0; i < ATTACH_GROUPS; i++)
		strv_done(&words[i]);
}

/* To one of another version most likely; errors look the same to all of them. */
static void report_loss(const struct client *client, int got)
{
	struct error err;

	attach_lost(got, &err);
	client_fail(client, &err);
}

/*
 * Reads init's messages first: one may report that the last process has ended, and the client's request came after it.
 */
static void handle_init_first(struct supervisor *supervisor)
{
	while (!supervisor->is_idle && !supervisor->is_over &&
	       fd_wait(supervisor->launch.payload_fd, POLLIN, 0) > 0)
		clients_handle_init(supervisor);
}

/* Whether it is idle is decided here: a command may have come since the client looked. */
static void stop(struct supervisor *supervisor, const struct client *client)
{
	const struct attach_message goes_on = { .kind = ATTACH_DONE };

	if (supervisor->packet.message.kind == ATTACH_STOP || supervisor->is_idle)
		supervisor->is_over = true;
	else
		(void)attach_send(client->fd, &goes_on, NULL, 0);
}

void client_step(struct supervisor *supervisor, struct client *client)
{
	struct attach_packet *packet = &supervisor->packet;

	handle_init_first(supervisor);
	if (hold(supervisor, client))
		return;
	int got = attach_receive(client->fd, packet);

	if (got < 0)
		report_loss(client, got);
	if (got <= 0) {
		drop(supervisor, client);
		return;
	}
	switch (packet->message.kind) {
	case ATTACH_EXEC:
		start_exec(supervisor, client);
		break;
	case ATTACH_KILL:
		if (client->is_active)
			send_init(supervisor, ATTACH_KILL, client->id);
		break;
	case ATTACH_SIGNAL:
	case ATTACH_END:
		pass_signal(supervisor, client);
		break;
	case ATTACH_FREEZE:
	case ATTACH_THAW:
		halt(supervisor, client, packet->message.kind == ATTACH_FREEZE);
		break;
	case ATTACH_LOOK:
		network_flush(supervisor, client);
		/* A command may have ended before the next look at what it wrote. */
		bounds_look(supervisor, !client->is_active);
		send_figures(supervisor, client, true);
		break;
	case ATTACH_NETWORK:
		network_report(supervisor, client);
		break;
	case ATTACH_RULE:
		network_change(supervisor, client, &packet->message.rule);
		break;
	case ATTACH_STOP:
	case ATTACH_STOP_IDLE:
		stop(supervisor, client);
		break;
	case ATTACH_FIGURES:
	case ATTACH_STARTED:
	case ATTACH_TERMINAL:
	case ATTACH_RUNNING:
	case ATTACH_DENIED:
	case ATTACH_ENDED:
	case ATTACH_IDLE:
	case ATTACH_DONE:
	case ATTACH_FAILED:
		break;
	}
	attach_close(packet);
}

static bool has_active(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->client_count; i++) {
		if (supervisor->clients[i].is_active)
			return true;
	}
	return false;
}

void clients_handle_init(struct supervisor *supervisor)
{
	struct attach_packet *packet = &supervisor->packet;
	const struct attach_message *message = &packet->message;

	/* client_step may have read the message already. */
	if (fd_wait(supervisor->launch.payload_fd, POLLIN, 0) <= 0)
		return;
	if (attach_receive(supervisor->launch.payload_fd, packet) <= 0) {
		supervisor->is_over = supervisor->has_lost_init = true;
		return;
	}
	struct client *client = client_of_id(supervisor, message->id);

	if (message->kind == ATTACH_IDLE) {
		/*
		 * Init may have sent this before it received a command that is on its way; it sends it again after that
		 * one.
		 */
		supervisor->is_idle = !has_active(supervisor);
		supervisor->idle_since_ns = clock_now_ns();
		supervisor->left_ns = message->at_ns;
		if (supervisor->is_idle)
			disk_watch_settle(&supervisor->disk);
		/* The last process may have looked names up since the one before it left. */
		supervisor->is_tidy = false;
		fresh_tidy(supervisor);
	} else if (message->kind == ATTACH_STARTED && client) {
		client->pid = message->pid;
	} else if (message->kind == ATTACH_ENDED && client) {
		client->is_active = false;
	} else if ((message->kind == ATTACH_DONE || message->kind == ATTACH_FAILED) && client) {
		(void)attach_send(client->fd, message, NULL, 0);
	}
	attach_close(packet);
}

void clients_fail(struct supervisor *supervisor, const struct error *err)
{
	clients_accept(supervisor);
	for (size_t i = 0; i < supervisor->client_count; i++)
		client_fail(&supervisor->clients[i], err);
}

void clients_end(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->client_count; i++) {
		const struct client *client = &supervisor->clients[i];
		struct attach_message ended = { .kind = ATTACH_ENDED, .id = client->id };

		if (!client->is_active)
			continue;
		send_figures(supervisor, client, true);
		ended.ended.wait_status = SIGKILL;
		/* Init alone can only have been ended by the kernel, or from outside. */
		ended.ended.is_stopped = !supervisor->has_lost_init;
		(void)attach_send(client->fd, &ended, NULL, 0);
	}
}
