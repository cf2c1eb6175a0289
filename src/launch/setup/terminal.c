/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own terminal. */
#include "launch/setup/terminal.h"

#include "base/core/own.h"
#include "launch/setup/handshake.h"

#include <fcntl.h>
#include <unistd.h>

int terminal_open(const bool tty[3], const struct winsize *size, int *ret_master, struct error *err)
{
	owned(fd_close) int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	owned(fd_close) int slave = -1;
	int unlocked = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return error_errno(err, ERROR_HOST, "no terminal of its own");
	/* By descriptor, not by name: the file cannot be exchanged in between. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		return error_errno(err, ERROR_HOST, "no terminal of its own");
	/* Before the command can ask for it: the supervisor learns of the terminal at about the same time. */
	(void)ioctl(master, TIOCSWINSZ, size);
	for (int i = 0; i < 3; i++) {
		if (tty[i] && dup2(slave, i) < 0)
			return error_errno(err, ERROR_HOST, "descriptor %d", i);
	}
	*ret_master = fd_take(&master);
	return 0;
}

int terminal_attach(const struct launch_io *io, int socket_fd, struct error *err)
{
	struct message message = { .kind = MESSAGE_TERMINAL };
	const struct winsize size = { .ws_row = io->rows, .ws_col = io->columns };
	owned(fd_close) int master = -1;

	if (!io->tty[0] && !io->tty[1] && !io->tty[2])
		return 0;
	if (terminal_open(io->tty, &size, &master, err) < 0)
		return -1;
	if (handshake_send(socket_fd, &message, &master, 1) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send");
	return 0;
}
