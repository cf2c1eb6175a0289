/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner: source text and a policy in, findings and a risk out.
 *
 *   text ──syntax──> flat tree ──follow──> what names and texts mean ──judge──> findings ──policy──> report
 *
 * Nothing is run and no file is opened. A text that cannot be read to its end is not analysable and its risk is high.
 */
#ifndef SCAN_SCAN_H
#define SCAN_SCAN_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"
#include "scan/syntax/language.h"
#include "scan/syntax/parser.h"
#include "scan/rule.h"

#include <stdbool.h>
#include <stdint.h>

#define SCAN_MAX_FINDINGS 1000u

struct scan_finding {
	char *file; /* as the caller named the text */
	enum scan_language language;
	enum scan_rule rule;
	enum scan_severity severity;
	uint32_t line, column; /* from 1; columns are bytes */
	uint32_t units_column; /* the same in units of UTF-16, which SARIF counts in */
	char *message;
	char *hint;
};

/* A file that a shell's text would have run. */
struct scan_script {
	char *file; /* as the text names it, from the directory the text is in by then */
	enum scan_language language;
	bool is_program; /* the command itself: looked up on the PATH */
	bool is_sure;	 /* the text never left its directory */
};

#define SCAN_MAX_SCRIPTS 32u

enum scan_command_kind {
	COMMAND_RUNS,	/* a program and its words */
	COMMAND_WRITES, /* a place that a redirection writes */
	COMMAND_READS,	/* likewise, reads */
};

/* A part of what a command, or the text it hands to a shell, comes to. */
struct scan_command {
	enum scan_command_kind kind;
	struct strv words;    /* SCAN_GAP for what only the run knows */
	struct strv starters; /* the programs in front that only start it: env, timeout */
	char *directory;      /* where the text has gone by cd; "": where it began */
	bool is_lost;	      /* it has gone to an unknown directory */
	bool is_privileged;
	bool is_wrapped; /* something stands in front that does more than start it, or sets variables for it */
};

#define SCAN_GAP '\x01'
#define SCAN_MAX_COMMANDS 1000u

/* What came of one or more texts. */
struct scan_report {
	struct scan_finding *findings;
	size_t count;
	size_t beyond; /* findings that were not kept */
	bool is_analysable;
	enum scan_severity risk;
	struct strv imports; /* modules, in the order met, each once */
	struct strv skipped; /* files of unknown language that were not named */
	size_t texts;
	struct scan_script *scripts; /* each once, at most SCAN_MAX_SCRIPTS */
	size_t script_count;
	bool has_more_scripts; /* than are kept */
	bool keeps_commands;   /* set by the caller: wants what follows */
	struct scan_command *commands;
	size_t command_count;
	bool has_more_commands; /* than are kept */
	bool has_unread;	/* a text, or one within it, was not read to its end */
	bool sets_names; /* or calculates, or expands more than names: words may mean others than they say */
	struct parser parser;
};

struct scan_policy;

struct scan_text {
	const char *name; /* for findings */
	const char *bytes;
	size_t len;
	enum scan_language language; /* SCAN_UNKNOWN: decided by name and text */
};

void scan_report_init(struct scan_report *report);
void scan_report_done(struct scan_report *report);

/*
 * Adds what is found in TEXT. ERROR_DENIED when this build has no scanner; all else that is wrong with a text is a
 * finding.
 */
int scan_text(const struct scan_text *text, const struct scan_policy *policy,
	      struct scan_report *report, struct error *err);

/* Adds what a command's own words say; what it would run by them is among the scripts then. */
void scan_command(const struct strv *words, const struct scan_policy *policy,
		  struct scan_report *report);

/* Notes a file that would be run, too. */
void scan_report_script(struct scan_report *report, const struct scan_script *script);

/* Notes that NAME cannot be analysed, for what is not even a text. */
void scan_report_refuse(struct scan_report *report, const struct scan_policy *policy,
			const char *name, const char *why);

/* LANGUAGE.RULE; the caller owns it. */
char *scan_finding_rule(const struct scan_finding *finding);

/* {risk, analysable, findings, reasons, imports, skipped}; the caller owns it. */
struct value *scan_report_value(const struct scan_report *report);
/* SARIF 2.1.0. */
struct value *scan_report_sarif(const struct scan_report *report, const char *version);
/* Words for people. */
void scan_report_words(const struct scan_report *report, struct str *out);

/* Whether this build has the grammars. */
bool scan_is_built(void);

#endif
