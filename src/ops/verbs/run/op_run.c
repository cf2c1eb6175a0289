/* SPDX-License-Identifier: Apache-2.0 */
/* `run`: one command in a fresh clone; its exit code comes back, our own words go to notes. */
#include "base/core/id.h"
#include "base/core/own.h"
#include "app/change/workspace.h"
#include "app/config/notice.h"
#include "ops/rows/rows.h"
#include "ops/verbs/run/op_write.h"
#include "ops/text/words.h"

#include <string.h>

#define DENIALS_TOLD 3
/* What waits for a person's word after --write. */
#define ENTERED_TTL_MS (UINT64_C(24) * 3600 * 1000)
#define WAITS_MS (UINT64_C(7) * 24 * 3600 * 1000)

/* One line, whatever is quoted in it: the name of a command with a newline would speak in our name. */
static void note(struct op_call *call, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			str_add(&call->notes, "\\x0a");
		else
			str_add_char(&call->notes, *text);
	}
	str_add_char(&call->notes, '\n');
}

/* A name that no rule permits is shown alone: the hint has the rest. */
static void add_denial(struct op_call *call, const struct denial *one)
{
	bool is_lookup = strcmp(one->layer, "net") == 0 && str_starts(one->what, "resolve ");
	char shown[STR_SHOWN_SIZE];

	/* The command chose these words: a newline in them would speak in our name. */
	str_addf(&call->notes, "denied by %s: %s", one->layer,
		 str_shown(one->what + (is_lookup ? strlen("resolve ") : 0), shown));
	if (one->rule && strcmp(one->rule, "default deny") != 0)
		str_addf(&call->notes, " (%s)", one->rule);
	if (one->count > 1)
		str_addf(&call->notes, ", %llu times", (unsigned long long)one->count);
	if (one->hint)
		str_addf(&call->notes, "; %s", one->hint);
	str_add_char(&call->notes, '\n');
}

void op_denied(const struct denial *denial, void *cookie)
{
	struct op_call *call = cookie;
	struct denial first = *denial;

	first.count = 1;
	add_denial(call, &first);
	call->note(call);
}

/* Of those that were shown when they happened, how often that was in the end. */
static void note_denials(struct op_call *call, const struct run_result *result)
{
	const struct denials *denials = &result->denials;
	uint64_t more = denials->beyond;

	for (size_t i = 0; i < denials->count; i++) {
		const struct denial *one = &denials->items[i];

		if (i >= DENIALS_TOLD) {
			more += denials->count - i;
			break;
		}
		if (i >= result->denials_shown || one->count > 1)
			add_denial(call, one);
	}
	if (more > 0)
		str_addf(&call->notes, "%llu more denials: see them with --json\n",
			 (unsigned long long)more);
}

static void note_degraded(struct op_call *call, const struct run_result *result)
{
	owned(str_done) struct str notice = STR_INIT;

	if (result->degraded.count == 0)
		return;
	str_add(&notice, "not in full force here:");
	for (size_t i = 0; i < result->degraded.count; i++)
		str_addf(&notice, "%s %s", i ? "," : "", result->degraded.items[i]);
	str_add(&notice, " (aisbx doctor says why; --require LAYER refuses instead)");
	/* The same machine, the same words: every result has them as `degraded`. */
	if (app_notice_due(str_cstr(&notice)))
		str_addf(&call->notes, "%s\n", str_cstr(&notice));
}

/* A command that could not be executed has a result with an exit status: its message is a note. */
static void write_notes(struct op_call *call, const struct run_result *result, bool ran)
{
	if (result->isolation && strcmp(result->isolation, "none") == 0)
		note(call, "warning: this ran without isolation");
	if (ran && result->message)
		note(call, result->message);
	for (size_t i = 0; i < result->warnings.count; i++)
		str_addf(&call->notes, "warning: %s\n", result->warnings.items[i]);
	for (size_t i = 0; i < result->notes.count; i++)
		note(call, result->notes.items[i]);
	note_denials(call, result);
	note_degraded(call, result);
}

/* Each item is a letter, a tab and the path. */
static void write_changed(struct op_call *call, const struct strv *changed)
{
	for (size_t i = 0; i < changed->count; i++) {
		str_add_bytes(&call->text, changed->items[i], 2);
		words_add_path(&call->text, changed->items[i] + 2);
		str_add_char(&call->text, '\n');
	}
}

int op_result(struct op_call *call, struct run_result *result, int outcome, const struct error *err)
{
	if (outcome < 0 && err->code == ERROR_LIBRARIES)
		return -1;
	if (outcome < 0 && !result->message)
		result->message = xstrdup(err->text);
	if (outcome < 0 && !result->hint && error_hint(err))
		result->hint = xstrdup(error_hint(err));
	if (outcome < 0)
		result->error_code = error_code_name(err->code);
	if (call->json)
		run_result_write(result, &call->data);
	else
		write_notes(call, result, outcome == 0);
	if (outcome < 0)
		return -1;
	call->exit_status = result->exit_code;
	if (!call->json)
		write_changed(call, &result->changed);
	return 0;
}

/* In aisbx-full only: lines are read by a library. */
#pragma weak op_batch_run

static int run_batch(struct op_call *call, struct error *err)
{
	if (!op_batch_run)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	return op_batch_run(call, err);
}

/* By exec where that can be: what is alive in a named sandbox can be halted while it is looked at. */
static int run_named(const struct request *request, const struct app_create *create,
		     const struct app_run_options *options, struct run_result *result,
		     struct error *err)
{
	owned(request_done) struct request command;

	request_init(&command);
	if (request->command.count == 0 || request->flags.driver)
		return app_run_kept(request, create->name, create->ttl_ms, options, result, err);
	strv_copy(&command.command, &request->command);
	command.environ = request->environ;
	command.action = request->action;
	command.interactive = request->interactive;
	if (request->trace_id)
		command.trace_id = xstrdup(request->trace_id);
	return app_create(request, create, err) < 0
		       ? -1
		       : app_exec(create->name, &command, options, result, err);
}

/* In a sandbox of its own, which stays only where something in it waits for a person's word, or is ignored by git. */
static int run_and_write(struct op_call *call, const struct request *request,
			 const struct app_run_options *options, struct run_result *result,
			 struct error *err)
{
	const char *keep = op_arg_text(call, "keep");
	char own_name[ID_SHORT_SIZE];
	struct write_watch watch;
	struct error ignored;
	bool waits = true;
	int outcome;

	if (!keep && id_short("write", own_name, err) < 0)
		return -1;
	const char *name = keep ? keep : own_name;
	const struct app_create create = { .name = name, .ttl_ms = keep ? 0 : WAITS_MS };

	if (write_watch_start(name, &watch, err) < 0)
		return -1;
	outcome = run_named(request, &create, options, result, err);
	write_watch_stop(&watch);
	if (op_result(call, result, outcome, err) < 0) {
		/* Also of one that is begun again by aisbx-full, in another sandbox. */
		if (!keep)
			(void)app_remove(name, &ignored);
		return -1;
	}
	if (op_write(call, name, &watch, &waits, err) < 0)
		return -1;
	return keep || waits ? 0 : app_remove(name, err);
}

/* Services and other ids need a sandbox that is entered: one that goes afterwards, and by itself should we be killed. */
static int run_entered(const struct request *request, const struct app_run_options *options,
		       struct run_result *result, struct error *err)
{
	char name[ID_SHORT_SIZE];
	struct error ignored;

	if (id_short("s", name, err) < 0)
		return -1;
	int outcome = app_run_kept(request, name, ENTERED_TTL_MS, options, result, err);

	(void)app_remove(name, &ignored);
	return outcome;
}

int op_run_run(struct op_call *call, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	struct app_run_options options = {
		.capture = call->json,
		.list_changes = op_arg_switch(call, "name-status"),
		.zygote_pool_fd = call->zygote_pool_fd,
		.uses_daemon = !op_arg_switch(call, "no-daemon"),
		.denied = call->note ? op_denied : NULL,
		.denied_cookie = call,
	};
	const char *keep = op_arg_text(call, "keep");
	bool writes;
	int outcome;

	run_result_init(&result);
	request_init(&request);
	if (op_write_wanted(call, &writes, err) < 0)
		return -1;
	if (op_arg_text(call, "batch") && writes)
		return error_set(err, ERROR_USAGE, "--write is for one command, not for --batch");
	if (op_arg_text(call, "user") && (writes || op_arg_text(call, "batch")))
		return error_set(err, ERROR_USAGE, "--user is not for --write and --batch");
	if (op_arg_text(call, "batch"))
		return run_batch(call, err);
	if (op_arg_text(call, "jobs"))
		return error_set(err, ERROR_USAGE, "--jobs is for --batch: one command is one job");
	if (op_arg_text(call, "batch-time"))
		return error_set(err, ERROR_USAGE, "--batch-time is for --batch: use --time");
	if (op_request(call, &request, err) < 0)
		return -1;
	if (writes)
		return run_and_write(call, &request, &options, &result, err);
	if (keep)
		outcome = app_run_kept(&request, keep, 0, &options, &result, err);
	else if (request.flags.with_services.count > 0 || request.user)
		outcome = run_entered(&request, &options, &result, err);
	else
		outcome = app_run(&request, &options, &result, err);
	return op_result(call, &result, outcome, err);
}
