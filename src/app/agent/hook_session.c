/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of an agent's session: made at first use, entered by each command, asked about at the end. */
#include "app/agent/hook.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/process/own_program.h"
#include "base/text/shell_quote.h"
#include "app/config/own_list.h"
#include "app/sandbox/owner.h"
#include "app/sandbox/sandbox.h"
#include "app/stage/approval.h"
#include "host/host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROFILE "dev"
/* A session is resumed the day after, or after a weekend. */
#define TTL_MS (UINT64_C(7) * 24 * 3600 * 1000)
/* Long after its sandbox a mark is useless. */
#define MARK_AGE_S ((time_t)30 * 24 * 3600)

/* STATE/hooks/NAME: the session had a sandbox of this name. */
static int open_marks(int *ret_fd, struct error *err)
{
	owned(host_done) struct host host = { 0 };

	if (host_read_caller(&host, err) < 0)
		return -1;
	owned(free_ptr) char *path = xasprintf("%s/hooks", host.state_dir);

	if (dir_make_all(path) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	*ret_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "%s", path) : 0;
}

static int mark(int marks_fd, const char *name, struct error *err)
{
	owned(fd_close) int fd =
		openat(marks_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? error_errno(err, ERROR_HOST, "the record of the session's sandbox") : 0;
}

static void sweep_marks(int marks_fd)
{
	owned(dir_close) DIR *dir = dir_open(marks_fd, ".");
	time_t now = time(NULL);
	struct dirent *entry;
	struct stat st;

	while (dir && dir_next(dir, &entry) > 0) {
		if (fstatat(marks_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime < now - MARK_AGE_S)
			(void)unlinkat(marks_fd, entry->d_name, 0);
	}
}

static int look(const struct hook_call *call, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	struct sandbox sandbox;
	bool is_own;

	if (app_store(&store, err) < 0 ||
	    sandbox_open(&store, call->sandbox, SANDBOX_UNLOCKED, &sandbox, err) < 0)
		return -1;
	is_own = owner_has(&sandbox, hook_agent_name(call->agent));
	sandbox_close(&sandbox);
	return is_own ? 0
		      : error_advise(err, ERROR_DENIED, "rename or remove it",
				     "the sandbox %s was not made by this hook", call->sandbox);
}

/* The agent's directory decides, not the one the hook happens to be started in. */
static int make(const struct hook_call *call, const struct hook_options *options, struct error *err)
{
	const struct app_create create = { .name = call->sandbox, .ttl_ms = TTL_MS };
	owned(request_done) struct request request;
	char shown[STR_SHOWN_SIZE];

	request_init(&request);
	if (chdir(call->cwd) < 0)
		return error_errno(err, ERROR_HOST, "the session's directory %s",
				   str_shown(call->cwd, shown));
	request.profile = xstrdup(options->profile ? options->profile : PROFILE);
	request.owner = hook_agent_name(call->agent);
	request.environ = options->environ;
	return app_create(&request, &create, err);
}

int hook_sandbox(const struct hook_call *call, const struct hook_options *options,
		 struct error *err)
{
	owned(fd_close) int marks_fd = -1;
	struct error why;

	if (look(call, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND || open_marks(&marks_fd, err) < 0)
		return -1;
	if (faccessat(marks_fd, call->sandbox, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		/* Marked since it was looked for: another call of the session has just made it. */
		if (look(call, &why) == 0)
			return 0;
		return error_advise(
			err, ERROR_NOT_FOUND, "start a new session",
			"the sandbox of this session, %s, was removed, and its changes with it",
			call->sandbox);
	}
	/* Agents use several tools at once: another call may make it meanwhile. */
	if (make(call, options, err) < 0 && look(call, &why) < 0)
		return -1;
	return mark(marks_fd, call->sandbox, err);
}

int hook_line(const char *sandbox, const char *command, const struct hook_options *options,
	      struct str *ret_line, struct error *err)
{
	owned(free_ptr) char *program = own_program("aisbx");

	if (!program)
		return error_advise(err, ERROR_HOST, "install it again",
				    "aisbx is not beside aisbx-full");
	shell_quote_add(ret_line, program);
	/* Agents write for bash; the sandbox has this machine's. */
	str_addf(ret_line, " exec %s%s -- %s -c -- ", sandbox,
		 options->writes ? " --write workspace" : "",
		 access("/bin/bash", X_OK) == 0 ? "bash" : "sh");
	shell_quote_add(ret_line, command);
	return 0;
}

/* What the session asked for before is part of what it asks for now. */
static void withdraw(const struct hook_call *call, const char *but_id,
		     const struct hook_options *options)
{
	owned(value_release) struct value *asks = NULL;
	size_t len = strlen(call->sandbox);
	struct error ignored;

	if (approval_list(hook_agent_name(call->agent), &asks, &ignored) < 0)
		return;
	for (size_t i = 0; i < asks->many.count; i++) {
		const struct value *ask = asks->many.items[i];
		const char *id = value_get_text(ask, "request_id");
		const char *sandbox = value_get_text(ask, "sandbox");
		struct value *answer = NULL;

		if (!id || !sandbox || strcmp(id, but_id) == 0 ||
		    !str_same(value_get_text(ask, "state"), "pending") ||
		    strncmp(sandbox, call->sandbox, len) != 0 ||
		    (sandbox[len] && sandbox[len] != '@'))
			continue;
		(void)approval_decide(id, false, options->environ, &answer, &ignored);
		value_free(answer);
	}
}

int hook_ask(const char *sandbox, const char *owner, const char *const *env, struct str *ret_line,
	     char **ret_id, struct error *err)
{
	const struct approval_request ask = { .kind = APPROVAL_PROMOTION,
					      .sandbox = sandbox,
					      .reason = "the agent's session ended",
					      .owner = owner,
					      .environ = env };
	owned(value_release) struct value *answer = NULL;

	*ret_id = NULL;
	if (approval_make(&ask, &answer, err) < 0) {
		/* Looked at and found empty; other wrong words come without an answer. */
		if (err->code != ERROR_USAGE || !answer)
			return -1;
		str_addf(ret_line, "nothing to promote from %s", sandbox);
		return 0;
	}
	*ret_id = xstrdup(value_get_text(answer, "request_id"));
	str_addf(ret_line,
		 "%s changed %lld file%s; look: aisbx diff %s; apply: aisbx promotions "
		 "approve %s",
		 sandbox, (long long)value_int_of(answer, "files"),
		 value_int_of(answer, "files") == 1 ? "" : "s", sandbox, *ret_id);
	return 0;
}

int hook_end(const struct hook_call *call, const struct hook_options *options, struct str *ret_line,
	     struct error *err)
{
	owned(fd_close) int marks_fd = -1;
	owned(free_ptr) char *id = NULL;
	struct error why;

	if (open_marks(&marks_fd, err) < 0)
		return -1;
	sweep_marks(marks_fd);
	if (look(call, &why) < 0) {
		if (why.code != ERROR_NOT_FOUND) {
			*err = why;
			return -1;
		}
		(void)unlinkat(marks_fd, call->sandbox, 0);
		str_add(ret_line, "aisbx: this session has no sandbox; nothing to promote");
		return 0;
	}
	str_add(ret_line, "aisbx: ");
	if (hook_ask(call->sandbox, hook_agent_name(call->agent), options->environ, ret_line, &id,
		     err) < 0)
		return -1;
	if (id)
		withdraw(call, id, options);
	return 0;
}
