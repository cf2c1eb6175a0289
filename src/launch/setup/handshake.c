/* SPDX-License-Identifier: Apache-2.0 */
/* What the three processes of a start say to each other. */
#include "launch/setup/handshake.h"

#include "base/file/fd.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_SIZE offsetof(struct message, error)

int handshake_pair(int ret_ends[static 2], struct error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends) < 0)
		return error_errno(err, ERROR_HOST, "start: socket");
	return 0;
}

void handshake_await_end(int socket_fd)
{
	char byte;
	ssize_t got;

	do {
		got = read(socket_fd, &byte, 1);
	} while (got > 0 || (got < 0 && errno == EINTR));
}

/* Of a message of that kind, without its text. */
static size_t fixed_size(enum message_kind kind)
{
	const struct message *any = NULL;

	switch (kind) {
	case MESSAGE_FAILED:
		return HEAD_SIZE + sizeof(any->error);
	case MESSAGE_ENDED:
		return HEAD_SIZE + sizeof(any->ended);
	case MESSAGE_PART:
	case MESSAGE_ROOT:
	case MESSAGE_OVERLAYS:
		return HEAD_SIZE + offsetof(__typeof__(any->text), bytes);
	case MESSAGE_MOVE:
	case MESSAGE_MOVED:
		return HEAD_SIZE + offsetof(__typeof__(any->move), bytes);
	case MESSAGE_PLAN:
	case MESSAGE_MAPPED:
	case MESSAGE_READY:
	case MESSAGE_GROUPS:
	case MESSAGE_PROC:
	case MESSAGE_NETWORK:
	case MESSAGE_NAMES:
	case MESSAGE_LISTENER:
	case MESSAGE_TERMINAL:
	case MESSAGE_EXEC:
		break;
	}
	return HEAD_SIZE;
}

/* How many descriptors a message of that kind may carry. */
static size_t fds_max(enum message_kind kind)
{
	switch (kind) {
	case MESSAGE_PLAN:
	case MESSAGE_GROUPS:
	case MESSAGE_OVERLAYS:
		return MESSAGE_FDS_MAX;
	case MESSAGE_MOVE:
	case MESSAGE_NAMES:
		return 2;
	case MESSAGE_PART:
	case MESSAGE_PROC:
	case MESSAGE_NETWORK:
	case MESSAGE_LISTENER:
	case MESSAGE_TERMINAL:
	case MESSAGE_ROOT:
		return 1;
	case MESSAGE_MAPPED:
	case MESSAGE_READY:
	case MESSAGE_MOVED:
	case MESSAGE_ENDED:
	case MESSAGE_EXEC:
	case MESSAGE_FAILED:
		break;
	}
	return 0;
}

static size_t text_len(const struct message *message)
{
	if (message->kind == MESSAGE_PART || message->kind == MESSAGE_ROOT ||
	    message->kind == MESSAGE_OVERLAYS)
		return message->text.len;
	return message->kind == MESSAGE_MOVE ? message->move.len : 0;
}

int handshake_send(int socket_fd, const struct message *message, const int *fds, size_t count)
{
	return fd_send(socket_fd, message, fixed_size(message->kind) + text_len(message), fds,
		       count);
}

/* Whether GOT bytes are exactly the size of the message's kind; reads nothing behind them. */
static bool is_whole(const struct message *message, size_t got, size_t fd_count)
{
	if (got < HEAD_SIZE || message->kind < MESSAGE_PLAN || message->kind > MESSAGE_FAILED)
		return false;
	size_t fixed = fixed_size(message->kind);

	if (got < fixed || fd_count > fds_max(message->kind))
		return false;
	size_t len = text_len(message);

	if (len > MESSAGE_TEXT_MAX || got != fixed + len)
		return false;
	if (message->kind == MESSAGE_OVERLAYS && len != fd_count)
		return false;
	if (message->kind == MESSAGE_FAILED && !error_is_sane(&message->error))
		return false;
	/* A list of paths is read up to its last NUL. */
	return message->kind != MESSAGE_ROOT || len == 0 || message->text.bytes[len - 1] == '\0';
}

int handshake_receive(int socket_fd, struct message *ret_message, struct message_fds *ret_fds)
{
	struct message_fds fds = { .items = { -1, -1, -1, -1 } };
	ssize_t got = fd_receive(socket_fd, ret_message, sizeof(*ret_message), fds.items,
				 MESSAGE_FDS_MAX, &fds.count);

	if (got > 0 && is_whole(ret_message, (size_t)got, fds.count)) {
		*ret_fds = fds;
		return 1;
	}
	for (size_t i = 0; i < fds.count; i++)
		close(fds.items[i]);
	if (got > 0)
		errno = EBADMSG;
	return got == 0 ? 0 : -1;
}

int handshake_expect(int socket_fd, enum message_kind kind, struct message *ret_message,
		     struct message_fds *ret_fds, struct error *err)
{
	struct message_fds fds;
	int got = handshake_receive(socket_fd, ret_message, &fds);

	if (got < 0)
		return error_errno(err, ERROR_HOST, "start: cannot receive");
	if (got == 0)
		return error_set(err, ERROR_HOST, "start: the other side is gone");
	if (ret_message->kind == MESSAGE_FAILED) {
		*err = ret_message->error;
		return -1;
	}
	if (ret_message->kind != kind)
		return error_set(err, ERROR_INTERNAL, "start: message %d instead of %d",
				 (int)ret_message->kind, (int)kind);
	if (ret_fds)
		*ret_fds = fds;
	return 0;
}
