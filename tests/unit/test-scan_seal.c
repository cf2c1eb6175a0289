/* What the parser's process cannot do any more once it is sealed. */
#include "scan/parser.h"
#include "tests/unit/sealed.h"

#include <sys/socket.h>

static int try_open(void)
{
	return open("/", O_PATH | O_CLOEXEC) < 0 ? errno : 0;
}

static int try_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
}

static int try_memory(void)
{
	char *volatile bytes = malloc(8 << 20);
	int status = bytes ? 0 : errno;

	free(bytes);
	return status;
}

int main(void)
{
	static const struct sealed_attempt rows[] = {
		{ "opening a file", try_open, EPERM },	      { "a socket", try_socket, EPERM },
		{ "executing a program", try_exec, EPERM },   { "a process", try_fork, EPERM },
		{ "a signal to another", try_signal, EPERM }, { "memory", try_memory, 0 },
	};

	sealed_try(parser_seal, rows, sizeof(rows) / sizeof(rows[0]));
	return tap_done();
}
