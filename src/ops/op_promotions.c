/* `promotions`: what was applied to reality, newest first. */
#include "base/own.h"
#include "engine/workspace.h"
#include "ops/rows.h"
#include "ops/words.h"

#define COLUMNS 6

static void add_row(struct strv *cells, const struct value *row)
{
	struct str cell = STR_INIT;
	int64_t files = 0;

	(void)value_get_int(row, "files", &files);
	strv_add(cells, value_get_text(row, "promotion_id"));
	words_add_age(&cell, words_moment(row, "made"));
	strv_take(cells, str_detach(&cell));
	strv_add(cells, value_get_text(row, "state"));
	strv_addf(cells, "%lld", (long long)files);
	strv_add(cells, value_get_text(row, "sandbox") ? value_get_text(row, "sandbox") : "");
	words_add_path(&cell, value_get_text(row, "target") ? value_get_text(row, "target") : "");
	strv_take(cells, str_detach(&cell));
}

int op_promotions_run(struct op_call *call, struct error *err)
{
	static const char *const titles[COLUMNS] = { "ID",    "MADE",	 "STATE",
						     "FILES", "SANDBOX", "TARGET" };
	owned(strv_done) struct strv cells = STRV_INIT;

	if (op_want_words(call, 0, 0, err) < 0 || engine_promotions(&call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0) {
		str_add(&call->text, "nothing was promoted yet\n");
		return 0;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		strv_add(&cells, titles[i]);
	for (size_t i = 0; i < call->answer->many.count; i++)
		add_row(&cells, call->answer->many.items[i]);
	words_add_table(&call->text, &cells, COLUMNS);
	return 0;
}
