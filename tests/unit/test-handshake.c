/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a start: they arrive whole with their descriptors, or are refused and leave nothing open. */
#include "launch/setup/handshake.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "tests/tap.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int sockets[2];

static void set_text(struct message *message, enum message_kind kind, const char *text, size_t len)
{
	memset(message, 0, sizeof(*message));
	message->kind = kind;
	memcpy(message->text.bytes, text, len);
	message->text.len = (uint32_t)len;
}

static void test_whole(void)
{
	struct message sent, message;
	struct message_fds fds;
	struct error err = { 0 };

	set_text(&sent, MESSAGE_PART, "/usr", 4);
	tap_is_int(handshake_send(sockets[0], &sent, &sockets[0], 1), 0, "a message is sent");
	tap_is_int(handshake_receive(sockets[1], &message, &fds), 1, "and arrives");
	tap_ok(message.kind == MESSAGE_PART && message.text.len == 4 &&
		       memcmp(message.text.bytes, "/usr", 4) == 0,
	       "with its text");
	tap_ok(fds.count == 1 && fds.items[0] >= 0 && fds.items[1] == -1, "and its descriptor");
	fd_close(&fds.items[0]);

	sent = (struct message){ .kind = MESSAGE_FAILED };
	error_set(&sent.error, ERROR_DENIED, "because");
	(void)handshake_send(sockets[0], &sent, NULL, 0);
	tap_ok(handshake_expect(sockets[1], MESSAGE_READY, &message, NULL, &err) < 0 &&
		       strcmp(err.text, "because") == 0,
	       "a failure instead of what was expected is told");
}

/* Sends LEN bytes of MESSAGE as they are and tells whether they are refused. */
static bool is_refused(const struct message *message, size_t len, size_t fd_count)
{
	const int fds[2] = { sockets[0], sockets[1] };
	struct message_fds got_fds;
	struct message got;

	if (fd_send(sockets[0], message, len, fds, fd_count) < 0)
		tap_bail("cannot send");
	return handshake_receive(sockets[1], &got, &got_fds) < 0 && errno == EBADMSG;
}

static void test_refused(void)
{
	const size_t head = offsetof(struct message, error);
	const size_t text = offsetof(struct message, text.bytes);
	struct message message;

	set_text(&message, MESSAGE_PART, "/usr", 4);
	tap_ok(is_refused(&message, 2, 0), "less than a head");
	tap_ok(is_refused(&message, head, 0), "a text without its length");
	tap_ok(is_refused(&message, text + 3, 0), "a text shorter than it says");
	tap_ok(is_refused(&message, text + 5, 0), "a text longer than it says");
	tap_ok(is_refused(&message, text + 4, 2), "more descriptors than its kind has");
	message.text.len = UINT32_MAX;
	tap_ok(is_refused(&message, sizeof(message), 1), "a length beyond all bounds");
	set_text(&message, MESSAGE_ROOT, "/usr", 4);
	tap_ok(is_refused(&message, text + 4, 0), "a list of paths without its end");
	memset(&message, 0, sizeof(message));
	tap_ok(is_refused(&message, head, 0), "no kind at all");
	message.kind = (enum message_kind)99;
	tap_ok(is_refused(&message, head, 0), "a kind that is not known");
}

static void test_end(void)
{
	struct message message;
	struct message_fds fds;

	fd_close(&sockets[0]);
	tap_is_int(handshake_receive(sockets[1], &message, &fds), 0, "the end is no error");
	fd_close(&sockets[1]);
	tap_is_int(handshake_receive(sockets[1], &message, &fds), -1, "no socket is");
}

int main(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		tap_bail("no sockets");
	test_whole();
	test_refused();
	test_end();
	return tap_done();
}
