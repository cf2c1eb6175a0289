/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program: the command line, and the way from the hot program to the one with libraries.
 *
 * bin/aisbx is static and loads nothing; verbs that read YAML or JSON, or measure, live in
 * libexec/aisbx/aisbx-full, which is the same source with more of it linked; and what needs an HTTP server in
 * aisbx-http beside it, for that library alone takes longer to load than most verbs to run.
 */
#include "base/core/error.h"
#include "base/core/own.h"
#include "base/process/own_program.h"
#include "front/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#ifdef AISBX_NEXT

/* Returns when it cannot be started. */
static void start_more(char *const *argv, struct error *err)
{
	owned(free_ptr) char *path = own_program(AISBX_NEXT);

	if (path)
		execv(path, argv);
#ifdef AISBX_STATIC
	error_advise(err, ERROR_HOST,
		     "take the Debian package of aisbx, or build it from its sources",
		     "this static program has no HTTP server");
#else
	error_errno(err, ERROR_HOST,
		    "this needs %s/" AISBX_NEXT ", which is part of aisbx; install it again",
		    AISBX_LIBEXEC);
#endif
}

#else

/* Nothing is missing from this program: being asked for more is a mistake of ours. */
static void start_more(char *const *argv, struct error *err)
{
	error_set(err, ERROR_INTERNAL, "%s: no such function in this build", argv[1]);
}

#endif

/* Descriptors 0 to 2 must be taken, or the next file opened becomes a standard stream. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv, char **environment)
{
	const char *const *env = (const char *const *)environment;
	struct error err;
	int status;

	if (fcntl(STDIN_FILENO, F_GETFD) < 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0 ||
	    fcntl(STDERR_FILENO, F_GETFD) < 0)
		fill_standard_descriptors();
	/* A caller that ignores it would leave us unable to wait for our children. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* Where the caller's files may not grow that far, a write fails and is reported; it must not end a supervisor half-way. */
	(void)signal(SIGXFSZ, SIG_IGN);
	status = cli_main(argc, argv, env);
	if (status != CLI_NEEDS_LIBRARIES)
		return status;
	start_more(argv, &err);
	return cli_fail(argv, &err, env);
}
