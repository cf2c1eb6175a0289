/* SPDX-License-Identifier: Apache-2.0 */
/* `agent`: a coding agent itself in a sandbox, its login used by requests and not held. */
#include "app/agent/agent.h"
#include "app/agent/hook.h"
#include "app/change/workspace.h"
#include "app/sandbox/sandbox.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/text/clean_path.h"
#include "ops/rows/rows.h"

#include <string.h>

#define PROFILE "dev"
#define TTL_MS (UINT64_C(7) * 24 * 3600 * 1000)
/* The file's place is the word behind; the agent's own words follow, under the caller's umask. */
#define PLACE_FILE                                                                           \
	"(umask 077; mkdir -p \"${1%/*}\" && cat /run/secrets/login > \"$1\") || exit 125; " \
	"shift; "                                                                            \
	"exec \"$@\""
/* The agent may have put anything in its place: what is not a file, or is longer than one that could be taken, is not read. */
#define TAKE_FILE                                                                     \
	"[ -f \"$1\" ] && ! [ -L \"$1\" ] && head -c 65537 \"$1\"; rm -rf \"$1\" && " \
	"! [ -e \"$1\" ]"
/* A process that the agent left can still put a fifo there between the look and the reading. */
#define TAKE_MS 30000

struct session {
	struct op_call *call;
	struct agent agent;
	struct agent_file file; /* without a path: none */
	const char *name;	/* of the sandbox */
	char made[ID_SHORT_SIZE];
	bool is_own;	  /* made for this session alone */
	bool is_new;	  /* made by this call */
	bool has_changes; /* other than those of the login file */
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

/* Whether SETTINGS, words as the sandbox keeps them, have the two words of a flag. */
static bool has_setting(const struct value *settings, const char *flag, const char *word)
{
	for (size_t i = 1; settings && i < settings->many.count; i++) {
		if (str_same(settings->many.items[i - 1]->text.bytes, flag) &&
		    str_same(settings->many.items[i]->text.bytes, word))
			return true;
	}
	return false;
}

/* A sandbox that was there keeps the settings that it was made with: the login has to be one of them. */
static int check_settings(struct session *session, const char *login, const struct value *row,
			  struct error *err)
{
	const struct agent_row *agent = &session->agent.row;
	owned(free_ptr) char *inject =
		login ? xasprintf("%s:%s=%s", agent->host, agent->how, login) : NULL;

	if (inject && !has_setting(value_get(row, "settings"), "--inject", inject))
		return error_advise(err, ERROR_CONFLICT, "take another --name, or `aisbx rm` it",
				    "%s is there already, made without --inject %s: %s would "
				    "have no login in it",
				    session->name, inject, agent->agent);
	str_addf(&session->call->notes,
		 "%s is there already: the settings that it was made with hold, and flags of this "
		 "call do not change them\n",
		 session->name);
	if (session->call->note)
		session->call->note(session->call);
	return 0;
}

/* The copy of a login file in the workspace would be one of its changes, and its removal a deletion on the host. */
static int check_place(const struct session *session, const struct value *row, struct error *err)
{
	const char *workspace = value_get_text(row, "workspace");

	if (!session->file.path || (workspace && !path_is_within(session->file.path, workspace)))
		return 0;
	return error_advise(err, ERROR_USAGE, "name another directory to work in with -C",
			    "--login-file %s lies in the workspace %s", session->file.path,
			    workspace ? workspace : "");
}

static int check(struct session *session, const char *login, struct error *err)
{
	owned(value_release) struct value *row = NULL;
	struct error ignored;

	if (app_inspect(session->name, &row, err) == 0 && check_place(session, row, err) == 0 &&
	    (session->is_new || check_settings(session, login, row, err) == 0))
		return 0;
	if (session->is_new)
		(void)app_remove(session->name, &ignored);
	return -1;
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
	session->is_new = app_create(&request, &create, err) == 0;
	if (session->is_new || (err->code == ERROR_CONFLICT && !session->is_own))
		return check(session, login, err);
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
	request.flags.time_ms = TAKE_MS;
	strv_add_script(&request.command, TAKE_FILE);
	strv_add(&request.command, "sh");
	strv_add(&request.command, session->file.path);
	if (app_exec(session->name, &request, &options, &result, err) < 0)
		return error_context(err, "the login's file is still in %s", session->name);
	if (result.status != RUN_SUCCESS)
		return error_advise(err, ERROR_HOST,
				    "`aisbx rm` the sandbox when its work is saved",
				    "the login's file could not be taken out of %s", session->name);
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

/* What is left of the login file: the directories that it needed, and its removal where the host's was seen. */
static bool is_of_login(const struct session *session, char letter, const char *name)
{
	owned(free_ptr) char *path = xstrdup(name);
	size_t len = strlen(path);
	bool is_dir = len > 1 && path[len - 1] == '/';

	if (!session->file.path)
		return false;
	if (letter == 'D')
		return strcmp(path, session->file.path) == 0;
	if (letter != 'A' || !is_dir)
		return false;
	path[len - 1] = '\0';
	return path_is_within(session->file.path, path);
}

/* One change: its letter and its name, each with a NUL behind; a second name is none of the login's. */
static int take_change(void *cookie, const char *bytes, size_t len, struct error *err)
{
	struct session *session = cookie;

	(void)err;
	if (len < 3 || bytes[1] || strlen(bytes + 2) + 3 != len ||
	    !is_of_login(session, bytes[0], bytes + 2))
		session->has_changes = true;
	return 0;
}

/* Goes only when nothing is in it: what git ignores and what lies outside of the workspace is work, too. */
static int remove_empty(struct session *session, struct error *err)
{
	const struct app_diff diff = { .sandbox = session->name,
				       .form = PATCH_NAME_STATUS,
				       .nul = true,
				       .sink = { take_change, session } };
	struct diff_outcome outcome = { 0 };
	bool has_ended;

	/* What still runs in it could change something after the look. */
	if (app_stop(session->name, &has_ended, err) < 0 || app_diff(&diff, &outcome, err) < 0)
		return error_context(err, "%s is kept", session->name);
	if (!session->has_changes && !outcome.is_partial)
		return app_remove(session->name, err);
	str_addf(&session->call->notes,
		 "%s is kept: it has changes that are ignored by git or outside of the workspace; "
		 "look: aisbx diff %s\n",
		 session->name, session->name);
	return 0;
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
	return id || !session->is_own ? 0 : remove_empty(session, err);
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
