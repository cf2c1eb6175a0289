/*
 * The scanner: source text and a policy in, findings and a risk out.
 *
 *   text ──syntax──> flat tree ──follow──> what names and texts mean ──judge──> findings ──policy──> report
 *
 * Nothing is run and no file is opened. A text that cannot be read to its end is not analysable and its risk is high.
 */
#ifndef SCAN_SCAN_H
#define SCAN_SCAN_H

#include "base/error.h"
#include "base/str.h"
#include "base/value.h"
#include "scan/language.h"
#include "scan/parser.h"
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
	char *message;
	char *hint;
};

/* What came of one or more texts. */
struct scan_report {
	struct scan_finding *findings;
	size_t count;
	size_t beyond; /* findings that were not kept */
	bool is_analysable;
	enum scan_severity risk;
	struct strv imports; /* modules, in the order met, each once */
	struct strv skipped; /* files of unknown language that nobody asked about */
	size_t texts;
	struct parser parser;
};

struct scan_policy;

struct scan_text {
	const char *name; /* for findings */
	const char *bytes;
	size_t len;
	enum scan_language language; /* SCAN_UNKNOWN: told from name and text */
};

void scan_report_init(struct scan_report *report);
void scan_report_done(struct scan_report *report);

/*
 * Adds what is found in TEXT. ERROR_DENIED when this build has no scanner; all else that is wrong with a text is a
 * finding.
 */
int scan_text(const struct scan_text *text, const struct scan_policy *policy,
	      struct scan_report *report, struct error *err);

/* Notes that NAME cannot be analysed, for what is not even a text. */
void scan_report_refuse(struct scan_report *report, const struct scan_policy *policy,
			const char *name, const char *why);

/* {risk, analysable, findings, reasons, imports, skipped}; the caller owns it. */
struct value *scan_report_value(const struct scan_report *report);
/* SARIF 2.1.0. */
struct value *scan_report_sarif(const struct scan_report *report, const char *version);
/* Words for people. */
void scan_report_words(const struct scan_report *report, struct str *out);

/* Whether this build has the grammars. */
bool scan_is_built(void);

#endif
