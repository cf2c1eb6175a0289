/* SPDX-License-Identifier: Apache-2.0 */
/* `try`: run, show what changed, ask whether to apply it. */
#include "app/change/secret_look.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "app/change/workspace.h"
#include "ops/promotion.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

/* A try without a decision, also because the command was killed, is removed after a week. */
#define KEPT_MS (UINT64_C(7) * 24 * 3600 * 1000)

enum verdict { VERDICT_ASK, VERDICT_APPLY, VERDICT_KEEP, VERDICT_FORGET };

struct attempt {
	struct op_call *call;
	char name[ID_SHORT_SIZE]; /* of the sandbox */
	struct value *seen;	 /* a promotion on trial, of what was shown; NULL: none was tried */
	struct value *promotion; /* as app_promote answered; NULL: none was tried */
	bool changed;		 /* something in the workspace */
	bool succeeded;		 /* the command */
	bool gone;		 /* the sandbox was removed again */
};

/*
 * Notes what a promotion would apply, before any of it is shown: an answer holds for that alone, whatever another
 * process does to the sandbox or the host meanwhile.
 */
static void look(struct attempt *attempt)
{
	const struct app_promote trial = { .sandbox = attempt->name,
					   .ignored = op_arg_switch(attempt->call, "ignored"),
					   .request.allow_all = true,
					   .request.dry_run = true,
					   .how = QUIET_KILL };
	struct error reason = { 0 };

	/* What stops it now stops the promotion, too, and is explained then. */
	(void)app_promote(&trial, &attempt->seen, &reason);
	/* A run's result counts no modes and owners of directories. */
	if (attempt->seen && value_list_count(attempt->seen, "applied") +
					     value_list_count(attempt->seen, "merged") +
					     value_list_count(attempt->seen, "conflicts") +
					     (size_t)value_int_of(attempt->seen, "ignored") >
				     0)
		attempt->changed = true;
}

/* The digest of what was shown; one that nothing has where it is not known. */
static const char *digest_seen(const struct attempt *attempt)
{
	const char *bundle = attempt->seen ? value_get_text(attempt->seen, "bundle") : NULL;

	return bundle ? bundle : "";
}

/* Names and letters first, then how much: what a person looks at before saying yes. */
static int show_changes(struct attempt *attempt, struct error *err)
{
	const struct app_diff diff = { .sandbox = attempt->name };
	bool differs;

	return attempt->call->json ? 0 : op_diff_short(attempt->call, &diff, true, &differs, err);
}

static int show_patch(struct attempt *attempt, struct error *err)
{
	struct app_diff diff = { .sandbox = attempt->name, .form = PATCH_UNIFIED };
	bool differs;

	attempt->call->is_patch = true;
	return op_diff(attempt->call, &diff, &differs, err);
}

static enum verdict ask(struct attempt *attempt, struct error *err)
{
	struct op_call *call = attempt->call;
	const char *question =
		attempt->succeeded
			? "Apply this to the host? [y]es, [n]o and forget it, [k]eep it, show the "
			  "[d]iff: "
			: "The command failed. Apply this all the same? [y]es, [n]o and forget it, "
			  "[k]eep it, show the [d]iff: ";

	for (;;) {
		char letter = call->ask(call, question);

		call->is_patch = false;
		switch (letter) {
		case 'y':
			return VERDICT_APPLY;
		case 'n':
			return VERDICT_FORGET;
		case 'd':
			if (show_patch(attempt, err) < 0)
				return VERDICT_KEEP;
			break;
		case 'k':
		case 0:
			return VERDICT_KEEP;
		default:
			break;
		}
	}
}

static enum verdict decide(struct attempt *attempt, struct error *err)
{
	struct op_call *call = attempt->call;

	if (op_arg_switch(call, "no"))
		return VERDICT_KEEP;
	if (!attempt->changed)
		return VERDICT_FORGET;
	/* A failed command may have done half of its work: that is never applied without a question. */
	if (op_arg_switch(call, "yes"))
		return attempt->succeeded ? VERDICT_APPLY : VERDICT_KEEP;
	return call->ask ? ask(attempt, err) : VERDICT_KEEP;
}

/* Whether everything that needs a person's word fits into one question. */
static bool is_shown_whole(const struct attempt *attempt)
{
	const struct value *consents = value_get(attempt->promotion, "consent");

	return consents && consents->many.count <= PROMOTION_ASKED_MAX;
}

/* Promotes; asks once more for what needs a person's word, where a person is there. */
static int apply(struct attempt *attempt, struct error *err)
{
	struct op_call *call = attempt->call;
	struct app_promote promote = { .sandbox = attempt->name,
				       .ignored = op_arg_switch(call, "ignored"),
				       .policy_fd = call->policy_fd,
				       .how = QUIET_KILL };
	owned(strv_done) struct strv agreed = STRV_INIT;
	int outcome, status;

	/* With -y nothing was asked yet. */
	if (!op_arg_switch(call, "yes"))
		promote.request.digest = digest_seen(attempt);
	outcome = app_promote(&promote, &attempt->promotion, err);

	if (outcome < 0 && err->code == ERROR_CONSENT && call->ask && is_shown_whole(attempt)) {
		if (!attempt->seen)
			look(attempt);
		promote.request.digest = digest_seen(attempt);
		promotion_report_consent(&call->text, attempt->promotion, NULL, false);
		if (call->ask(call, "Apply these too? [y]es or [n]o: ") == 'y') {
			promotion_read_agreed(attempt->promotion, &agreed);
			value_free(attempt->promotion);
			attempt->promotion = NULL;
			promote.request.agreed = &agreed;
			outcome = app_promote(&promote, &attempt->promotion, err);
			/* Questions that were not asked before come from another process. */
			if (outcome < 0 && err->code == ERROR_CONSENT)
				error_set(err, ERROR_CONFLICT,
					  "what would be applied is no longer what was reviewed");
		}
	}
	status = op_promotion(call, attempt->promotion, outcome, NULL, err);
	if (status < 0)
		return error_context(err, "nothing was applied, the sandbox %s is kept",
				     attempt->name);
	if (call->exit_status == 0)
		call->exit_status = status;
	/* With the sandbox its commits would be gone. */
	return outcome == 0 && !value_is_true(attempt->promotion, "commits_waiting") ? 1 : 0;
}

static int forget(struct attempt *attempt, struct error *err)
{
	if (app_remove(attempt->name, err) < 0)
		return -1;
	attempt->gone = true;
	return 0;
}

/* Whether git ignores all that is left in the sandbox. */
static bool is_rest_ignored(const struct attempt *attempt)
{
	const struct value *last = attempt->promotion ? attempt->promotion : attempt->seen;

	if (!last || value_int_of(last, "ignored") == 0)
		return false;
	return value_get_text(last, "promotion_id") ||
	       value_list_count(last, "applied") + value_list_count(last, "merged") +
			       value_list_count(last, "consent") +
			       value_list_count(last, "conflicts") ==
		       0;
}

/* Its name comes last, so that scripts can take it from there. */
static void report_kept(struct attempt *attempt)
{
	struct op_call *call = attempt->call;

	str_addf(&call->notes,
		 "kept for a week: aisbx diff %s shows it, aisbx promote %s%s applies it, aisbx rm "
		 "%s forgets "
		 "it\n",
		 attempt->name, attempt->name, is_rest_ignored(attempt) ? " --ignored" : "",
		 attempt->name);
	str_addf(&call->text, "%s\n", attempt->name);
}

/*
 * What the command's tools fetched stays warm by a promotion (app/run/warm_cache.h), here of nothing: the digest is that of
 * a trial that would apply nothing, and of anything else the promotion is refused.
 */
static void apply_nothing(const struct attempt *attempt)
{
	const struct app_promote promote = { .sandbox = attempt->name,
					     .ignored = op_arg_switch(attempt->call, "ignored"),
					     .request.digest = digest_seen(attempt),
					     .how = QUIET_KILL };
	owned(value_release) struct value *none = NULL;
	struct error ignored;

	(void)app_promote(&promote, &none, &ignored);
}

static int conclude(struct attempt *attempt, struct error *err)
{
	struct op_call *call = attempt->call;
	enum verdict verdict;
	int applied = 0;

	if (!attempt->changed || !op_arg_switch(call, "yes"))
		look(attempt);
	if (show_changes(attempt, err) < 0)
		return -1;
	verdict = decide(attempt, err);
	if (verdict == VERDICT_APPLY)
		applied = apply(attempt, err);
	else if (!attempt->changed && attempt->succeeded && op_arg_switch(call, "yes"))
		apply_nothing(attempt);
	if (applied < 0)
		return -1;
	/* What git ignores is still there only. */
	bool is_done = applied > 0 && value_int_of(attempt->promotion, "ignored") == 0;

	if ((is_done || verdict == VERDICT_FORGET) && forget(attempt, err) < 0)
		return -1;
	if (!attempt->changed && attempt->gone)
		str_add(&call->text, "nothing changed in the workspace\n");
	if (!attempt->gone)
		report_kept(attempt);
	return 0;
}

/* The result of the run, with what became of it beside. */
static void write_data(struct attempt *attempt, const struct run_result *result)
{
	struct str *data = &attempt->call->data;

	str_clear(data);
	run_result_write(result, data);
	str_truncate(data, data->len - 1);
	str_add(data, ",\"kept\":");
	if (attempt->gone)
		str_add(data, "null");
	else
		str_addf(data, "\"%s\"", attempt->name);
	str_add(data, ",\"promotion\":");
	if (attempt->promotion)
		json_write(data, attempt->promotion, 0);
	else
		str_add(data, "null");
	str_add_char(data, '}');
}

static int try_request(struct attempt *attempt, const struct request *request, struct error *err)
{
	owned(run_result_done) struct run_result result;
	struct op_call *call = attempt->call;
	struct app_run_options options = { .capture = call->json,
					   .uses_daemon = !op_arg_switch(call, "no-daemon"),
					   .denied = call->note ? op_denied : NULL,
					   .denied_cookie = call };
	struct error ignored;
	int outcome;

	run_result_init(&result);
	outcome = app_run_kept(request, attempt->name, KEPT_MS, &options, &result, err);
	if (op_result(call, &result, outcome, err) < 0) {
		if (err->code != ERROR_LIBRARIES)
			(void)app_remove(attempt->name, &ignored);
		return -1;
	}
	attempt->changed =
		result.changes.added + result.changes.modified + result.changes.deleted > 0;
	/* An exit of 0 does not count after an interrupt. */
	attempt->succeeded = result.status == RUN_SUCCESS;
	if (conclude(attempt, err) < 0)
		return -1;
	if (call->json)
		write_data(attempt, &result);
	return 0;
}

int op_try_run(struct op_call *call, struct error *err)
{
	owned(request_done) struct request request;
	struct attempt attempt = { .call = call };
	int status;

	call->is_aside = true;
	request_init(&request);
	if (op_arg_switch(call, "yes") && op_arg_switch(call, "no"))
		return error_set(err, ERROR_USAGE, "-y and -n contradict");
	if (secret_look_ready(err) < 0 || op_request(call, &request, err) < 0 ||
	    id_short("try", attempt.name, err) < 0)
		return -1;
	status = try_request(&attempt, &request, err);
	value_free(attempt.seen);
	value_free(attempt.promotion);
	return status;
}
