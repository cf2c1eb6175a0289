/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a supervisor and a resident init read: one message as it comes off a socket, and the words in it. */
#include "launch/exec/attach.h"

#include "base/file/fd.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const struct attach_packet *packet)
{
	const struct attach_exec *exec = &packet->message.exec;
	struct strv words[ATTACH_GROUPS] = { 0 };
	struct error err = { 0 };
	size_t len = 0;

	if (attach_words(packet, words, &err) < 0)
		return;
	for (size_t i = 0; i < ATTACH_GROUPS; i++) {
		if (words[i].count != exec->counts[i])
			abort();
		for (size_t j = 0; j < words[i].count; j++)
			len += strlen(words[i].items[j]) + 1;
		strv_done(&words[i]);
	}
	if (len != exec->body_len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attach_packet *packet = xcalloc(1, sizeof(*packet));
	int ends[2];

	if (size > 0 && size < 40000 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
		if (fd_send(ends[0], data, size, NULL, 0) == 0 &&
		    attach_receive(ends[1], packet) > 0 && packet->message.kind == ATTACH_EXEC)
			check_words(packet);
		close(ends[0]);
		close(ends[1]);
	}
	free(packet);
	return 0;
}
