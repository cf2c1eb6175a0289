/* What the three processes of a start say to each other. */
#include "launch/handshake.h"

#include "base/fd.h"

#include <errno.h>
#include <string.h>

static size_t size_of(const struct message *message)
{
	size_t head = offsetof(struct message, error);

	switch (message->kind) {
	case MESSAGE_FAILED:
		return head + sizeof(message->error);
	case MESSAGE_ENDED:
		return head + sizeof(message->ended);
	case MESSAGE_PART:
	case MESSAGE_ROOT:
		return head + offsetof(__typeof__(message->text), bytes) + message->text.len;
	case MESSAGE_MOVE:
		return head + offsetof(__typeof__(message->move), bytes) + message->move.len;
	case MESSAGE_MOVED:
		return head + offsetof(__typeof__(message->move), bytes);
	case MESSAGE_MAPPED:
	case MESSAGE_READY:
	case MESSAGE_GROUPS:
	case MESSAGE_PROC:
	case MESSAGE_LISTENER:
	case MESSAGE_TERMINAL:
	case MESSAGE_EXEC:
		break;
	}
	return head;
}

int handshake_send(int socket_fd, const struct message *message, const int *fds, size_t count)
{
	return fd_send(socket_fd, message, size_of(message), fds, count);
}

int handshake_expect(int socket_fd, enum message_kind kind, struct message *ret_message,
		     struct message_fds *ret_fds, struct error *err)
{
	struct message_fds none = { .count = 0 };
	struct message_fds *fds = ret_fds ? ret_fds : &none;
	ssize_t got = fd_receive(socket_fd, ret_message, sizeof(*ret_message), fds->items,
				 ret_fds ? MESSAGE_FDS_MAX : 0, &fds->count);

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
	return 0;
}
