/* SPDX-License-Identifier: Apache-2.0 */
/* One text through the scanner: parse, follow, judge, patterns; and texts within texts. */
#include "scan/scan.h"

#include "base/core/own.h"
#include "scan/judge/command.h"
#include "scan/judge/job.h"

#include <stdlib.h>
#include <string.h>

/* So many matches of one pattern in one text are reported. */
#define MATCHES_MAX 50u

bool scan_is_built(void)
{
	return syntax_is_built;
}

static void find_lines(struct scan_job *job)
{
	const char *text = job->text->bytes, *end = text + job->text->len, *at = text;
	size_t capacity = 64;

	job->lines = xcalloc(capacity, sizeof(*job->lines));
	job->line_count = 1;
	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		if (job->line_count == capacity) {
			capacity *= 2;
			job->lines = xrealloc(job->lines, capacity, sizeof(*job->lines));
		}
		job->lines[job->line_count++] = (uint32_t)(++at - text);
	}
}

/* Of a text within a text only its weight counts: the program that holds it was read to its end. */
static void refuse(struct scan_job *job, uint32_t at, const char *why)
{
	job->report->has_unread = true;
	if (job->outer) {
		job_find(job, at, RULE_NOT_ANALYSABLE, SEVERITY_MEDIUM, why);
		return;
	}
	job->report->is_analysable = false;
	job_find(job, at, RULE_NOT_ANALYSABLE, SEVERITY_HIGH, why);
	/* Whatever the policy, it is never called clean. */
	if (job->report->risk < SEVERITY_HIGH)
		job->report->risk = SEVERITY_HIGH;
}

bool job_spend(struct scan_job *job, size_t bytes)
{
	if (job->common->words <= JOB_WORDS_MAX)
		job->common->words += bytes;
	return job->common->words <= JOB_WORDS_MAX;
}

static void visit(struct follow *follow, uint32_t node)
{
	judge_node(follow->cookie, node);
}

static void follow_and_judge(struct scan_job *job)
{
	owned(follow_done) struct follow follow;

	follow_init(&follow, job->syntax, job->language);
	follow.visit = visit;
	follow.cookie = job;
	job->follow = &follow;
	follow_run(&follow);
	judge_whole(job);
	if (follow.all.is_full || !job_spend(job, 0))
		refuse(job, 0, "too much to follow");
	job->follow = NULL;
}

/* Where the text is code, and where it is a comment or a literal, for patterns. */
struct places {
	const struct syntax *syntax;
	uint32_t at; /* a node at or before the byte asked about: bytes are asked about in order */
	enum policy_place wanted;
};

static bool is_literal(uint32_t kind)
{
	return kind == NODE_STRING || kind == NODE_RAW_STRING || kind == NODE_ANSI_STRING ||
	       kind == NODE_TEMPLATE || kind == NODE_HEREDOC_BODY;
}

static bool may_begin(size_t at, void *cookie)
{
	struct places *places = cookie;
	const struct syntax_node *nodes = places->syntax->nodes;
	uint32_t inner;

	while (places->at + 1 < places->syntax->count && nodes[places->at + 1].start <= at)
		places->at++;
	for (inner = places->at; inner != SYNTAX_NONE; inner = nodes[inner].parent) {
		if (nodes[inner].end <= at)
			continue;
		if (nodes[inner].kind == NODE_COMMENT)
			return places->wanted == PLACE_ANYWHERE;
		if (is_literal(nodes[inner].kind))
			return places->wanted != PLACE_CODE;
		/* Something is put into a literal there: code again. */
		if (nodes[inner].kind == NODE_INTERPOLATION ||
		    nodes[inner].kind == NODE_COMMAND_SUBSTITUTION)
			break;
	}
	return places->wanted != PLACE_STRINGS;
}

static void match_entry(struct scan_job *job, const struct policy_entry *entry)
{
	size_t from = 0;

	for (unsigned i = 0; i < MATCHES_MAX && from <= job->text->len; i++) {
		struct places places = { .syntax = job->syntax, .wanted = entry->place };
		long at = pattern_find(entry->pattern, job->text->bytes, job->text->len, from,
				       job->syntax->count ? may_begin : NULL, &places);
		const char *line_end;

		if (at < 0)
			return;
		job_find_entry(job, (uint32_t)at, RULE_FORBIDDEN_PATTERN, entry, entry->text);
		/* Once a line: a second match in the same line adds nothing. */
		line_end = memchr(job->text->bytes + at, '\n', job->text->len - (size_t)at);
		if (!line_end)
			return;
		from = (size_t)(line_end - job->text->bytes) + 1;
	}
}

static void match_patterns(struct scan_job *job)
{
	const struct policy_entries *entries =
		&job->policy->languages[job->language].forbidden[LIST_PATTERNS];

	for (size_t i = 0; i < entries->count; i++)
		match_entry(job, &entries->items[i]);
}

static int parse(struct scan_job *job, struct syntax *ret_syntax, struct error *err)
{
	const struct scan_text *text = job->text;

	if (!syntax_is_built)
		return syntax_parse(job->language, text->bytes, text->len, ret_syntax, err);
	return parser_parse(&job->report->parser, job->language, text->bytes, text->len, ret_syntax,
			    err);
}

/* 0, or -1 when there is no scanner. */
static int run(struct scan_job *job, struct error *err)
{
	owned(syntax_done) struct syntax syntax = { 0 };
	struct error why = { .code = ERROR_NONE };
	const char *nul = memchr(job->text->bytes, '\0', job->text->len);

	/* To the parsers it is the end of the text, again and again. */
	if (nul && syntax_is_built) {
		refuse(job, (uint32_t)(nul - job->text->bytes), "there is a NUL byte in it");
		return 0;
	}
	if (parse(job, &syntax, &why) < 0) {
		if (why.code != ERROR_INPUT) {
			*err = why;
			return -1;
		}
		refuse(job, 0, why.text);
		return 0;
	}
	job->syntax = &syntax;
	if (syntax.is_broken)
		refuse(job, syntax.broken_at, "the text is broken here");
	if (job->language == SCAN_SHELL) {
		if (!judge_shell(job))
			refuse(job, 0, "too much to follow");
		judge_whole(job);
	} else {
		follow_and_judge(job);
	}
	match_patterns(job);
	job->syntax = NULL;
	return 0;
}

int scan_text(const struct scan_text *text, const struct scan_policy *policy,
	      struct scan_report *report, struct error *err)
{
	struct job_common common = { .directory = STR_INIT };
	struct scan_job job = {
		.text = text, .policy = policy, .report = report, .common = &common
	};
	int status;

	job.language = text->language != SCAN_UNKNOWN
			       ? text->language
			       : scan_language_of(text->name, text->bytes, text->len);
	if (job.language == SCAN_UNKNOWN) {
		scan_report_refuse(report, policy, text->name, "its language is not known");
		return 0;
	}
	report->texts++;
	find_lines(&job);
	status = run(&job, err);
	free(job.lines);
	str_done(&common.directory);
	return status;
}

void scan_command(const struct strv *words, const struct scan_policy *policy,
		  struct scan_report *report)
{
	const struct scan_text text = { .name = "the command",
					.bytes = "",
					.language = SCAN_SHELL };
	struct job_common common = { .directory = STR_INIT };
	struct scan_job job = { .text = &text,
				.language = SCAN_SHELL,
				.policy = policy,
				.report = report,
				.common = &common };

	report->texts++;
	find_lines(&job);
	judge_command(&job, 0, words);
	judge_whole(&job);
	free(job.lines);
	str_done(&common.directory);
}

/* 0, or -1 with the words why there is too much of it. */
static int count_nested(struct scan_job *job, size_t len, const char **ret_why)
{
	job->common->nested_bytes += len;
	if (job->common->nested++ >= JOB_NESTED_MAX ||
	    job->common->nested_bytes > JOB_NESTED_BYTES_MAX)
		*ret_why = "too much code in code";
	else if (job->depth + 1 > JOB_DEPTH_MAX)
		*ret_why = "code in code in code";
	else
		return 0;
	return -1;
}

enum scan_severity job_nested(struct scan_job *job, uint32_t at, enum scan_language language,
			      const char *text, size_t len)
{
	const struct scan_text inner_text = { .name = job->text->name, .bytes = text, .len = len };
	struct scan_job inner = { .text = &inner_text,
				  .language = language,
				  .policy = job->policy,
				  .report = job->report,
				  .outer = job,
				  .outer_at = at,
				  .depth = job->depth + 1,
				  .common = job->common };
	struct error ignored;
	const char *why;

	inner.given = job->common->given;
	job->common->given = NULL;
	if (count_nested(job, len, &why) < 0) {
		refuse(job, at, why);
		return SEVERITY_HIGH;
	}
	(void)run(&inner, &ignored);
	job->traits |= inner.traits;
	if (inner.worst > job->worst)
		job->worst = inner.worst;
	return inner.worst;
}

enum scan_severity job_probe(struct scan_job *job, enum scan_language language, const char *text,
			     size_t len)
{
	owned(scan_report_done) struct scan_report report;
	const struct scan_text probed = { .name = "", .bytes = text, .len = len };
	struct job_common common = { .directory = STR_INIT };
	struct scan_job inner = { .text = &probed,
				  .language = language,
				  .policy = job->policy,
				  .report = &report,
				  .outer = job,
				  .depth = job->depth + 1,
				  .common = &common };
	struct error ignored;
	const char *why;

	scan_report_init(&report);
	if (count_nested(job, len, &why) < 0)
		return SEVERITY_NONE;
	common.nested = job->common->nested;
	common.nested_bytes = job->common->nested_bytes;
	common.words = job->common->words;
	/* The parser's process is lent. */
	report.parser = job->report->parser;
	(void)run(&inner, &ignored);
	job->report->parser = report.parser;
	report.parser = (struct parser)PARSER_INIT;
	job->common->nested = common.nested;
	job->common->nested_bytes = common.nested_bytes;
	job->common->words = common.words;
	str_done(&common.directory);
	return inner.worst;
}
