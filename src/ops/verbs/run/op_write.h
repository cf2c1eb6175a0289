/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs with --write workspace share. */
#ifndef OPS_OP_WRITE_H
#define OPS_OP_WRITE_H

#include "app/change/write_through.h"
#include "ops/op.h"

/* Whether --write workspace was given; another word, or a program that asks, is refused. */
int op_write_wanted(const struct op_call *call, bool *ret_wanted, struct error *err);

/* Behind op_result: writes through what a command did in SANDBOX, and reports; *ret_waits: something is left. */
int op_write(struct op_call *call, const char *sandbox, const struct write_watch *watch,
	     bool *ret_waits, struct error *err);

#endif
