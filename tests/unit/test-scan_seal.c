/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser's process cannot do any more once it is sealed. */
#include "scan/syntax/parser.h"
#include "scan/scan.h"
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

/* What /proc/PID/limits says in the row NAME, hard limit; -1 for none. */
static long long hard_limit(pid_t pid, const char *name)
{
	char path[64], line[256];
	long long soft, hard = -1;
	FILE *rows;

	(void)snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	rows = fopen(path, "re");
	while (rows && fgets(line, sizeof(line), rows)) {
		if (strncmp(line, name, strlen(name)) == 0 &&
		    sscanf(line + strlen(name), "%lld %lld", &soft, &hard) != 2)
			hard = -1;
	}
	if (rows)
		fclose(rows);
	return hard;
}

/* Bounds that hold in every phase of the process, between two texts as well. */
static void test_limits(void)
{
	struct parser parser = PARSER_INIT;
	struct syntax syntax = { 0 };
	struct error err;
	long long data;

	if (!scan_is_built()) {
		tap_skip(4, "this build has no grammars");
		return;
	}
	tap_is_int(parser_parse(&parser, SCAN_SHELL, "true\n", 5, &syntax, &err), 0, "a text");
	syntax_done(&syntax);
	data = hard_limit(parser.pid, "Max data size");
	tap_is_int(hard_limit(parser.pid, "Max cpu time"), 6, "seconds on the processor");
	tap_ok(data > 0, "bytes of data are bounded: %lld", data);
	tap_is_int(hard_limit(parser.pid, "Max core file size"), 0, "no core");
	parser_done(&parser);
}

int main(void)
{
	static const struct sealed_attempt rows[] = {
		{ "opening a file", try_open, EPERM },	      { "a socket", try_socket, EPERM },
		{ "executing a program", try_exec, EPERM },   { "a process", try_fork, EPERM },
		{ "a signal to another", try_signal, EPERM }, { "memory", try_memory, 0 },
	};

	test_limits();
	sealed_try(parser_lockdown, rows, sizeof(rows) / sizeof(rows[0]));
	return tap_done();
}
