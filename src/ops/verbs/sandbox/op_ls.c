/* SPDX-License-Identifier: Apache-2.0 */
/* `ls`: the sandboxes of this user, as a table. */
#include "base/core/own.h"
#include "app/change/workspace.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

#define COLUMNS 7

void op_add_changes(struct str *out, const struct value *row)
{
	const struct value *changes = value_get(row, "changes");
	const struct value *partial = value_get(row, "partial");

	if (!changes || changes->kind != VALUE_MAP) {
		str_add(out, "unknown");
		return;
	}
	str_addf(out, "+%lld ~%lld -%lld%s", (long long)value_int_of(changes, "added"),
		 (long long)value_int_of(changes, "modified"),
		 (long long)value_int_of(changes, "deleted"),
		 partial && partial->kind == VALUE_BOOL && partial->truth ? " or more" : "");
}

static void take_cell(struct strv *cells, struct str *cell)
{
	strv_take(cells, str_detach(cell));
}

static void add_row(struct strv *cells, const struct value *row)
{
	struct str cell = STR_INIT;
	int64_t disk = value_int_of(row, "disk_bytes");

	strv_add(cells, value_get_text(row, "name"));
	strv_add(cells, value_get_text(row, "state"));
	op_add_changes(&cell, row);
	take_cell(cells, &cell);
	strv_addf(cells, "%lld", (long long)value_int_of(row, "snapshots"));
	words_add_age(&cell, words_moment(row, "created"));
	take_cell(cells, &cell);
	words_add_size(&cell, disk);
	take_cell(cells, &cell);
	words_add_path(&cell, value_get_text(row, "base") ? value_get_text(row, "base") : "");
	if (value_get_text(row, "expires")) {
		str_add(&cell, " (");
		words_add_left(&cell, words_moment(row, "expires"));
		str_add_char(&cell, ')');
	}
	take_cell(cells, &cell);
}

/* A program that calls gets to see its own only. */
static void drop_others(const char *owner_seen, struct value *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->many.count; i++) {
		const char *owner = value_get_text(list->many.items[i], "owner");

		if (owner && strcmp(owner, owner_seen) == 0)
			list->many.items[kept++] = list->many.items[i];
		else
			value_free(list->many.items[i]);
	}
	list->many.count = kept;
}

int op_ls_run(struct op_call *call, struct error *err)
{
	static const char *const titles[COLUMNS] = { "NAME",	"STATE", "CHANGES", "SNAPS",
						     "CREATED", "DISK",	 "BASE" };
	owned(strv_done) struct strv cells = STRV_INIT;

	if (op_want_words(call, 0, 0, err) < 0 || app_list(&call->answer, err) < 0)
		return -1;
	if (op_sees(call))
		drop_others(op_sees(call), call->answer);
	if (call->answer->many.count == 0) {
		str_add(&call->text, "no sandboxes (aisbx create NAME makes one)\n");
		return 0;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		strv_add(&cells, titles[i]);
	for (size_t i = 0; i < call->answer->many.count; i++)
		add_row(&cells, call->answer->many.items[i]);
	words_add_table(&call->text, &cells, COLUMNS);
	return 0;
}
