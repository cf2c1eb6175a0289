/* SPDX-License-Identifier: Apache-2.0 */
/* Executing the command: argv exactly as given, looked up on the sandbox's own PATH. */
#include "launch/setup/command.h"

#include "spec/settings.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *path_of(const struct strv *env)
{
	for (size_t i = 0; i < env->count; i++) {
		if (strncmp(env->items[i], "PATH=", 5) == 0)
			return env->items[i] + 5;
	}
	return SETTINGS_PATH_DEFAULT;
}

/* Keeps the most telling reason: "found, but not executable" over "not found". */
static void search(const struct strv *command, char *const *env, const char *path, int *ret_errno)
{
	char candidate[PATH_MAX];

	for (const char *at = path; at;) {
		size_t len = strcspn(at, ":");
		int used = snprintf(candidate, sizeof(candidate), "%.*s%s%s", (int)len, at,
				    len ? "/" : "", command->items[0]);

		if (used > 0 && (size_t)used < sizeof(candidate)) {
			execve(candidate, command->items, env);
			int reason = errno;

			/* A directory of the path that is shut has nothing to be executed. */
			if (reason != ENOENT && reason != ENOTDIR && access(candidate, F_OK) == 0)
				*ret_errno = reason;
		}
		at = at[len] ? at + len + 1 : NULL;
	}
}

void command_exec(const struct strv *command, const struct strv *env, struct error *err)
{
	static char *const nothing[] = { NULL };
	char *const *variables = env->items ? env->items : nothing;
	int reason = ENOENT;

	if (strchr(command->items[0], '/')) {
		execve(command->items[0], command->items, variables);
		reason = errno;
	} else {
		search(command, variables, path_of(env), &reason);
	}
	errno = reason;
	error_errno(err,
		    reason == ENOENT || reason == ENOTDIR ? ERROR_EXEC_NOT_FOUND
							  : ERROR_EXEC_REFUSED,
		    "%s", command->items[0]);
}
