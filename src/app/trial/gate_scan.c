/* SPDX-License-Identifier: Apache-2.0 */
/* The gates scan==clean and no-secrets: every changed file of the workspace looked at. */
#include "app/trial/gate_scan.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/config/scan_policy.h"
#include "app/change/secret_look.h"
#include "app/change/workspace_parts.h"
#include "scan/scan.h"
#include "scan/syntax/syntax.h"

#include <errno.h>
#include <string.h>

struct gate_scan {
	const struct view_stack *stack;
	const char *workspace;
	const struct scan_policy *policy;
	struct scan_report report;
};

static void gate_scan_done(struct gate_scan *scan)
{
	scan_report_done(&scan->report);
}

/* A program's first bytes distinguish an unknown language from none at all. */
static bool is_skipped(struct gate_scan *scan, const struct delta_entry *entry, const char *name,
		       const struct str *bytes)
{
	if (scan_language_of(name, str_cstr(bytes), bytes->len) != SCAN_UNKNOWN ||
	    (entry->new.st.st_mode & 0111))
		return false;
	if (scan->report.skipped.count < 100)
		strv_add(&scan->report.skipped, name);
	return true;
}

static int scan_entry(struct gate_scan *scan, const struct delta_entry *entry, struct error *err)
{
	const char *name = workspace_relative(entry->path, scan->workspace);
	owned(str_done) struct str bytes = STR_INIT;
	owned(fd_close) int fd = -1;
	struct scan_text text = { .name = name, .language = SCAN_UNKNOWN };

	if (!entry->new.exists || !S_ISREG(entry->new.st.st_mode))
		return 0;
	fd = delta_open_side(scan->stack, &entry->new);
	if (fd < 0 || fd_read_all(fd, SYNTAX_MAX_BYTES, &bytes) < 0) {
		/* Large data is no code, unless its name or its mode marks it as code. */
		if (fd >= 0 && errno == EFBIG && is_skipped(scan, entry, name, &bytes))
			return 0;
		scan_report_refuse(&scan->report, scan->policy, name,
				   fd >= 0 && errno == EFBIG ? "longer than 1 MiB"
							     : error_words(errno));
		return 0;
	}
	if (is_skipped(scan, entry, name, &bytes))
		return 0;
	text.bytes = str_cstr(&bytes);
	text.len = bytes.len;
	return scan_text(&text, scan->policy, &scan->report, err);
}

/* "3 files, risk none", or the first of the worst findings. */
static char *evidence(const struct scan_report *report)
{
	const struct scan_finding *worst = NULL;

	for (size_t i = 0; i < report->count && !worst; i++) {
		if (report->findings[i].severity == report->risk)
			worst = &report->findings[i];
	}
	return xasprintf("%zu file%s, risk %s%s%s%s%s%s%s", report->texts,
			 report->texts == 1 ? "" : "s", scan_severity_name(report->risk),
			 report->is_analysable ? "" : ", not analysable", worst ? ": " : "",
			 worst ? worst->file : "", worst ? ": " : "", worst ? worst->message : "",
			 report->skipped.count ? "; some of unknown language skipped" : "");
}

typedef int changes_reader(const struct sandbox *sandbox, const struct view_stack *stack,
			   const struct delta *delta, void *cookie, struct error *err);

/* Hands all that NAME changed in its workspace to READ. */
static int read_changes(const char *name, changes_reader *read, void *cookie, struct error *err)
{
	owned(free_ptr) char *sandbox = NULL, *snapshot = NULL;
	owned(opened_close) struct opened opened;
	struct delta delta = { .count = 0 };
	char why[DELTA_WHY_SIZE];
	struct view_stack stack;
	int status;

	opened_init(&opened);
	workspace_split_name(name, &sandbox, &snapshot);
	if (opened_open(&opened, sandbox, SANDBOX_SHARED, err) < 0 ||
	    app_view(&opened.sandbox, snapshot, &stack, err) < 0)
		return -1;
	const struct delta_options options = { .workspace = opened.sandbox.workspace,
					       .sandbox = &opened.sandbox,
					       .old_from = stack.count,
					       .renames = true,
					       .only_workspace = true };

	status = delta_read(&stack, &options, &delta, err);
	if (status == 0 && delta.is_partial)
		status = error_set(err, ERROR_DENIED, "%s: %s; nothing can be called clean", name,
				   delta_why_partial(&delta, options.workspace, why));
	else if (status == 0)
		status = read(&opened.sandbox, &stack, &delta, cookie, err);
	delta_done(&delta);
	view_close(&stack);
	return status;
}

static int scan_changes(const struct sandbox *sandbox, const struct view_stack *stack,
			const struct delta *delta, void *cookie, struct error *err)
{
	struct gate_scan *scan = cookie;

	scan->stack = stack;
	scan->workspace = sandbox->workspace;
	for (size_t i = 0; i < delta->count; i++) {
		if (scan_entry(scan, &delta->items[i], err) < 0)
			return -1;
	}
	return 0;
}

int gate_scan(const char *name, struct gate_verdict *ret_verdict, struct error *err)
{
	owned(scan_policy_done) struct scan_policy policy;
	owned(gate_scan_done) struct gate_scan scan = { .policy = &policy };

	scan_policy_init(&policy);
	scan_report_init(&scan.report);
	if (app_scan_policy(NULL, (const char *const *)environ, &policy, err) < 0 ||
	    read_changes(name, scan_changes, &scan, err) < 0)
		return -1;
	ret_verdict->holds = scan.report.is_analysable && scan.report.risk <= SEVERITY_LOW;
	free(ret_verdict->evidence);
	ret_verdict->evidence = evidence(&scan.report);
	return 0;
}

static int look_for_secrets(const struct sandbox *sandbox, const struct view_stack *stack,
			    const struct delta *delta, void *cookie, struct error *err)
{
	owned(secret_look_close) struct secret_look look = { 0 };
	struct gate_verdict *verdict = cookie;

	if (secret_look_open(sandbox, &look, err) < 0)
		return -1;
	verdict->holds = secret_look_delta(&look, stack, delta, err) == 0;
	if (!verdict->holds && err->code != ERROR_DENIED)
		return -1;
	free(verdict->evidence);
	verdict->evidence = verdict->holds ? xasprintf("%zu change%s", delta->count,
						       delta->count == 1 ? "" : "s")
					   : xstrndup(err->text, (size_t)error_said(err));
	return 0;
}

int gate_secrets(const char *name, struct gate_verdict *ret_verdict, struct error *err)
{
	return read_changes(name, look_for_secrets, ret_verdict, err);
}
