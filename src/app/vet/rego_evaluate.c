/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the evaluator of policies, and what it answers. */
#include "app/vet/rego_parts.h"

#include "base/core/own.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"

#include <string.h>

#define ANSWER_DEPTH_MAX 16
#define ANSWER_VALUES_MAX 20000

int policy_read_line(const char *bytes, size_t len, const struct value *sets,
		     struct value **ret_answer, struct error *err)
{
	const struct json_limits limits = { .bytes = POLICY_ANSWER_MAX,
					    .depth = ANSWER_DEPTH_MAX,
					    .values = ANSWER_VALUES_MAX };
	owned(value_release) struct value *answer = NULL;
	const struct value *rows;

	if (json_read(bytes, len, &limits, &answer, err) < 0) {
		err->code = ERROR_DENIED;
		return error_context(err, "the evaluator of policies answers nonsense");
	}
	if (answer->kind == VALUE_MAP && value_get_text(answer, "error"))
		return error_set(err, ERROR_DENIED, "%s", value_get_text(answer, "error"));
	rows = answer->kind == VALUE_MAP ? value_get(answer, "sets") : NULL;
	if (!rows || rows->kind != VALUE_LIST || rows->many.count != sets->many.count)
		return error_set(err, ERROR_DENIED, "the evaluator of policies answers nonsense");
	for (size_t i = 0; i < rows->many.count; i++) {
		const struct value *row = rows->many.items[i];

		if (row->kind != VALUE_MAP || !value_get_text(row, "name") ||
		    !str_same(value_get_text(row, "name"),
			      value_get_text(sets->many.items[i], "name")))
			return error_set(err, ERROR_DENIED,
					 "the evaluator of policies answers another question");
	}
	*ret_answer = ptr_take(&answer);
	return 0;
}

/* Without SETS: about those that were asked about last. */
static void write_question(struct str *out, const struct policy_question *question, bool with_sets)
{
	str_clear(out);
	str_addf(out, "{\"mode\":\"%s\",\"digest\":\"%s\",", question->mode,
		 question->files->digest);
	if (with_sets) {
		str_add(out, "\"sets\":");
		json_write(out, question->files->sets, 0);
		str_add_char(out, ',');
	}
	str_add(out, "\"input\":");
	json_write(out, question->input, 0);
	str_add(out, "}\n");
}

/* Other policies were asked about last, or none. */
static bool is_unknown(const struct str *line)
{
	owned(value_release) struct value *answer = NULL;
	struct error ignored;

	return line->len < 64 && json_read(line->data, line->len, NULL, &answer, &ignored) == 0 &&
	       answer->kind == VALUE_MAP && value_is_true(answer, "unknown");
}

/* The digest, of files that were read a moment ago, says whether what was parsed before still holds. */
static enum evaluator_said ask_kept(const struct policy_question *question, struct str *ret_line)
{
	owned(str_done) struct str text = STR_INIT;
	enum evaluator_said said;

	if (question->kept_fd <= 0 || strcmp(question->mode, "decide") != 0)
		return EVALUATOR_GONE;
	write_question(&text, question, false);
	said = evaluator_ask_kept(question->kept_fd, &text, ret_line);
	if (said != EVALUATOR_ANSWERED || !is_unknown(ret_line))
		return said;
	str_clear(ret_line);
	write_question(&text, question, true);
	return evaluator_ask_kept(question->kept_fd, &text, ret_line);
}

int policy_evaluate(const struct policy_question *question, struct value **ret_answer,
		    struct error *err)
{
	owned(str_done) struct str text = STR_INIT, line = STR_INIT;
	enum evaluator_said said = ask_kept(question, &line);

	/* One that is kept may end at any time; what it did not answer is for another one. */
	if (said == EVALUATOR_GONE) {
		str_clear(&line);
		write_question(&text, question, true);
		if (evaluator_ask_new(&text, &line, &said, err) < 0)
			return -1;
	}
	if (said != EVALUATOR_ANSWERED)
		return error_advise(
			err, ERROR_DENIED, "aisbx policy check tries all of it",
			"the policy gives no answer: it takes too long or too much memory");
	return policy_read_line(line.data, line.len, question->files->sets, ret_answer, err);
}
