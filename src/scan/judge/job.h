/* SPDX-License-Identifier: Apache-2.0 */
/* One text on its way through the scanner; what the scanner's files share. */
#ifndef SCAN_JOB_H
#define SCAN_JOB_H

#include "scan/follow/follow.h"
#include "scan/follow/functions.h"
#include "scan/follow/place.h"
#include "scan/judge/policy.h"
#include "scan/scan.h"
#include "scan/syntax/syntax.h"

/* Code in code in code: a shell in a Python text that starts Python. */
#define JOB_DEPTH_MAX 4u
/* So much of it in one text: each is parsed for itself, and time is bounded. */
#define JOB_NESTED_MAX 2000u
#define JOB_NESTED_BYTES_MAX ((size_t)4 << 20)
/* So many bytes are put in place of words, all in all: a variable of a few letters stands for much. */
#define JOB_WORDS_MAX ((size_t)64 << 20)

/* What a text and the texts within it share. */
struct job_common {
	unsigned nested; /* texts within it, so far */
	size_t nested_bytes;
	size_t words;	      /* bytes that words of commands became */
	struct str directory; /* where a shell's text has gone by cd; empty: where it began */
	bool has_moved;
	bool is_lost;		  /* by a cd whose directory is not known */
	unsigned moves;		  /* so many cd, in whatever shell */
	const struct strv *given; /* what the next shell text within is given: $0, $1, ... */
};

struct scan_job {
	const struct scan_text *text;
	enum scan_language language;
	const struct scan_policy *policy;
	struct scan_report *report;
	const struct syntax *syntax;
	struct follow *follow; /* not for shell */
	uint32_t *lines;       /* where each begins */
	size_t line_count;
	const struct scan_job *outer; /* this text stands in another one, */
	uint32_t outer_at;	      /* there */
	unsigned depth;
	const struct strv *given; /* of a shell's text: from $0 on; NULL: not known */
	struct job_common *common;
	unsigned traits;
	/* Modules that only start programs (job_exec_modules), as bits: loaded, and seen to be used. */
	unsigned loaded, reached;
	uint32_t loaded_at;
	enum scan_severity worst; /* of what was found in it */
};

/* Notes a finding at byte AT. WHAT (may be NULL) stands in front of the rule's message. */
void job_find(struct scan_job *job, uint32_t at, enum scan_rule rule, enum scan_severity severity,
	      const char *what);
/* As job_find, for an entry of the policy's lists. */
void job_find_entry(struct scan_job *job, uint32_t at, enum scan_rule rule,
		    const struct policy_entry *entry, const char *what);

/* Scans a text that JOB would run, in LANGUAGE; its findings stand at AT. The worst of them. */
enum scan_severity job_nested(struct scan_job *job, uint32_t at, enum scan_language language,
			      const char *text, size_t len);

/* The worst that would be found in such a text, which is only supposed to be one; nothing is reported. */
enum scan_severity job_probe(struct scan_job *job, enum scan_language language, const char *text,
			     size_t len);

/* Counts BYTES of work; false when there was so much that the rest is not followed, and the text not analysable. */
bool job_spend(struct scan_job *job, size_t bytes);

/* A shell's command may run a file, or go elsewhere. START: where the command itself begins in WORDS. */
void job_script(struct scan_job *job, const struct strv *words, size_t start);

/* Keeps a command, or the place of a redirection, for a caller that asked for them; START as for job_script. */
void job_keep_command(struct scan_job *job, const struct strv *words, size_t start);
void job_keep_place(struct scan_job *job, enum scan_command_kind kind, const char *place);

/* A module the text loads. */
/* The bit of the module that PATH begins with, of those that are there to start programs; 0. */
unsigned job_exec_modules(const char *path);
void job_import(struct scan_job *job, uint32_t at, const char *module);

/* Python and JavaScript: what is done with names. Called for each node that has ended. */
void judge_node(struct scan_job *job, uint32_t node);
/* What traits mean together. */
void judge_whole(struct scan_job *job);

/* The body of a literal: credentials, long encoded texts. */
void judge_literal(struct scan_job *job, uint32_t at, const char *text, size_t len, bool hides);
/* A constant given to the name NAME: password = "..." */
void judge_assigned(struct scan_job *job, uint32_t at, const char *name, size_t name_len,
		    const char *text, size_t len);

/* A shell text; false when there was too much of it to be followed. */
bool judge_shell(struct scan_job *job);

#endif
