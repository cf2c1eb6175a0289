/* SPDX-License-Identifier: Apache-2.0 */
/* Renames that have to be prepared inside. */
#include "launch/rename/dir_rename_process.h"

#include "launch/setup/handshake.h"
#include "launch/rename/dir_rename.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Far beyond what dir_rename_make allows itself; for what hangs in the kernel. */
#define MOVE_SECONDS_MAX 120

void dir_rename_process_report(struct dir_rename_process *dir_rename_process)
{
	struct message message = { .kind = MESSAGE_MOVED };

	message.move.id = dir_rename_process->id;
	dir_rename_process->pid = 0;
	(void)handshake_send(dir_rename_process->control_fd, &message, NULL, 0);
}

/* Both paths follow each other, each ended by NUL. */
static bool read_move(const struct message *message, const struct message_fds *fds,
		      struct dir_rename_request *ret_request)
{
	const char *bytes = message->move.bytes;
	size_t len = message->move.len;
	size_t first = strnlen(bytes, len);

	if (fds->count != 2 || first + 1 >= len || bytes[len - 1])
		return false;
	*ret_request = (struct dir_rename_request){ fds->items[0], fds->items[1], bytes,
						    bytes + first + 1 };
	return true;
}

static _Noreturn void dir_rename_process_main(const struct dir_rename_request *request)
{
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)alarm(MOVE_SECONDS_MAX);
	dir_rename_make(request);
	_exit(0);
}

void dir_rename_process_start(struct dir_rename_process *dir_rename_process)
{
	struct dir_rename_request request;
	struct message_fds fds;
	struct message message;

	if (handshake_receive(dir_rename_process->control_fd, &message, &fds) <= 0)
		_exit(1); /* the supervisor is gone, or not itself any more */
	if (message.kind != MESSAGE_MOVE)
		return;
	dir_rename_process->id = message.move.id;
	dir_rename_process->pid =
		read_move(&message, &fds, &request) && dir_rename_may_help(&request) ? fork() : -1;
	if (dir_rename_process->pid == 0)
		dir_rename_process_main(&request);
	for (size_t i = 0; i < fds.count; i++)
		close(fds.items[i]);
	if (dir_rename_process->pid < 0)
		dir_rename_process_report(dir_rename_process);
}
