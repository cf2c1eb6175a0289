/* SPDX-License-Identifier: Apache-2.0 */
/* Renames that have to be prepared inside. */
#include "launch/rename/mover.h"

#include "launch/setup/handshake.h"
#include "launch/rename/whole.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Far beyond what whole_make allows itself; for what hangs in the kernel. */
#define MOVE_SECONDS_MAX 120

void mover_report(struct mover *mover)
{
	struct message message = { .kind = MESSAGE_MOVED };

	message.move.id = mover->id;
	mover->pid = 0;
	(void)handshake_send(mover->control_fd, &message, NULL, 0);
}

/* Both paths follow each other, each ended by NUL. */
static bool read_move(const struct message *message, const struct message_fds *fds,
		      struct whole_request *ret_request)
{
	const char *bytes = message->move.bytes;
	size_t len = message->move.len;
	size_t first = strnlen(bytes, len);

	if (fds->count != 2 || first + 1 >= len || bytes[len - 1])
		return false;
	*ret_request =
		(struct whole_request){ fds->items[0], fds->items[1], bytes, bytes + first + 1 };
	return true;
}

static _Noreturn void mover_main(const struct whole_request *request)
{
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)alarm(MOVE_SECONDS_MAX);
	whole_make(request);
	_exit(0);
}

void mover_start(struct mover *mover)
{
	struct whole_request request;
	struct message_fds fds;
	struct message message;

	if (handshake_receive(mover->control_fd, &message, &fds) <= 0)
		_exit(1); /* the supervisor is gone, or not itself any more */
	if (message.kind != MESSAGE_MOVE)
		return;
	mover->id = message.move.id;
	mover->pid = read_move(&message, &fds, &request) && whole_may_help(&request) ? fork() : -1;
	if (mover->pid == 0)
		mover_main(&request);
	for (size_t i = 0; i < fds.count; i++)
		close(fds.items[i]);
	if (mover->pid < 0)
		mover_report(mover);
}
