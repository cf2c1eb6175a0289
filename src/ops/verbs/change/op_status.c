/* SPDX-License-Identifier: Apache-2.0 */
/* `status`: how far a sandbox is behind the host, counted, aged, listed. */
#include "app/change/workspace.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

#define DRIFT_TOLD 20

/* "3 files you changed were also changed on the host, oldest 15 min ago; 41 others moved" */
static void add_summary(struct str *out, const struct value *answer)
{
	int64_t stale = value_int_of(answer, "stale"), drift = value_int_of(answer, "drift");
	uint64_t oldest = words_moment(answer, "oldest");
	const char *floor = value_is_true(answer, "partial") ? "at least " : "";

	if (stale == 0)
		str_add(out, "no file you changed was changed on the host");
	else
		str_addf(out, "%s%lld file%s you changed %s also changed on the host", floor,
			 (long long)stale, stale == 1 ? "" : "s", stale == 1 ? "was" : "were");
	if (oldest) {
		str_add(out, stale == 1 ? ", " : ", oldest ");
		words_add_age(out, oldest);
	}
	str_addf(out, "; %s%lld other%s moved\n", floor, (long long)drift, drift == 1 ? "" : "s");
}

static void add_file(struct str *out, const struct value *file)
{
	const char *kind = value_get_text(file, "kind");
	uint64_t changed = words_moment(file, "changed");

	str_addf(out, "  %-9s ", kind);
	words_add_path(out, value_get_text(file, "path"));
	if (changed) {
		str_add(out, "  (");
		words_add_age(out, changed);
		str_add(out, ")");
	}
	str_add_char(out, '\n');
}

static void add_drift(struct str *out, const struct value *answer)
{
	const struct value *drifted = value_get(answer, "drifted");
	int64_t all = value_int_of(answer, "drift");

	for (size_t i = 0; i < drifted->many.count && i < DRIFT_TOLD; i++) {
		str_add(out, "  moved     ");
		words_add_path(out, value_get_text(drifted->many.items[i], "path"));
		str_add_char(out, '\n');
	}
	if (all > DRIFT_TOLD)
		str_addf(out, "  ... and %lld more (--json lists the first 1000)\n",
			 (long long)all - DRIFT_TOLD);
}

int op_status_run(struct op_call *call, struct error *err)
{
	const struct value *files;
	const char *name;

	if (op_want_words(call, 1, 1, err) < 0 ||
	    app_status(call->words.items[0], &call->answer, err) < 0)
		return -1;
	name = call->words.items[0];
	add_summary(&call->text, call->answer);
	files = value_get(call->answer, "files");
	for (size_t i = 0; i < files->many.count; i++)
		add_file(&call->text, files->many.items[i]);
	add_drift(&call->text, call->answer);
	str_addf(&call->text, "%s took the host as base ", name);
	words_add_age(&call->text, words_moment(call->answer, "base_taken"));
	str_add_char(&call->text, '\n');
	if (files->many.count > 0)
		str_addf(&call->text,
			 "combine with the host: aisbx promote %s --strategy merge --dry-run\n",
			 name);
	if (value_is_true(call->answer, "clock_stepped"))
		str_add(&call->notes,
			"the machine's clock was set since: contents were compared, not times\n");
	return 0;
}
