/* SPDX-License-Identifier: Apache-2.0 */
/* The person's pager as a child that reads what we write. */
#include "front/cli/pager.h"

#include "base/process/child.h"
#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <string.h>

/* What the shell answers when there is no such command, or when it cannot be executed. */
#define SHELL_NOT_FOUND 127
#define SHELL_REFUSED 126

/* The caller's environment; with LESS as git sets it, so that a bare "less" shows colours and ends by itself. */
static void copy_environment(const char *const *env, struct strv *ret_env)
{
	for (const char *const *at = env; at && *at; at++)
		strv_add(ret_env, *at);
	if (!env_get(env, "LESS"))
		strv_add(ret_env, "LESS=FRX");
}

static void ignore(int number, struct sigaction *ret_old)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	(void)sigaction(number, &action, ret_old);
}

/* The child gets READ_FD as stdin. */
static pid_t spawn(const char *command, int read_fd, const char *const *env)
{
	owned(free_ptr) char *text = command ? xstrdup(command) : NULL;
	char *const less[] = { (char[]){ "less" }, (char[]){ "-FRX" }, NULL };
	char *const shell[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, (char[]){ "--" }, text,
				NULL };
	owned(strv_done) struct strv child_env = STRV_INIT;
	struct error ignored;

	copy_environment(env, &child_env);
	const struct child_exec exec = { command ? shell : less,
					 child_env.items,
					 NULL,
					 { read_fd, STDOUT_FILENO, STDERR_FILENO } };

	return child_exec(&exec, &ignored);
}

bool pager_start(struct pager *pager, const char *const *env)
{
	const char *command = env_get(env, "PAGER"), *terminal = env_get(env, "TERM");
	int ends[2];

	*pager = (struct pager){ .fd = -1 };
	if (!terminal || strcmp(terminal, "dumb") == 0)
		return false;
	if (command && (!*command || strcmp(command, "cat") == 0))
		return false;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	owned(fd_close) int read_fd = ends[0], write_fd = ends[1];

	pager->pid = spawn(command, read_fd, env);
	if (pager->pid < 0)
		return false;
	ignore(SIGINT, &pager->old_interrupt);
	ignore(SIGPIPE, &pager->old_pipe);
	pager->fd = fd_take(&write_fd);
	return true;
}

int pager_write(struct pager *pager, const void *bytes, size_t len)
{
	return fd_write_all(pager->fd, bytes, len);
}

int pager_finish(struct pager *pager, struct error *err)
{
	int code;

	fd_close(&pager->fd);
	code = child_exit_code(child_wait(pager->pid));
	(void)sigaction(SIGINT, &pager->old_interrupt, NULL);
	(void)sigaction(SIGPIPE, &pager->old_pipe, NULL);
	pager->pid = 0;
	if (code == SHELL_NOT_FOUND || code == SHELL_REFUSED)
		return error_advise(err, ERROR_HOST, "PAGER=cat does without one",
				    "the pager in PAGER cannot be run");
	return 0;
}
