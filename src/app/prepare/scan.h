/* SPDX-License-Identifier: Apache-2.0 */
/* Scanning files and texts by a policy: what the verb `scan` asks for. Only in the program with libraries. */
#ifndef APP_SCAN_H
#define APP_SCAN_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>

struct app_scan {
	const struct strv *paths;   /* files, directories, "-" for the standard input */
	const char *content;	    /* a text instead of a path; NULL: none */
	const char *language;	    /* NULL: decided by name and text */
	const char *policy;	    /* a file; NULL: the user's scan.yaml, else the built-in one */
	const char *fail_on;	    /* a severity; NULL: the policy's, else medium */
	const char *const *environ; /* of the caller: where the user's configuration is */
};

struct app_scan_answer {
	struct value *report; /* {risk, analysable, findings, ...} */
	struct value *sarif;
	struct str words;
	bool fails; /* the risk is what was asked about, or more */
};

/* The answer is the caller's. ERROR_DENIED when this build has no scanner. */
int app_scan(const struct app_scan *scan, const char *version, struct app_scan_answer *ret_answer,
	     struct error *err);
void app_scan_answer_done(struct app_scan_answer *answer);

/* What a rule is about, as words; ERROR_NOT_FOUND names the nearest. NULL lists them all. */
int app_scan_explain(const char *rule, struct str *out, struct value **ret_answer,
		     struct error *err);

#endif
