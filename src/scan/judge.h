/* One use of a function the scanner knows. Private to the scanner's judgements. */
#ifndef SCAN_JUDGE_H
#define SCAN_JUDGE_H

#include "scan/functions.h"

struct use {
	struct scan_job *job;
	uint32_t node; /* the call */
	uint32_t at;   /* where it is told */
	const struct function_row *row;
	const char *path;
};

/* What the function and its arguments come to. */
void judge_use(const struct use *use);

/* The argument at POSITION, and the text it is; a finding about the function. */
uint32_t use_argument(const struct use *use, unsigned position);
const struct meaning *use_text(const struct use *use, unsigned position);
void use_tell(const struct use *use, enum scan_rule rule, enum scan_severity severity);
/* An option KEY among the call's arguments that is not false. */
bool use_has_option(const struct use *use, const char *key);

/* USE_URL, USE_SEND, USE_LOOKUP, USE_LISTEN. */
void judge_url(const struct use *use);
void judge_send(const struct use *use);
void judge_lookup(const struct use *use);
void judge_listen(const struct use *use);

/* Whether something at or below NODE is a thing that should stay here: the environment, cookies. */
bool judge_gives_away(const struct scan_job *job, uint32_t node);

/* Whether there is code in a page's text. */
bool judge_has_script(const char *text);

/* Whether a member belongs to the interpreter's insides: __globals__. */
bool judge_is_internal(const char *member);

#endif
