/* SPDX-License-Identifier: Apache-2.0 */
/* One use of a function the scanner knows. Private to the scanner's judgements. */
#ifndef SCAN_JUDGE_H
#define SCAN_JUDGE_H

#include "scan/follow/functions.h"
#include "scan/judge/job.h"

/* So many arguments are looked at; programs with more are not written by people. */
#define USE_ARGUMENTS_MAX 64u

struct use {
	struct scan_job *job;
	uint32_t node; /* the call */
	uint32_t at;   /* where it is reported */
	const struct function_row *row;
	const char *path;
};

/* What the function and its arguments come to. */
void judge_use(const struct use *use);

/* The argument at POSITION, and the text it is; a finding about the function. */
uint32_t use_argument(const struct use *use, unsigned position);
const struct abstract_value *use_text(const struct use *use, unsigned position);
void use_report(const struct use *use, enum scan_rule rule, enum scan_severity severity);
/* An option KEY among the call's arguments that is not false. */
bool use_has_option(const struct use *use, const char *key);

/* Notes that a program reads its own text. */
void judge_own_text(const struct use *use);
/* Whether a call stands in a loop that has no end and never waits. */
bool judge_goes_on(const struct scan_job *job, uint32_t node);

/* USE_MOVE, USE_NAMED, USE_UNPICKLE. */
void judge_move(const struct use *use);
void judge_named(const struct use *use);
void judge_unpickle(const struct use *use);
/* open(...).close(): whether nothing else is done with what was opened. */
bool judge_is_closed_at_once(const struct use *use);
/* Whether the node stands in a loop of its own function. */
bool judge_is_in_loop(const struct scan_job *job, uint32_t node);
/* A call of something that is not known, by a method's name or by SQL that it is given. */
void judge_store_call(struct scan_job *job, uint32_t call, uint32_t callee);

/* TEXT, which may be NULL, is deleted or written by the function. */
void judge_deletion(const struct use *use, const struct abstract_value *text, bool is_tree);
void judge_writing(const struct use *use, const struct abstract_value *text);
/* Adds the words that NODE, a text or a list of them, is; what is not known is a gap. */
void judge_add_words(const struct use *use, uint32_t node, struct strv *words);
/* USE_SHELL, USE_ARGV, USE_WORDS. */
void judge_shell_text(const struct use *use);
void judge_argv(const struct use *use);
void judge_words(const struct use *use);

/* Whether there is a text, and all of it is known. */
bool judge_is_known(const struct abstract_value *text);

/* USE_URL, USE_SEND, USE_LOOKUP, USE_LISTEN. */
void judge_url(const struct use *use);
void judge_method(const struct use *use);
/* "./languages/" + name: a file beside the program. */
bool judge_is_local_module(const struct abstract_value *name);
void judge_connect(const struct use *use);
void judge_send(const struct use *use);
void judge_lookup(const struct use *use);
void judge_listen(const struct use *use);

/* Whether something at or below NODE is a thing that should stay here: the environment, cookies. */
bool judge_gives_away(const struct scan_job *job, uint32_t node);

/* Whether there is code in a page's text. */
bool judge_has_script(const char *text);

/* The bytes of a node, bounded; the caller's to free. */
char *judge_source(const struct scan_job *job, uint32_t node);
/* The name behind the last dot or between the last brackets; SYNTAX_NONE when there is none. */
uint32_t judge_last_name(const struct scan_job *job, uint32_t node);
/* Whether the policy has nothing against a function. */
bool judge_is_allowed(const struct scan_job *job, const char *path);

/*
 * How grave it is to hand a function over, with what stands beside it from FIRST on: cleanup(shutil.rmtree, folder) is
 * what tests do; reduce(getattr, ...) reaches whatever the names say.
 */
enum scan_severity judge_severity_of_passed(const struct scan_job *job,
					    const struct function_row *row, uint32_t first);

/* A text put together that is a name to be afraid of; a member that only the run knows; a function kept for later. */
void judge_built_text(struct scan_job *job, uint32_t node);
void judge_unknown_key(struct scan_job *job, uint32_t node);
void judge_kept(struct scan_job *job, uint32_t node);
/* A call of something that is not known. */
void judge_unknown_call(struct scan_job *job, uint32_t call, uint32_t callee);

/* Whether a member belongs to the interpreter's insides: __globals__. */
bool judge_is_internal(const char *member);

#endif
