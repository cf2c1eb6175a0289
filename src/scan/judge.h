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

/* Whether a member belongs to the interpreter's insides: __globals__. */
bool judge_is_internal(const char *member);

#endif
