/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up verbs and arguments; the table itself keeps its own rules. */
#include "ops/op.h"
#include "tests/tap.h"

static const struct op_param params[] = {
	{ .name = "one", .metavar = "X", .help = "a text" },
	{ .name = "many", .kind = PARAM_LIST, .metavar = "X", .help = "a list" },
	{ .name = "yes", .kind = PARAM_SWITCH, .help = "a switch" },
	{ .name = NULL },
};

static void test_arguments(void)
{
	const struct op op = { .name = "x", .params = params };
	struct op_call call;

	op_call_init(&call, &op, NULL);
	tap_ok(!op_arg_text(&call, "one") && !op_arg_switch(&call, "yes") &&
		       !op_arg_list(&call, "many"),
	       "nothing is given at first");
	op_arg_add(&call, &params[0], "a");
	op_arg_add(&call, &params[0], "b");
	op_arg_add(&call, &params[1], "1");
	op_arg_add(&call, &params[1], "2");
	op_arg_add(&call, &params[2], "1");
	tap_is_str(op_arg_text(&call, "one"), "b", "the last value counts");
	tap_is_int((long long)op_arg_list(&call, "many")->count, 2, "a list keeps all");
	tap_ok(op_arg_switch(&call, "yes"), "a switch is on");
	op_call_done(&call);
	tap_ok(call.args == NULL, "nothing is left");
}

static void check_params(const struct op *op)
{
	for (const struct op_param *param = op->params; param && param->name; param++) {
		const struct setting_row *row =
			op->flags & OP_SETTINGS ? setting_find(param->name) : NULL;

		if (!param->help || (param->kind == PARAM_SWITCH) != (param->metavar == NULL) ||
		    (row && row->flag))
			tap_ok(false, "%s --%s is described and stands in one table only", op->name,
			       param->name);
	}
}

static void test_table(void)
{
	int good = 0, count = 0;

	for (const struct op *const *row = ops; *row; row++) {
		const struct op *op = *row;

		count++;
		good += op->usage && op->summary && op->group && op_find(op->name) == op &&
			op->summary[strlen(op->summary) - 1] != '.';
		check_params(op);
	}
	tap_is_int(good, count, "every verb has usage, group and a summary without a full stop");
	tap_ok(op_find("nonsense") == NULL, "an unknown verb is not found");
	tap_ok(op_find("run")->flags & OP_RUN_CODES, "run has the exit codes of run");
}

int main(void)
{
	test_arguments();
	test_table();
	return tap_done();
}
