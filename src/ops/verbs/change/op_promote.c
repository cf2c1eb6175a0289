/* SPDX-License-Identifier: Apache-2.0 */
/* `promote`: what a sandbox changed, applied to the host; or the reasons why not. */
#include "base/core/own.h"
#include "app/trial/gates.h"
#include "app/change/workspace.h"
#include "ops/promotion.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

/* In aisbx-full only: gates need the history. */
#pragma weak app_gate_check
#pragma weak app_commits_check

int op_read_paths(const struct strv *words, size_t from, struct strv *ret_paths, struct error *err)
{
	for (size_t i = from; words && i < words->count; i++) {
		owned(free_ptr) char *path = words_read_path(words->items[i]);
		char shown[STR_SHOWN_SIZE];

		if (!path || !*path)
			return error_set(err, ERROR_USAGE, "%s: not a path as diff prints them",
					 str_shown(words->items[i], shown));
		strv_add(ret_paths, path);
	}
	return 0;
}

static int check_flags(const struct op_call *call, const struct app_promote *promote,
		       struct error *err)
{
	const struct promote_request *request = &promote->request;

	if (!request->artifact != !request->to)
		return error_set(err, ERROR_USAGE, "--artifact SRC and --to DST go together");
	if (request->artifact && call->words.count > 1)
		return error_advise(err, ERROR_USAGE, "name no other paths",
				    "--artifact takes one thing out");
	if (promote->commits &&
	    (call->words.count > 1 || request->artifact || request->target || promote->strategy ||
	     request->swap || request->into_sandbox || request->approx_base))
		return error_set(err, ERROR_USAGE,
				 "--commits takes the commits of the sandbox's branch as they are: "
				 "name neither paths nor another target or strategy");
	if (request->approx_base && (!promote->strategy || !str_starts(promote->strategy, "merge")))
		return error_set(err, ERROR_USAGE,
				 "--approx-base is for merging: add --strategy merge");
	if (request->snapshot && strchr(call->words.items[0], '@'))
		return error_set(err, ERROR_USAGE, "%s and --snap both name a snapshot",
				 call->words.items[0]);
	return 0;
}

/* Those of the sandbox's profile and of --gate; one that does not hold stops everything. */
static int check_gates(struct op_call *call, const struct app_promote *promote, struct error *err)
{
	owned(strv_done) struct strv exprs = STRV_INIT, tests = STRV_INIT;
	const struct strv *given = op_arg_list(call, "gate");
	const char *snapshot = promote->request.snapshot;
	owned(free_ptr) char *name = xasprintf("%s%s%s", call->words.items[0], snapshot ? "@" : "",
					       snapshot ? snapshot : "");
	const struct app_gates gates = {
		.sandbox = name, .exprs = &exprs, .tests = &tests, .environ = call->environ
	};
	owned(value_release) struct value *answer = NULL;
	bool pass;

	if ((given && app_gates_check_words(given, err) < 0) ||
	    app_gates_of(gates.sandbox, &exprs, &tests, err) < 0)
		return -1;
	if (given)
		strv_copy(&exprs, given);
	if (exprs.count == 0)
		return 0;
	if (!app_gate_check)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	if (promote->commits && app_commits_check(gates.sandbox, call->environ, err) < 0)
		return -1;
	if (app_gate_check(&gates, &answer, &pass, err) < 0)
		return -1;
	if (pass)
		return 0;
	op_report_gates(&call->notes, answer);
	return error_set(err, ERROR_DENIED, "a gate does not hold: nothing was promoted");
}

/* The answer as data, with the failure beside it where there is one. */
static void write_data(struct op_call *call, const struct error *err)
{
	struct value *error;

	if (err) {
		value_set(call->answer, "ok", value_new_bool(false));
		error = value_set(call->answer, "error", value_new_map());
		value_set(error, "code", value_new_text(error_code_name(err->code)));
		value_set(error, "message", value_new_text(err->text));
	}
}

/* Whether a conflict is left for the person: one that the strategy did not decide. */
static bool has_open_conflict(const struct value *answer)
{
	const struct value *conflicts = value_get(answer, "conflicts");

	for (size_t i = 0; i < conflicts->many.count; i++) {
		if (!value_get_text(conflicts->many.items[i], "resolution"))
			return true;
	}
	return false;
}

int op_promotion(struct op_call *call, const struct value *answer, int outcome, const char *again,
		 const struct error *err)
{
	if (outcome == 0) {
		promotion_report(&call->text, answer, op_arg_switch(call, "all"));
		return 0;
	}
	if (!answer || (err->code != ERROR_CONSENT && err->code != ERROR_CONFLICT))
		return -1;
	/* A place that cannot be promoted to at all is no question of versions. */
	if (err->code == ERROR_CONFLICT && !has_open_conflict(answer))
		return -1;
	if (err->code == ERROR_CONSENT)
		promotion_report_consent(&call->text, answer, again, op_arg_switch(call, "all"));
	else
		promotion_report_conflicts(&call->text, answer);
	str_addf(&call->notes, "%s\n", err->text);
	return error_exit_status(err->code);
}

static void add_flag(struct str *out, const char *name, const char *value)
{
	str_addf(out, " --%s", name);
	if (value) {
		str_add_char(out, ' ');
		words_add_shell(out, value);
	}
}

/* The same promotion once more: what was agreed to is what was shown. */
static void add_again(const struct op_call *call, struct str *out)
{
	static const char *const switches[] = { "ignored", "allow-privilege", "allow-special",
						"swap",	   "into-sandbox",    "approx-base",
						"kill",	   "commits" };
	static const char *const texts[] = { "strategy", "target", "artifact", "to", "snap" };
	static const char *const lists[] = { "gate", "allow-path" };

	str_add(out, "aisbx promote");
	for (size_t i = 0; i < call->words.count; i++) {
		str_add_char(out, ' ');
		words_add_shell(out, call->words.items[i]);
	}
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (op_arg_switch(call, switches[i]))
			add_flag(out, switches[i], NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (op_arg_text(call, texts[i]))
			add_flag(out, texts[i], op_arg_text(call, texts[i]));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct strv *list = op_arg_list(call, lists[i]);

		for (size_t k = 0; list && k < list->count; k++)
			add_flag(out, lists[i], list->items[k]);
	}
}

int op_promote_run(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	owned(strv_done) struct strv allowed = STRV_INIT;
	owned(str_done) struct str again = STR_INIT;
	const struct strv *allow = op_arg_list(call, "allow-path");
	struct app_promote promote = {
		.request.allow_privilege = op_arg_switch(call, "allow-privilege"),
		.request.allow_special = op_arg_switch(call, "allow-special"),
		.strategy = op_arg_text(call, "strategy"),
		.request.target = op_arg_text(call, "target"),
		.request.artifact = op_arg_text(call, "artifact"),
		.request.to = op_arg_text(call, "to"),
		.request.snapshot = op_arg_text(call, "snap"),
		.ignored = op_arg_switch(call, "ignored"),
		.request.swap = op_arg_switch(call, "swap"),
		.request.dry_run = op_arg_switch(call, "dry-run"),
		.request.into_sandbox = op_arg_switch(call, "into-sandbox"),
		.request.approx_base = op_arg_switch(call, "approx-base"),
		.commits = op_arg_switch(call, "commits"),
		.policy_fd = call->policy_fd,
	};
	int outcome, status;

	if (op_want_words(call, 1, SIZE_MAX, err) < 0 || op_quiet(call, &promote.how, err) < 0 ||
	    check_flags(call, &promote, err) < 0 ||
	    op_read_paths(&call->words, 1, &paths, err) < 0 ||
	    op_read_paths(allow, 0, &allowed, err) < 0 || check_gates(call, &promote, err) < 0)
		return -1;
	promote.sandbox = call->words.items[0];
	promote.request.paths = paths;
	promote.request.allow_paths = allowed;
	add_again(call, &again);
	outcome = app_promote(&promote, &call->answer, err);
	status = op_promotion(call, call->answer, outcome, str_cstr(&again), err);
	if (status < 0)
		return -1;
	write_data(call, outcome < 0 ? err : NULL);
	call->exit_status = status;
	return 0;
}
