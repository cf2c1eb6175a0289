/* SPDX-License-Identifier: Apache-2.0 */
/* Guard with the facts of this machine: what is a secret here, what is ours, how busy it is. */
#include "app/vet/guard.h"

#include "app/vet/guard_read.h"

#include "base/process/child.h"
#include "base/text/clean_path.h"
#include "base/core/env.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "app/record/record.h"
#include "app/prepare/plan_context.h"
#include "plan/mask_list.h"

#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More than this many waiting for each processor is busy. */
#define BUSY_LOAD 8.0

/* Whether PATH, or a directory it lies in, matches NAME below DIR. */
static bool is_at_or_below(const char *path, const char *dir, const char *name)
{
	char part[PATH_MAX], pattern[PATH_MAX];
	int len = snprintf(pattern, sizeof(pattern), "%s/%s", dir, name);

	if (len <= 0 || (size_t)len >= sizeof(pattern))
		return false;
	for (const char *end = path; *end;) {
		end += 1 + strcspn(end + 1, "/");
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (wildcard_matches(pattern, part, WILDCARD_PATH))
			return true;
	}
	return false;
}

static bool is_listed(const char *path, const char *dir, const char *const *names)
{
	for (; *names; names++) {
		if (is_at_or_below(path, dir, *names))
			return true;
	}
	return false;
}

/* Any home may hold them, and so may a copy of one: every directory above the path is checked. */
static bool is_secret(const char *path, void *cookie)
{
	(void)cookie;
	if (is_listed(path, "", mask_system_hidden) || is_listed(path, "", mask_home_hidden))
		return true;
	for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
		owned(free_ptr) char *above = xstrndup(path, (size_t)(end - path));

		if (is_listed(path, above, mask_home_hidden))
			return true;
	}
	return false;
}

static bool is_ours(const char *path, void *cookie)
{
	const struct host *host = cookie;
	const char *dirs[HOST_OWN_DIRS];

	host_own_dirs(host, dirs);
	for (size_t i = 0; i < HOST_OWN_DIRS; i++) {
		if (dirs[i] && path_is_within(path, dirs[i]))
			return true;
	}
	return false;
}

static bool is_busy(const struct host *host)
{
	double load;

	return getloadavg(&load, 1) == 1 && load > BUSY_LOAD * host->cores;
}

/* Every decision is on record: what an agent was allowed at night can be looked up in the morning. */
static void record(const struct strv *command, const struct guard_verdict *verdict)
{
	owned(value_release) struct value *body = value_new_map();
	const struct record_event event = { .kind = "guard", .body = body };

	value_add(body, "command", value_from_strv(command));
	value_add(body, "decision", value_new_text(guard_decision_name(verdict->decision)));
	value_add(body, "risk", value_new_text(guard_risk_name(verdict->risk)));
	value_add(body, "reasons", value_from_strv(&verdict->reasons));
	record_event(&event);
}

int app_guard(const struct request *request, struct guard_verdict *ret_verdict, struct error *err)
{
	owned(plan_context_done) struct plan_context around;
	owned(guard_reading_free) struct guard_reading *reading = NULL;
	const char *workspace;

	if (plan_context_read(request, &around, err) < 0)
		return -1;
	workspace = around.paths.workspace ? around.paths.workspace : around.host.cwd;
	struct guard_request question = { .command = &request->command,
					  .path = env_get(request->environ, "PATH"),
					  .cwd = around.host.cwd,
					  .workspace = workspace,
					  .is_secret = is_secret,
					  .is_ours = is_ours,
					  .cookie = &around.host,
					  .home = env_get(request->environ, "HOME"),
					  .is_busy = is_busy(&around.host) };

	/* What stands on the list as it is needs no parser, and not the program that has one. */
	if (!guard_is_plain(&question) &&
	    guard_read(&question, request->environ, &reading, err) < 0)
		return -1;
	guard_decide(&question, ret_verdict);
	record(&request->command, ret_verdict);
	return 0;
}

int app_run_directly(const struct strv *command, int *ret_status, struct error *err)
{
	const struct child_exec exec = {
		command->items, environ, NULL, { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO }
	};
	pid_t pid = child_exec(&exec, err);

	if (pid < 0)
		return -1;
	*ret_status = child_exit_code(child_wait(pid));
	return 0;
}
