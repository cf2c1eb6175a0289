/* SPDX-License-Identifier: Apache-2.0 */
/* A shell script in place of the program that libaisbx starts. */
#ifndef TESTS_CLI_STAND_IN_H
#define TESTS_CLI_STAND_IN_H

#include "aisbx.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char program[] = "/tmp/aisbx-test-lib.XXXXXX";

/* Makes the script answer as told. A new file each time: one that was started may not have read its own yet. */
static inline void stand_in(const char *script)
{
	char draft[sizeof(program) + 4];
	int fd;

	(void)snprintf(draft, sizeof(draft), "%s.new", program);
	fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (fd < 0 || dprintf(fd, "#!/bin/sh\n%s\n", script) < 0)
		tap_bail("stand-in");
	close(fd);
	if (rename(draft, program) < 0)
		tap_bail("stand-in");
}

static inline struct aisbx_request *new_request(void)
{
	struct aisbx_request *request = aisbx_request_new();
	const char *const command[] = { "x", "a  b", "", NULL };

	if (aisbx_request_program(request, program) || aisbx_request_command(request, command))
		tap_bail("request");
	return request;
}

static inline void stand_in_begin(void)
{
	int fd = mkostemp(program, O_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0700) < 0)
		tap_bail("no stand-in");
	close(fd);
}

static inline void stand_in_end(void)
{
	unlink(program);
}

#endif
