/* SPDX-License-Identifier: Apache-2.0 */
/* `diff`: what a sandbox changed, as a patch, a histogram, a list of names or objects. */
#include "app/change/workspace.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "ops/rows/rows.h"
#include "ops/text/fold.h"
#include "ops/text/words.h"

#include <string.h>

/* Enough to be worth handing on before the rest is known. */
#define PASS_ON_BYTES (256u << 10)

static int add_text(void *cookie, const char *bytes, size_t len, struct error *err)
{
	(void)err;
	str_add_bytes(cookie, bytes, len);
	return 0;
}

static void report_outcome(struct op_call *call, const char *sandbox,
			   const struct diff_outcome *outcome)
{
	if (outcome->is_partial)
		str_addf(&call->notes, "%s: this is a part\n", outcome->why_partial);
	if (outcome->stale > 0)
		str_addf(&call->notes,
			 "%zu of these files %s changed on the host since, too, and %s shown "
			 "against "
			 "that (aisbx status %s)\n",
			 outcome->stale, outcome->stale == 1 ? "was" : "were",
			 outcome->stale == 1 ? "is" : "are", sandbox);
}

/* A patch as data: {"patch":TEXT}, with "note" where there is something to note; what is not UTF-8 in it is replaced. */
static int diff_as_text(struct op_call *call, struct app_diff *diff, bool *ret_differs,
			struct error *err)
{
	owned(str_done) struct str patch = STR_INIT;
	struct diff_outcome outcome = { .differs = false };
	struct json json;

	diff->sink = (struct patch_sink){ .add = add_text, .cookie = &patch };
	diff->is_shown = true;
	if (app_diff(diff, &outcome, err) < 0)
		return -1;
	json_init(&json, &call->data);
	json_open(&json, '{');
	json_key(&json, "patch");
	json_bytes(&json, patch.data, patch.len);
	report_outcome(call, diff->sandbox, &outcome);
	if (call->notes.len > 0) {
		json_key(&json, "note");
		json_text(&json, str_cstr(&call->notes));
	}
	json_close(&json, '}');
	str_add_char(&call->data, '\n');
	*ret_differs = outcome.differs;
	return 0;
}

static int add_bytes(void *cookie, const char *bytes, size_t len, struct error *err)
{
	struct op_call *call = cookie;
	struct str *out = call->json ? &call->data : &call->text;

	str_add_bytes(out, bytes, len);
	return call->pass_on && out->len >= PASS_ON_BYTES ? call->pass_on(call, err) : 0;
}

int op_diff(struct op_call *call, struct app_diff *diff, bool *ret_differs, struct error *err)
{
	struct diff_outcome outcome = { .differs = false };

	diff->sink = (struct patch_sink){ .add = add_bytes, .cookie = call };
	diff->is_shown = true;
	if (app_diff(diff, &outcome, err) < 0)
		return -1;
	*ret_differs = outcome.differs;
	report_outcome(call, diff->sandbox, &outcome);
	return 0;
}

/* The names of PATCH_NAME_STATUS with NULs: a letter, the old name of what was renamed, the name. */
static void read_names(const struct str *text, struct strv *ret_paths)
{
	for (const char *at = str_cstr(text), *end = at + text->len; at < end;
	     at += strlen(at) + 1) {
		if (at[0] == 'R' && !at[1])
			at += strlen(at) + 1;
		at += strlen(at) + 1;
		strv_take(ret_paths, xstrndup(at, strlen(at) - str_ends(at, "/")));
	}
}

/* Of a histogram: its remarks, such as what promotion asks about, and its last line, the sum. */
struct summary {
	struct str remarks, sum;
	size_t count;
};

static void summary_done(struct summary *summary)
{
	str_done(&summary->remarks);
	str_done(&summary->sum);
}

static void read_summary(const struct str *text, struct summary *summary)
{
	const char *bytes = str_cstr(text);

	for (size_t at = 0, line; at < text->len; at += line) {
		const char *end = memchr(bytes + at, '\n', text->len - at);

		line = end ? (size_t)(end - bytes) + 1 - at : text->len - at;
		if (bytes[at] != '#') {
			str_clear(&summary->sum);
			str_add_bytes(&summary->sum, bytes + at, line);
		} else if (summary->count++ < FOLD_LINES) {
			str_add_bytes(&summary->remarks, bytes + at, line);
		}
	}
}

int op_diff_short(struct op_call *call, const struct app_diff *diff, bool with_names,
		  bool *ret_differs, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	owned(summary_done) struct summary summary = { .count = 0 };
	owned(str_done) struct str text = STR_INIT;
	struct diff_outcome outcome = { .differs = false };
	struct app_diff names = *diff, stat = *diff;

	names.form = PATCH_NAME_STATUS;
	stat.form = PATCH_STAT;
	names.nul = true;
	names.is_shown = stat.is_shown = true;
	names.sink = stat.sink = (struct patch_sink){ .add = add_text, .cookie = &text };
	if (app_diff(&names, &outcome, err) < 0)
		return -1;
	read_names(&text, &paths);
	str_clear(&text);
	names.nul = false;
	*ret_differs = outcome.differs;
	if (paths.count <= FOLD_LINES || op_arg_switch(call, "all"))
		return (with_names && op_diff(call, &names, ret_differs, err) < 0) ||
				       (*ret_differs && op_diff(call, &stat, ret_differs, err) < 0)
			       ? -1
			       : 0;
	if (app_diff(&stat, &outcome, err) < 0)
		return -1;
	read_summary(&text, &summary);
	fold_add_paths(&call->text, &paths, FOLD_LINES, NULL);
	str_add(&call->text, str_cstr(&summary.remarks));
	if (summary.count > FOLD_LINES)
		str_addf(&call->text, "# and %zu more of these\n", summary.count - FOLD_LINES);
	str_add(&call->text, str_cstr(&summary.sum));
	report_outcome(call, diff->sandbox, &outcome);
	return 0;
}

/* Which form was asked for; one at most, but that the histogram can be had as data. */
static int read_form(const struct op_call *call, enum patch_form *ret_form, struct error *err)
{
	static const struct {
		const char *name;
		enum patch_form form;
	} forms[] = {
		{ "stat", PATCH_STAT },
		{ "name-status", PATCH_NAME_STATUS },
		{ "patch", PATCH_UNIFIED },
		{ "json", PATCH_JSON },
	};
	const char *chosen = NULL;

	if (op_arg_switch(call, "patch") && call->json && !op_arg_switch(call, "stat") &&
	    !op_arg_switch(call, "name-status")) {
		*ret_form = PATCH_UNIFIED;
		return 0;
	}
	if (op_arg_switch(call, "stat") && call->json) {
		*ret_form = PATCH_COUNTS;
		return 0;
	}
	*ret_form = PATCH_UNIFIED;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!op_arg_switch(call, forms[i].name))
			continue;
		if (chosen)
			return error_set(err, ERROR_USAGE, "--%s and --%s: one form at a time",
					 chosen, forms[i].name);
		chosen = forms[i].name;
		*ret_form = forms[i].form;
	}
	return 0;
}

int op_diff_run(struct op_call *call, struct error *err)
{
	struct app_diff diff = { .nul = op_arg_switch(call, "nul") };
	owned(free_ptr) char *path = NULL;
	bool differs = false;

	if (op_want_words(call, 1, 2, err) < 0 || read_form(call, &diff.form, err) < 0)
		return -1;
	if (diff.nul && diff.form != PATCH_NAME_STATUS)
		return error_set(err, ERROR_USAGE, "-z goes with --name-status");
	diff.sandbox = call->words.items[0];
	diff.range = call->words.count > 1 ? call->words.items[1] : NULL;
	path = op_arg_text(call, "path") ? words_read_path(op_arg_text(call, "path")) : NULL;
	diff.path = path ? path : op_arg_text(call, "path");
	call->is_patch = diff.form == PATCH_UNIFIED;
	call->is_raw = op_arg_switch(call, "raw");
	if ((diff.form == PATCH_STAT	    ? op_diff_short(call, &diff, false, &differs, err)
	     : call->json && call->is_patch ? diff_as_text(call, &diff, &differs, err)
					    : op_diff(call, &diff, &differs, err)) < 0)
		return -1;
	call->exit_status = differs && op_arg_switch(call, "exit-code") ? 1 : 0;
	return 0;
}
