/* SPDX-License-Identifier: Apache-2.0 */
/* `scan`: checks source text against a policy, before anything runs it. */
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "app/prepare/scan.h"
#include "ops/rows/rows.h"

#include <string.h>

static int explain(struct op_call *call, const char *rule, struct error *err)
{
	if (call->words.count > 0)
		return error_set(err, ERROR_USAGE, "--explain takes a rule and no files");
	return app_scan_explain(rule, &call->text, &call->answer, err);
}

static int read_format(struct op_call *call, bool *ret_sarif, struct error *err)
{
	const char *format = op_arg_text(call, "format");
	char shown[STR_SHOWN_SIZE];

	*ret_sarif = format && strcmp(format, "sarif") == 0;
	if (!format || *ret_sarif || strcmp(format, "text") == 0)
		return 0;
	if (strcmp(format, "json") == 0) {
		call->json = true;
		return 0;
	}
	return error_set(err, ERROR_USAGE, "--format %s: write text, json or sarif",
			 str_shown(format, shown));
}

int op_scan_run(struct op_call *call, struct error *err)
{
	owned(app_scan_answer_done) struct app_scan_answer answer = { 0 };
	const struct app_scan scan = { .paths = &call->words,
				       .content = op_arg_text(call, "content"),
				       .language = op_arg_text(call, "lang"),
				       .policy = op_arg_text(call, "policy"),
				       .fail_on = op_arg_text(call, "fail-on"),
				       .environ = call->environ };
	const char *rule = op_arg_text(call, "explain");
	bool sarif;

	if (rule)
		return explain(call, rule, err);
	if (read_format(call, &sarif, err) < 0)
		return -1;
	if (call->words.count == 0 && !scan.content)
		return error_set(
			err, ERROR_USAGE,
			"what to scan? aisbx scan FILE... | DIRECTORY | - (standard input)");
	if (app_scan(&scan, AISBX_VERSION, &answer, err) < 0)
		return -1;
	call->exit_status = answer.fails ? 1 : 0;
	if (sarif) {
		json_write(&call->text, answer.sarif, 2);
		str_add_char(&call->text, '\n');
		json_write(&call->data, answer.sarif, 0);
		return 0;
	}
	call->answer = ptr_take(&answer.report);
	str_add(&call->text, str_cstr(&answer.words));
	return 0;
}
