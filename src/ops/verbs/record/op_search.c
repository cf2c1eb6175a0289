/* SPDX-License-Identifier: Apache-2.0 */
/* `search`: the record by words. */
#include "app/record/history.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/units.h"
#include "ops/rows/rows.h"
#include "ops/text/since.h"
#include "ops/text/words.h"

#define FOUND_DEFAULT 10
#define FOUND_MAX 1000
#define COMMAND_MAX 100

static void write_found(const struct value *found, struct str *out)
{
	const char *run_id = value_get_text(found, "run_id"), *line = value_get_text(found, "line");
	const char *subject = value_get_text(found, "subject");
	const struct value *exit_code = value_get(found, "exit_code");

	str_add(out, run_id ? run_id : value_get_text(found, "kind"));
	str_add(out, "  ");
	words_add_age(out, words_moment(found, "time"));
	if (run_id)
		str_addf(out, "  %s", value_get_text(found, "status"));
	if (exit_code->kind == VALUE_INT)
		str_addf(out, ", exit %lld", (long long)exit_code->integer);
	str_add(out, "\n  ");
	if (run_id)
		words_add_command(out, value_get(found, "command"), COMMAND_MAX);
	else
		words_add_line(out, subject ? subject : "-");
	if (line) {
		str_add(out, "\n  | ");
		words_add_line(out, line);
	}
	str_add_char(out, '\n');
}

static int read_filter(const struct op_call *call, char **ret_workspace,
		       struct search_filter *ret_filter, struct error *err)
{
	const char *count = op_arg_text(call, "limit"), *place = op_arg_text(call, "workspace");
	int64_t limit = FOUND_DEFAULT;

	if (count && units_count("--limit", count, 1, FOUND_MAX, &limit, err) < 0)
		return -1;
	if (place) {
		*ret_workspace = path_real(place);
		/* One that is gone may still be on record. */
		if (!*ret_workspace)
			*ret_workspace = xstrdup(place);
	}
	*ret_filter = (struct search_filter){ .owner = op_sees(call),
					      .workspace = *ret_workspace,
					      .kind = op_arg_text(call, "kind"),
					      .is_failed = op_arg_switch(call, "failed"),
					      .limit = (uint64_t)limit };
	return since_read(op_arg_text(call, "since"), &ret_filter->since_ms, err);
}

int op_search_run(struct op_call *call, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(free_ptr) char *workspace = NULL;
	owned(str_done) struct str words = STR_INIT;
	struct search_filter filter;

	if (op_want_words(call, 1, SIZE_MAX, err) < 0 ||
	    read_filter(call, &workspace, &filter, err) < 0)
		return -1;
	for (size_t i = 0; i < call->words.count; i++)
		str_addf(&words, "%s ", call->words.items[i]);
	if (app_history(&history, err) < 0 ||
	    history_search(history, words.data, &filter, &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++)
		write_found(call->answer->many.items[i], &call->text);
	if (call->answer->many.count == 0)
		str_add(&call->text, "nothing on record has these words\n");
	return 0;
}
