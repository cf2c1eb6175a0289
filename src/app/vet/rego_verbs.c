/* SPDX-License-Identifier: Apache-2.0 */
/* Policies looked at by their authors: checked, tested, asked with an input at hand. */
#include "app/vet/rego_verbs.h"

#include "app/vet/rego_parts.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define INPUT_BYTES_MAX ((size_t)4 << 20)

/* What is in force, or what lies in DIR; none at all is an error. */
static int read_files(const char *dir, bool with_tests, struct policy_files *ret_files,
		      struct error *err)
{
	int status = dir ? policy_files_read_at(dir, with_tests, ret_files, err)
			 : policy_files_read(with_tests, ret_files, err);

	if (status < 0 || ret_files->count > 0)
		return status;
	policy_files_done(ret_files);
	return error_set(err, ERROR_NOT_FOUND, "there is no policy in %s",
			 dir ? dir : "~/.config/aisbx/policy or " POLICY_MACHINE_DIR);
}

/* A function that a policy calls and that is not there shows only when the rule is evaluated: each action is tried. */
static int try_actions(const struct policy_files *files, struct error *err)
{
	static const char *const actions[] = { "run",	"exec",	   "create", "try", "race",
					       "allow", "promote", "stage",  "mcp", "job" };

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		owned(policy_answer_done) struct policy_answer demands = { 0 };
		owned(value_release) struct value *input = policy_sample(), *answer = NULL;
		const struct policy_question question = { "decide", files, input, 0 };
		struct error denial = { 0 };

		policy_input_add_common(input, actions[i]);
		if (policy_evaluate(&question, &answer, err) < 0)
			return error_context(err, "%s", actions[i]);
		/* A denial is an answer like any other; what has the wrong form is none. */
		if (policy_read_answer(answer, &demands, &denial) < 0 && error_hint(&denial)) {
			*err = denial;
			return -1;
		}
	}
	return 0;
}

int policy_verb_check(const char *dir, struct value **ret_answer, struct error *err)
{
	owned(policy_files_done) struct policy_files files = { 0 };

	if (read_files(dir, false, &files, err) < 0)
		return -1;
	if (policy_files_check_fields(&files, err) < 0 || try_actions(&files, err) < 0) {
		err->code = ERROR_INPUT;
		return -1;
	}
	*ret_answer = value_new_map();
	struct value *paths = value_add(*ret_answer, "files", value_new_list());

	for (size_t i = 0; i < files.sets->many.count; i++) {
		const struct value *modules = value_get(files.sets->many.items[i], "modules");

		for (size_t k = 0; k < modules->many.count; k++)
			value_append(paths, value_new_text(value_get_text(modules->many.items[k],
									  "path")));
	}
	value_add(*ret_answer, "digest", value_new_text(files.digest));
	return 0;
}

int policy_verb_test(const char *dir, struct value **ret_list, bool *ret_pass, struct error *err)
{
	owned(policy_files_done) struct policy_files files = { 0 };
	owned(value_release) struct value *nothing = value_new_map(), *answer = NULL;
	const struct policy_question question = { "test", &files, nothing, 0 };
	const struct value *rows;

	if (read_files(dir, true, &files, err) < 0 || policy_evaluate(&question, &answer, err) < 0)
		return -1;
	*ret_list = value_new_list();
	*ret_pass = true;
	rows = value_get(answer, "sets");
	for (size_t i = 0; i < rows->many.count; i++) {
		struct value *tests = value_get(rows->many.items[i], "tests");

		for (size_t k = 0; tests && tests->kind == VALUE_LIST && k < tests->many.count;
		     k++) {
			*ret_pass = *ret_pass && value_is_true(tests->many.items[k], "passed");
			value_append(*ret_list, tests->many.items[k]);
			tests->many.items[k] = value_new_null();
		}
	}
	if ((*ret_list)->many.count == 0)
		return error_set(
			err, ERROR_NOT_FOUND,
			"no rule begins with test_: tests lie in files that end in _test.rego");
	return 0;
}

static int read_input(const char *file, struct value **ret_input, struct error *err)
{
	const struct json_limits limits = { .bytes = INPUT_BYTES_MAX };
	bool is_stdin = strcmp(file, "-") == 0;
	owned(str_done) struct str text = STR_INIT;

	if (is_stdin ? fd_read_all(0, INPUT_BYTES_MAX, &text) < 0
		     : file_read(AT_FDCWD, file, INPUT_BYTES_MAX, &text, err) < 0)
		return is_stdin ? error_errno(err, ERROR_INPUT, "standard input") : -1;
	if (json_read(str_cstr(&text), text.len, &limits, ret_input, err) < 0)
		return error_context(err, "%s", is_stdin ? "standard input" : file);
	return 0;
}

int policy_verb_eval(const char *dir, const char *file, bool explains, struct value **ret_answer,
		     struct error *err)
{
	owned(policy_files_done) struct policy_files files = { 0 };
	owned(policy_answer_done) struct policy_answer demands = { 0 };
	owned(value_release) struct value *input = NULL, *answer = NULL;
	struct error denial = { 0 };

	if (read_files(dir, false, &files, err) < 0 || read_input(file, &input, err) < 0 ||
	    policy_files_check_fields(&files, err) < 0)
		return -1;
	const struct policy_question question = { explains ? "explain" : "decide", &files, input,
						  0 };

	if (policy_evaluate(&question, &answer, err) < 0)
		return -1;
	/* It takes limits out of the answer, which is of no use behind it but for the lines. */
	bool is_denied = policy_read_answer(answer, &demands, &denial) < 0;

	*ret_answer = value_new_map();
	value_add(*ret_answer, "decision", value_new_text(is_denied ? "deny" : "allow"));
	value_add(*ret_answer, "why", value_new_text(is_denied ? denial.text : NULL));
	value_add(*ret_answer, "require_gate", value_from_strv(&demands.gates));
	value_add(*ret_answer, "require_driver", value_from_strv(&demands.drivers));
	value_add(*ret_answer, "require_approvals", value_new_int(demands.approvals));
	value_add(*ret_answer, "limits", ptr_take(&demands.limits));
	value_add(*ret_answer, "policy", value_new_text(files.digest));
	if (explains)
		value_add(*ret_answer, "sets", value_take(answer, "sets"));
	return 0;
}
