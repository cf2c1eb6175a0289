/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a process whose state is inconsistent. */
#include "base/core/die.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static void say(const char *words)
{
	ssize_t ignored = write(STDERR_FILENO, words, strlen(words));

	(void)ignored;
}

noreturn void die(const char *words)
{
	say("aisbx: ");
	say(words);
	say("\n");
	(void)kill(getpid(), SIGABRT);
	_exit(127);
}
