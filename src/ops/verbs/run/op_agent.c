/* SPDX-License-Identifier: Apache-2.0 */
/* `agent`: a coding agent itself in a sandbox, its login used by requests and not held. */
#include "app/agent/agent.h"
#include "app/agent/hook.h"
#include "app/change/workspace.h"
#include "app/sandbox/sandbox.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "ops/rows/rows.h"

#include <string.h>

#define PROFILE "dev"
#define TTL_MS (UINT64_C(7) * 24 * 3600 * 1000)
/* The file's place is the word behind; the agent's own words follow. */
#define PLACE_FILE                                                                                \
	"umask 077; mkdir -p \"${1%/*}\" && cat /run/secrets/login > \"$1\" || exit 125; shift; " \
	"exec \"$@\""
#define TAKE_FILE "cat \"$1\"; rm -f \"$1\""

struct session {
	struct op_call *call;
	struct agent agent;
	struct agent_file file; /* without a path: none */
	const char *name;	/* of the sandbox */
	char made[ID_SHORT_SIZE];
	bool is_own; /* made for this session alone */
};

static void session_done(struct session *session)
{
	agent_done(&session->agent);
	agent_file_done(&session->file);
}

/* How the login is had is for the user to say: nothing of an agent's files is taken by itself. */
static int refuse_login(const struct session *session, const char *login, struct error *err)
{
	return error_advise(err, ERROR_NOT_FOUND,
			    "`aisbx secret set` keeps it; where the agent has a token in a file "
			    "only, name that "
			    "file with --login-file",
			    "%s has no login here: no secret is called '%s'",
			    session->agent.row.agent, login);
}

/* Makes the sandbox, unless the user named one that is there. */
static int make(struct session *session, struct error *err)
{
	struct op_call *call = session->call;
	const struct app_create create = { .name = session->name, .ttl_ms = TTL_MS };
	const char *given = op_arg_text(call, "login");
	owned(free_ptr) char *usual = agent_login(&session->agent);
	const char *login = session->file.path ? NULL : given ? given : usual;
	owned(request_done) struct request request;

	request_init(&request);
	if (agent_settings(&session->agent, login, &call->settings, err) < 0 ||
	    op_request(call, &request, err) < 0)
		return -1;
	if (!request.profile)
		request.profile = xstrdup(PROFILE);
	/* Those of the command are for exec. */
	strv_done(&request.command);
	if (app_create(&request, &create, err) == 0)
		return 0;
	if (err->code == ERROR_CONFLICT && !session->is_own)
		return 0;
	return err->code == ERROR_NOT_FOUND && login ? refuse_login(session, login, err) : -1;
}

static int run_agent(struct session *session, struct error *err)
{
	struct op_call *call = session->call;
	struct app_run_options options = { .capture = call->json,
					   .denied = call->note ? op_denied : NULL,
					   .denied_cookie = call };
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	owned(strv_done) struct strv command = STRV_INIT;

	run_result_init(&result);
	request_init(&request);
	request.environ = call->environ;
	request.interactive = call->stdin_tty && call->stdout_tty && !call->json;
	if (session->file.path) {
		strv_add_script(&command, PLACE_FILE);
		strv_add(&command, "sh");
		strv_add(&command, session->file.path);
		strv_addf(&request.flags.secret, "login=%s", session->file.path);
	}
	strv_copy(&command, &call->command);
	strv_copy(&request.command, &command);
	return op_result(call, &result, app_exec(session->name, &request, &options, &result, err),
			 err);
}

/* What became of the token's file; it leaves the sandbox in any case. */
static int take_file(struct session *session, struct error *err)
{
	const struct app_run_options options = { .capture = true, .is_exact = true };
	struct op_call *call = session->call;
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	const char *why = NULL;
	int renewed;

	run_result_init(&result);
	request_init(&request);
	request.environ = call->environ;
	strv_add_script(&request.command, TAKE_FILE);
	strv_add(&request.command, "sh");
	strv_add(&request.command, session->file.path);
	if (app_exec(session->name, &request, &options, &result, err) < 0)
		return error_context(err, "the login's file is still in %s", session->name);
	renewed = agent_file_renew(&session->file, str_cstr(&result.out.kept), result.out.kept.len,
				   &why, err);
	if (result.out.kept.data)
		explicit_bzero(result.out.kept.data, result.out.kept.len);
	if (renewed > 0)
		str_addf(&call->notes, "%s was renewed\n", session->file.path);
	else if (why)
		str_addf(&call->notes, "%s was not written back: %s\n", session->file.path, why);
	return renewed < 0 ? -1 : 0;
}

/* Files a request for promotion; a sandbox without changes goes, unless the user named it. */
static int end(struct session *session, struct error *err)
{
	struct op_call *call = session->call;
	owned(str_done) struct str line = STR_INIT;
	owned(free_ptr) char *id = NULL;

	if (hook_ask(session->name, session->agent.row.agent, call->environ, &line, &id, err) < 0)
		return error_context(err, "the changes are kept in %s", session->name);
	str_addf(&call->notes, "%s\n", str_cstr(&line));
	return id || !session->is_own ? 0 : app_remove(session->name, err);
}

int op_agent_run(struct op_call *call, struct error *err)
{
	owned(session_done) struct session session = { .call = call,
						       .name = op_arg_text(call, "name") };
	const char *file = op_arg_text(call, "login-file");
	struct error later;
	int status;

	if (call->command.count == 0)
		return error_set(err, ERROR_USAGE, "which agent? aisbx agent -- claude");
	if (file && op_arg_text(call, "login"))
		return error_set(err, ERROR_USAGE, "--login and --login-file contradict");
	if (agent_find(call->command.items[0], &session.agent, err) < 0 ||
	    (file && agent_file_read(file, &session.file, err) < 0))
		return -1;
	session.is_own = !session.name;
	if (session.is_own && id_short("agent", session.made, err) < 0)
		return -1;
	session.name = session.is_own ? session.made : session.name;
	if (make(&session, err) < 0)
		return -1;
	status = run_agent(&session, err);
	/* The first failure is the one to report; what follows is done in any case. */
	if (session.file.path && take_file(&session, status < 0 ? &later : err) < 0)
		status = -1;
	if (end(&session, status < 0 ? &later : err) < 0)
		status = -1;
	return status;
}
