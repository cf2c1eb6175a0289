/* SPDX-License-Identifier: Apache-2.0 */
/* `profile`: list, print, check, learn, trust. */
#include "base/text/suggest.h"
#include "app/job/job.h"
#include "app/config/profile_verbs.h"
#include "app/run/profile_learn.h"
#include "base/core/own.h"
#include "app/stage/stage.h"
#include "ops/rows/rows.h"

#include <stdint.h>
#include <string.h>

static int profile_ls(struct op_call *call, struct error *err)
{
	(void)err;
	call->answer = app_profile_list(call->environ);
	return 0;
}

static int profile_show(struct op_call *call, struct error *err)
{
	return app_profile_show(call->words.items[1], call->environ, &call->answer, &call->text,
				err);
}

/* Every file is looked at; the exit status is that of the first that does not hold. */
static int profile_check(struct op_call *call, struct error *err)
{
	if (call->words.count == 2 &&
	    app_profile_check(call->words.items[1], call->environ, err) < 0)
		return -1;
	call->answer = value_new_list();
	for (size_t i = 1; i < call->words.count; i++) {
		const char *word = call->words.items[i];
		struct value *row = value_append(call->answer, value_new_map());
		bool holds = app_profile_check(word, call->environ, err) == 0;

		value_set(row, "profile", value_new_text(word));
		value_set(row, "ok", value_new_bool(holds));
		value_set(row, "message", value_new_text(holds ? NULL : err->text));
		if (holds)
			str_addf(&call->text, "%s: ok\n", word);
		else
			str_addf(&call->text, "%s\n", err->text);
		if (!holds && call->exit_status == 0)
			call->exit_status = error_exit_status(err->code);
	}
	return 0;
}

/* The command has stdout; a lesson from one that fails would be half a lesson. */
static int profile_learn(struct op_call *call, struct error *err)
{
	const char *name = call->words.count > 1 ? call->words.items[1] : NULL;
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;

	run_result_init(&result);
	request_init(&request);
	if (call->command.count == 0)
		return error_set(err, ERROR_USAGE, "use: aisbx profile learn [NAME] -- CMD");
	if (op_request(call, &request, err) < 0 ||
	    app_profile_learn(&request, name, call->json, &result, &call->answer, err) < 0)
		return -1;
	call->is_aside = true;
	if (!call->answer) {
		error_set(err, ERROR_DENIED,
			  "nothing is learned from a command that fails (%s, exit code %d)",
			  run_status_name(result.status), result.exit_code);
		return error_add_hint(err, "aisbx show %s has what it wrote", result.run_id);
	}
	str_addf(&call->text,
		 "learned %s: %zu system calls beyond those that every program needs\n"
		 "to use it: aisbx run --profile %s -- ...\n",
		 value_get_text(call->answer, "path"),
		 value_get(call->answer, "syscalls")->many.count,
		 value_get_text(call->answer, "name"));
	return 0;
}

static int profile_trust(struct op_call *call, struct error *err)
{
	bool is_pipeline, is_job = false;

	if (app_pipeline_trust(call->words.items[1], call->environ, &is_pipeline, &call->answer,
			       err) < 0)
		return -1;
	if (!is_pipeline &&
	    app_job_trust(call->words.items[1], call->environ, &is_job, &call->answer, err) < 0)
		return -1;
	if (!is_pipeline && !is_job &&
	    app_profile_trust(call->words.items[1], call->environ, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "trusted until a byte changes: %s\nsha256 %s\n",
		 value_get_text(call->answer, "path"), value_get_text(call->answer, "sha256"));
	return 0;
}

static int profile_untrust(struct op_call *call, struct error *err)
{
	if (app_profile_untrust(call->words.items[1], call->environ, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "no longer trusted: %s\n", value_get_text(call->answer, "path"));
	return 0;
}

static const struct {
	const char *name;
	size_t least, most; /* words behind it */
	int (*run)(struct op_call *call, struct error *err);
	const char *usage;
} verbs[] = {
	{ "ls", 0, 0, profile_ls, "profile ls" },
	{ "show", 1, 1, profile_show, "profile show NAME|FILE" },
	{ "check", 1, SIZE_MAX, profile_check, "profile check FILE..." },
	{ "learn", 0, 1, profile_learn, "profile learn [NAME] -- CMD" },
	{ "trust", 1, 1, profile_trust, "profile trust FILE" },
	{ "untrust", 1, 1, profile_untrust, "profile untrust FILE" },
};

static int unknown_verb(const char *word, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, word);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		suggest_try(&suggest, verbs[i].name);
	error_set(err, ERROR_USAGE, "profile: unknown '%s'", str_shown(word, shown));
	return error_add_hint(err, "%s %s", suggest.best ? "did you mean" : "use one of",
			      suggest.best ? suggest.best
					   : "ls, show, check, learn, trust, untrust");
}

/* To all but learn what stands behind -- is a word like others, and its flags are a mistake. */
static int take_words(struct op_call *call, struct error *err)
{
	if (call->words.count > 0 && strcmp(call->words.items[0], "learn") == 0)
		return 0;
	if (call->arg_count > 0 && (op_arg_text(call, "profile") || op_arg_text(call, "workspace")))
		return error_set(err, ERROR_USAGE, "--profile and -C are for profile learn");
	strv_copy(&call->words, &call->command);
	strv_done(&call->command);
	return 0;
}

int op_profile_run(struct op_call *call, struct error *err)
{
	if (take_words(call, err) < 0)
		return -1;
	const char *word = call->words.count > 0 ? call->words.items[0] : "ls";
	size_t given = call->words.count > 0 ? call->words.count - 1 : 0;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, word) != 0)
			continue;
		if (given < verbs[i].least || given > verbs[i].most)
			return error_set(err, ERROR_USAGE, "use: aisbx %s", verbs[i].usage);
		return verbs[i].run(call, err);
	}
	return unknown_verb(word, err);
}
