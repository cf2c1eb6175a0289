/*
 * The functions behind the rows of table.c, one per verb and file, and what several of them share.
 *
 * To add a verb: write src/ops/op_VERB.c with one function, declare it here, add its row to table.c or
 * to the rows file of its group, and its paragraph to man/aisbx.1 (tools/check-help insists).
 */
#ifndef OPS_ROWS_H
#define OPS_ROWS_H

#include "engine/engine.h"
#include "ops/op.h"

int op_run_run(struct op_call *call, struct error *err);
int op_plan_run(struct op_call *call, struct error *err);
int op_doctor_run(struct op_call *call, struct error *err);
int op_profile_run(struct op_call *call, struct error *err);
int op_bench_run(struct op_call *call, struct error *err);
int op_gc_run(struct op_call *call, struct error *err);
int op_version_run(struct op_call *call, struct error *err);
int op_help_run(struct op_call *call, struct error *err);

/*
 * What `run` and `plan` have in common: the call's flags and command as a request. On success the
 * caller owns *ret_request (request_done); it borrows the call's environ.
 */
int op_request(struct op_call *call, struct request *ret_request, struct error *err);

/* A topic of `help TOPIC`: words for people. */
struct help_topic {
	const char *name;
	const char *summary;
	const char *text;
};

/* Ended by a row without a name. */
extern const struct help_topic help_topics[];

/* A bash completion script made from the table. */
void help_completion(struct str *out);

#endif
