/* SPDX-License-Identifier: Apache-2.0 */
/* Policies about promotions: asked with the change set, what they demand checked, the outcome bound to what was judged. */
#include "app/change/workspace_parts.h"
#include "app/stage/ask_parts.h"
#include "app/stage/stage_parts.h"
#include "app/trial/gates.h"
#include "app/vet/rego.h"
#include "base/core/own.h"

#include <string.h>
#include <unistd.h>

/* Under this name accounts approve a promotion that is in no pipeline. */
#define NO_STAGE "promote"

/* Rows of texts, truths and numbers. */
static struct value *copy_rows(const struct value *rows)
{
	struct value *list = value_new_list();

	for (size_t i = 0; rows && i < rows->many.count; i++) {
		const struct value *from = rows->many.items[i];
		struct value *row = value_append(list, value_new_map());

		for (size_t k = 0; k < from->many.count; k++) {
			const struct value *one = from->many.items[k];

			value_add(row, from->many.keys[k],
				  one->kind == VALUE_TEXT   ? value_new_text(one->text.bytes)
				  : one->kind == VALUE_BOOL ? value_new_bool(one->truth)
				  : one->kind == VALUE_INT  ? value_new_int(one->integer)
							    : value_new_null());
		}
	}
	return list;
}

/* Those of the stage; else those who approved the promotion itself. */
static struct value *approvals_of(const struct app_promote *promote, const char *bundle)
{
	struct stage_approvals approvals = { 0 };

	if (promote->approvals)
		return copy_rows(promote->approvals);
	stage_approvals_left(bundle, NO_STAGE, &approvals);
	return stage_approvals_rows(&approvals);
}

static int check_approvals(const struct policy_answer *answer, const struct value *approvals,
			   const char *bundle, const char *stage, struct error *err)
{
	if ((int64_t)approvals->many.count >= answer->approvals)
		return 0;
	error_set(err, ERROR_DENIED,
		  "denied by policy: %lld accounts have to approve this, and %zu did",
		  (long long)answer->approvals, approvals->many.count);
	return error_add_hint(err, "each by: aisbx stage approve %s %s", bundle,
			      stage ? stage : NO_STAGE);
}

static int check_gates(const struct policy_answer *answer, const struct app_promote *promote,
		       struct error *err)
{
	const char *snapshot = promote->request.snapshot;
	owned(free_ptr) char *name = xasprintf("%s%s%s", promote->sandbox, snapshot ? "@" : "",
					       snapshot ? snapshot : "");
	owned(strv_done) struct strv unused = STRV_INIT, tests = STRV_INIT;
	owned(value_release) struct value *checked = NULL;
	const struct app_gates gates = { .sandbox = name,
					 .exprs = &answer->gates,
					 .tests = &tests,
					 .environ = (const char *const *)environ };
	bool pass = false;

	if (answer->gates.count == 0)
		return 0;
	if (app_gates_of(name, &unused, &tests, err) < 0 ||
	    app_gate_check(&gates, &checked, &pass, err) < 0) {
		err->code = ERROR_DENIED;
		return error_context(err, "denied by policy");
	}
	const struct value *rows = value_get(checked, "gates");

	for (size_t i = 0; i < rows->many.count; i++) {
		const struct value *row = rows->many.items[i];

		if (!value_is_true(row, "holds"))
			return error_set(err, ERROR_DENIED,
					 "denied by policy: it demands %s, which does not hold: %s",
					 value_get_text(row, "expr"),
					 value_get_text(row, "evidence"));
	}
	return pass ? 0 : error_set(err, ERROR_DENIED, "denied by policy: a gate does not hold");
}

int promotion_policy(const struct app_promote *promote, char **ret_digest,
		     struct value **ret_answer, struct error *err)
{
	struct app_promote dry = *promote; /* borrows everything */
	owned(policy_answer_done) struct policy_answer answer = { 0 };
	owned(value_release) struct value *input = NULL, *seen = NULL;
	const struct value *approvals;
	const char *bundle;

	if (!policy_may_exist())
		return 0;
	if (ask_look(&dry, &seen, err) < 0) {
		*ret_answer = ptr_take(&seen);
		return -1;
	}
	bundle = value_get_text(seen, "bundle");
	if (!bundle)
		return error_set(err, ERROR_INTERNAL, "a bundle without a digest");
	/* What the caller was shown, and holds, has to be what is judged here. */
	if (promote->request.digest && strcmp(promote->request.digest, bundle) != 0)
		return error_set(err, ERROR_CONFLICT,
				 "what would be applied is no longer what was reviewed");
	input = value_new_map();
	value_add(input, "change", policy_change(seen));
	value_add(input, "gates", copy_rows(promote->gates));
	value_add(input, "stage", value_new_text(promote->stage ? promote->stage : ""));
	approvals = value_add(input, "approvals", approvals_of(promote, bundle));
	if (policy_ask(promote->stage ? "stage" : "promote", input, promote->policy_fd, &answer,
		       err) < 0)
		return error_add_hint(err, "bundle %s", bundle);
	if (check_approvals(&answer, approvals, bundle, promote->stage, err) < 0 ||
	    check_gates(&answer, promote, err) < 0)
		return -1;
	*ret_digest = xstrdup(bundle);
	return 0;
}
