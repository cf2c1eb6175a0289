/* SPDX-License-Identifier: Apache-2.0 */
/* `policy`: rules written as code, checked, tested and asked. */
#include "app/vet/rego_verbs.h"
#include "base/text/json_write.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

static int check(struct op_call *call, struct error *err)
{
	const struct value *files;

	if (policy_verb_check(op_arg_text(call, "dir"), &call->answer, err) < 0)
		return -1;
	files = value_get(call->answer, "files");
	for (size_t i = 0; i < files->many.count; i++) {
		words_add_path(&call->text, files->many.items[i]->text.bytes);
		str_add(&call->text, ": good\n");
	}
	str_addf(&call->text, "digest %s\n", value_get_text(call->answer, "digest"));
	return 0;
}

static int test(struct op_call *call, struct error *err)
{
	bool pass;

	if (policy_verb_test(op_arg_text(call, "dir"), &call->answer, &pass, err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		bool is_good = value_is_true(row, "passed");

		str_addf(&call->text, "%s %s%s%s\n", is_good ? "pass" : "FAIL",
			 value_get_text(row, "test"), is_good ? "" : ": ",
			 is_good ? "" : value_get_text(row, "why"));
	}
	call->exit_status = pass ? 0 : 1;
	return 0;
}

/* Which lines were reached, by file: what did not hold ends a rule there. */
static void report_lines(struct str *out, const struct value *set)
{
	const struct value *files = value_get(set, "covered");

	for (size_t i = 0; files && i < files->many.count; i++) {
		const struct value *lines = value_get(files->many.items[i], "lines");

		words_add_path(out, value_get_text(files->many.items[i], "path"));
		str_add(out, ": evaluated lines");
		for (size_t k = 0; lines && k < lines->many.count; k++)
			str_addf(out, " %lld", (long long)lines->many.items[k]->integer);
		str_add_char(out, '\n');
	}
}

static int evaluate(struct op_call *call, bool explains, struct error *err)
{
	const struct value *sets;
	const char *why;

	if (op_want_words(call, 2, 2, err) < 0 ||
	    policy_verb_eval(op_arg_text(call, "dir"), call->words.items[1], explains,
			     &call->answer, err) < 0)
		return -1;
	why = value_get_text(call->answer, "why");
	str_addf(&call->text, "%s%s%s\n", value_get_text(call->answer, "decision"), why ? ": " : "",
		 why ? why : "");
	sets = value_get(call->answer, "sets");
	for (size_t i = 0; sets && i < sets->many.count; i++) {
		str_addf(&call->text, "%s: ", value_get_text(sets->many.items[i], "name"));
		json_write(&call->text, value_get(sets->many.items[i], "rules"), 0);
		str_add_char(&call->text, '\n');
		report_lines(&call->text, sets->many.items[i]);
	}
	call->exit_status = why ? error_exit_status(ERROR_DENIED) : 0;
	return 0;
}

int op_policy_run(struct op_call *call, struct error *err)
{
	const char *word;

	if (op_want_words(call, 1, 2, err) < 0)
		return -1;
	word = call->words.items[0];
	if (strcmp(word, "check") == 0)
		return op_want_words(call, 1, 1, err) < 0 ? -1 : check(call, err);
	if (strcmp(word, "test") == 0)
		return op_want_words(call, 1, 1, err) < 0 ? -1 : test(call, err);
	if (strcmp(word, "eval") == 0 || strcmp(word, "explain") == 0)
		return evaluate(call, strcmp(word, "explain") == 0, err);
	return error_set(err, ERROR_USAGE, "policy is followed by check, test, eval or explain");
}
