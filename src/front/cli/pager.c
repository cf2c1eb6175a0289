/* SPDX-License-Identifier: Apache-2.0 */
/* The person's pager as a child that reads what we write. */
#include "front/cli/pager.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

/* What the shell answers when there is no such command, or when it cannot be executed. */
#define SHELL_NOT_FOUND 127
#define SHELL_REFUSED 126

static const char *variable(const char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++) {
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	}
	return NULL;
}

/* The caller's environment; with LESS as git sets it, so that a bare "less" shows colours and ends by itself. */
static void copy_environment(const char *const *env, struct strv *ret_env)
{
	for (const char *const *at = env; at && *at; at++)
		strv_add(ret_env, *at);
	if (!variable(env, "LESS"))
		strv_add(ret_env, "LESS=FRX");
}

static void ignore(int number, struct sigaction *ret_old)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	(void)sigaction(number, &action, ret_old);
}

/* The child gets READ_FD as stdin and signals as they are by default: Ctrl-C is meant for it. */
static int spawn(const char *command, int read_fd, const char *const *env, pid_t *ret_pid)
{
	char *const less[] = { (char[]){ "less" }, (char[]){ "-FRX" }, NULL };
	char *const shell[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "--" },
				command ? xstrdup(command) : NULL, NULL };
	owned(strv_done) struct strv child_env = STRV_INIT;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int status;

	copy_environment(env, &child_env);
	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGINT);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, read_fd, STDIN_FILENO);
	status = command ? posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, shell,
				       child_env.items)
			 : posix_spawnp(ret_pid, less[0], &actions, &attributes, less,
					child_env.items);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	free(shell[3]);
	return status;
}

bool pager_start(struct pager *pager, const char *const *env)
{
	const char *command = variable(env, "PAGER"), *terminal = variable(env, "TERM");
	int ends[2];

	*pager = (struct pager){ .fd = -1 };
	if (!terminal || strcmp(terminal, "dumb") == 0)
		return false;
	if (command && (!*command || strcmp(command, "cat") == 0))
		return false;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	owned(fd_close) int read_fd = ends[0], write_fd = ends[1];

	if (spawn(command, read_fd, env, &pager->pid) != 0) {
		pager->pid = 0;
		return false;
	}
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
	int status = 0, code;

	fd_close(&pager->fd);
	while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)sigaction(SIGINT, &pager->old_interrupt, NULL);
	(void)sigaction(SIGPIPE, &pager->old_pipe, NULL);
	pager->pid = 0;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	if (code == SHELL_NOT_FOUND || code == SHELL_REFUSED)
		return error_advise(err, ERROR_HOST, "PAGER=cat does without one",
				    "the pager in PAGER cannot be run");
	return 0;
}
