/* SPDX-License-Identifier: Apache-2.0 */
/* What was found: kept once per rule and place, as data and as words. */
#include "base/core/own.h"
#include "scan/judge/job.h"

#include <stdlib.h>
#include <string.h>

void scan_report_init(struct scan_report *report)
{
	*report = (struct scan_report){ .is_analysable = true, .parser = PARSER_INIT };
}

static void finding_done(struct scan_finding *finding)
{
	free(finding->file);
	free(finding->message);
	free(finding->hint);
}

void scan_report_done(struct scan_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		finding_done(&report->findings[i]);
	free(report->findings);
	strv_done(&report->imports);
	strv_done(&report->skipped);
	for (size_t i = 0; i < report->script_count; i++)
		free(report->scripts[i].file);
	free(report->scripts);
	for (size_t i = 0; i < report->command_count; i++) {
		strv_done(&report->commands[i].words);
		strv_done(&report->commands[i].starters);
		free(report->commands[i].directory);
	}
	free(report->commands);
	parser_done(&report->parser);
	scan_report_init(report);
}

static bool is_known(const struct scan_report *report, const struct scan_finding *finding)
{
	for (size_t i = report->count; i > 0; i--) {
		const struct scan_finding *one = &report->findings[i - 1];

		if (one->line == finding->line && one->column == finding->column &&
		    one->rule == finding->rule && strcmp(one->file, finding->file) == 0 &&
		    strcmp(one->message, finding->message) == 0)
			return true;
	}
	return false;
}

/* A byte of the text that the report names: where in it the text within a text stands that JOB is about. */
static const struct scan_job *outermost(const struct scan_job *job, uint32_t *at)
{
	while (job->outer) {
		*at = job->outer_at;
		job = job->outer;
	}
	return job;
}

/* The line of a byte of the text, from 0, by bisection. */
static size_t line_of(const struct scan_job *job, uint32_t at)
{
	size_t low = 0, high = job->line_count;

	while (low + 1 < high) {
		size_t middle = (low + high) / 2;

		if (job->lines[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* How many units of UTF-16 the bytes are: what lies beyond the basic plane takes two. */
static uint32_t count_units(const char *text, size_t len)
{
	uint32_t units = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		units += (c & 0xc0) != 0x80 ? 1u : 0u;
		units += c >= 0xf0 ? 1u : 0u;
	}
	return units;
}

/*
 * Whether there is room for one of that severity. When all places are taken, the last of the least grave gives way: what
 * a text is full of must not crowd out the reason for the risk.
 */
static bool make_room(struct scan_report *report, enum scan_severity severity)
{
	size_t least = 0;

	if (report->count < SCAN_MAX_FINDINGS) {
		report->findings =
			xrealloc(report->findings, report->count + 1, sizeof(*report->findings));
		return true;
	}
	report->beyond++;
	for (size_t i = 1; i < report->count; i++)
		if (report->findings[i].severity <= report->findings[least].severity)
			least = i;
	if (report->findings[least].severity >= severity)
		return false;
	finding_done(&report->findings[least]);
	memmove(&report->findings[least], &report->findings[least + 1],
		(--report->count - least) * sizeof(*report->findings));
	return true;
}

/* Takes the finding's texts. */
static void keep(struct scan_job *job, uint32_t at, struct scan_finding *finding)
{
	struct scan_report *report = job->report;
	const struct scan_job *whole = outermost(job, &at);
	size_t line = line_of(whole, at);
	uint32_t start = whole->line_count ? whole->lines[line] : 0;

	finding->line = (uint32_t)line + 1;
	finding->column = at - start + 1;
	if (finding->severity > report->risk)
		report->risk = finding->severity;
	if (is_known(report, finding) || !make_room(report, finding->severity)) {
		finding_done(finding);
		return;
	}
	finding->units_column = 1 + count_units(whole->text->bytes + start, at - start);
	report->findings[report->count++] = *finding;
}

/* The words of WHAT that come from the text itself are shown bounded and without control bytes. */
static char *compose(const char *what, const char *message)
{
	char shown[STR_SHOWN_SIZE];

	if (!what)
		return xstrdup(message);
	return xasprintf("%s: %s", str_shown(what, shown), message);
}

static void find(struct scan_job *job, uint32_t at, enum scan_rule rule,
		 enum scan_severity severity, const struct policy_entry *entry, const char *what)
{
	const struct scan_rule_row *row = &scan_rules[rule];
	struct scan_finding finding = { .language = job->language, .rule = rule };

	severity = scan_policy_severity(job->policy, job->language, rule, severity);
	if (severity == SEVERITY_NONE)
		return;
	if (severity > job->worst)
		job->worst = severity;
	finding.severity = severity;
	finding.file = xstrdup(job->text->name);
	finding.message = compose(what, entry && entry->message ? entry->message : row->message);
	finding.hint = xstrdup(entry && entry->hint ? entry->hint : row->hint);
	keep(job, at, &finding);
}

void job_find(struct scan_job *job, uint32_t at, enum scan_rule rule, enum scan_severity severity,
	      const char *what)
{
	if (!job->policy->without_builtin || rule == RULE_NOT_ANALYSABLE)
		find(job, at, rule, severity, NULL, what);
}

void job_find_entry(struct scan_job *job, uint32_t at, enum scan_rule rule,
		    const struct policy_entry *entry, const char *what)
{
	enum scan_severity severity = entry->severity >= 0 ? (enum scan_severity)entry->severity
							   : scan_rules[rule].severity;

	find(job, at, rule, severity, entry, what);
}

void job_import(struct scan_job *job, uint32_t at, const char *module)
{
	const struct policy_entry *entry =
		scan_policy_forbids(job->policy, job->language, LIST_IMPORTS, module);

	if (!job->outer && job->report->imports.count < 1000 &&
	    !strv_has(&job->report->imports, module))
		strv_add(&job->report->imports, module);
	if (scan_policy_allows(job->policy, job->language, LIST_IMPORTS, module))
		return;
	if (entry)
		job_find_entry(job, at, RULE_FORBIDDEN_IMPORT, entry, module);
	if (str_starts(module, "http://") || str_starts(module, "https://") ||
	    str_starts(module, "data:"))
		job_find(job, at, RULE_DYNAMIC_IMPORT, SEVERITY_MEDIUM, module);
	if (job_exec_modules(module)) {
		job->loaded |= job_exec_modules(module);
		job->loaded_at = at;
	}
}

unsigned job_exec_modules(const char *path)
{
	static const char *const modules[] = { "subprocess", "child_process", "pty",
					       "pexpect",    "execa",	      "shelljs",
					       "cross-spawn" };

	path += str_starts(path, "asyncio.subprocess") ? strlen("asyncio.") : 0;
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		size_t len = strlen(modules[i]);

		if (strncmp(modules[i], path, len) == 0 && (!path[len] || path[len] == '.'))
			return 1u << i;
	}
	return 0;
}

void scan_report_refuse(struct scan_report *report, const struct scan_policy *policy,
			const char *name, const char *why)
{
	const struct scan_text text = { .name = name, .bytes = "" };
	struct scan_job job = {
		.text = &text, .language = SCAN_UNKNOWN, .policy = policy, .report = report
	};

	report->is_analysable = false;
	report->texts++;
	job_find(&job, 0, RULE_NOT_ANALYSABLE, SEVERITY_HIGH, why);
	if (report->risk < SEVERITY_HIGH)
		report->risk = SEVERITY_HIGH;
}

char *scan_finding_rule(const struct scan_finding *finding)
{
	return xasprintf("%s.%s", scan_language_name(finding->language),
			 scan_rules[finding->rule].name);
}

static struct value *finding_value(const struct scan_finding *finding)
{
	struct value *row = value_new_map();
	owned(free_ptr) char *rule = scan_finding_rule(finding);

	value_add(row, "file", value_new_text(finding->file));
	value_add(row, "line", value_new_int(finding->line));
	value_add(row, "column", value_new_int(finding->column));
	value_add(row, "rule", value_new_text(rule));
	value_add(row, "severity", value_new_text(scan_severity_name(finding->severity)));
	value_add(row, "message", value_new_text(finding->message));
	value_add(row, "hint", value_new_text(finding->hint));
	return row;
}

/* The findings that make the risk what it is, each rule once. */
static struct value *reasons(const struct scan_report *report)
{
	struct value *list = value_new_list();
	unsigned told[SCAN_RULES] = { 0 };

	for (size_t i = 0; i < report->count; i++) {
		const struct scan_finding *finding = &report->findings[i];
		owned(free_ptr) char *rule = NULL, *words = NULL;

		if (finding->severity != report->risk || told[finding->rule]++)
			continue;
		rule = scan_finding_rule(finding);
		words = xasprintf("%s, %s:%u: %s", rule, finding->file, finding->line,
				  finding->message);
		value_append(list, value_new_text(words));
	}
	return list;
}

struct value *scan_report_value(const struct scan_report *report)
{
	struct value *answer = value_new_map();
	struct value *findings = value_new_list();

	for (size_t i = 0; i < report->count; i++)
		value_append(findings, finding_value(&report->findings[i]));
	value_add(answer, "risk", value_new_text(scan_severity_name(report->risk)));
	value_add(answer, "analysable", value_new_bool(report->is_analysable));
	value_add(answer, "findings", findings);
	value_add(answer, "reasons", reasons(report));
	value_add(answer, "imports", value_from_strv(&report->imports));
	value_add(answer, "skipped", value_from_strv(&report->skipped));
	value_add(answer, "files", value_new_int((int64_t)report->texts));
	if (report->beyond)
		value_add(answer, "beyond", value_new_int((int64_t)report->beyond));
	return answer;
}

void scan_report_words(const struct scan_report *report, struct str *out)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct scan_finding *finding = &report->findings[i];
		owned(free_ptr) char *rule = scan_finding_rule(finding);

		str_addf(out, "%s:%u:%u: %s: %s [%s]\n", finding->file, finding->line,
			 finding->column, scan_severity_name(finding->severity), finding->message,
			 rule);
		str_addf(out, "    %s\n", finding->hint);
	}
	if (report->beyond)
		str_addf(out, "%zu more findings\n", report->beyond);
	for (size_t i = 0; i < report->skipped.count; i++)
		str_addf(out, "%s: not looked at, its language is not known\n",
			 report->skipped.items[i]);
	str_addf(out, "risk: %s%s\n", scan_severity_name(report->risk),
		 report->is_analysable ? "" : " (not analysable)");
}
