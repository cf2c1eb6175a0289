/* SPDX-License-Identifier: Apache-2.0 */
/* What the payload gives to init: it arrives, or the payload ends and leaves the word to init. */
#include "launch/setup/populate.h"

#include "launch/setup/handshake.h"
#include "tests/tap.h"

#include <sys/wait.h>
#include <unistd.h>

/* How a payload ends that sends on SOCKET_FD: 125 by itself, 1 with a reason of its own, 0 when that was sent. */
static int send_as_payload(const struct start *start, int socket_fd)
{
	const struct fresh fresh = FRESH_INIT;
	const struct populate_gift gift = { STDIN_FILENO, STDIN_FILENO };
	struct error err;
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		_exit(populate_send(start, socket_fd, &gift, &fresh, &err) < 0);
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	struct spec spec = { .root = ROOT_IDMAPPED };
	const struct start start = { .spec = &spec };
	struct populate_gift gift;
	struct fresh fresh = FRESH_INIT;
	struct error err = { 0 };
	int ends[2];

	if (handshake_pair(ends, &err) < 0)
		tap_bail(err.text);
	tap_is_int(send_as_payload(&start, ends[0]), 0, "a gift is sent");
	tap_is_int(populate_receive(&start, ends[1], &gift, &fresh, &err), 1, "and arrives");
	close(gift.network_fd);
	close(gift.proc_fd);
	close(ends[1]);
	tap_is_int(send_as_payload(&start, ends[0]), 125, "without init the payload ends silently");
	close(ends[0]);
	return tap_done();
}
