/* SPDX-License-Identifier: Apache-2.0 */
/* `help` and the request behind run and plan: words, data, refusals. */
#include "ops/rows/rows.h"
#include "tests/tap.h"

static struct op_call call;
static struct error err;

static int help(const char *word)
{
	const struct op *op = op_find("help");

	op_call_done(&call);
	op_call_init(&call, op, NULL);
	if (word)
		strv_add(&call.words, word);
	return op->run(&call, &err);
}

static bool lines_fit(const char *text)
{
	for (; *text; text += *text == '\n') {
		size_t len = strcspn(text, "\n");

		if (len > 80)
			return false;
		text += len;
	}
	return true;
}

static void test_help(void)
{
	tap_ok(help(NULL) == 0 && strstr(call.text.data, "run "), "help lists the verbs");
	tap_ok(lines_fit(call.text.data), "in 80 columns");
	tap_ok(call.answer->kind == VALUE_LIST && call.answer->many.count > 5, "and as data");
	for (const struct op *const *row = ops; *row; row++) {
		const struct op *op = *row;

		if (help(op->name) < 0 || !strstr(call.text.data, op->summary) ||
		    !lines_fit(call.text.data) || value_get(call.answer, "flags")->many.count < 2)
			tap_ok(false, "help %s", op->name);
	}
	for (const struct help_topic *topic = help_topics; topic->name; topic++) {
		if (help(topic->name) < 0 || !lines_fit(call.text.data))
			tap_ok(false, "help %s", topic->name);
	}
	tap_ok(help("exit-code") < 0 && strstr(err.text, "did you mean exit-codes?"),
	       "the nearest topic");
	tap_ok(help("qqqqqqqqqqqqqq") < 0 && strstr(err.text, "aisbx help"), "nothing near");
	strv_add(&call.words, "one");
	strv_add(&call.words, "two");
	tap_ok(call.op->run(&call, &err) < 0, "two words are one too many");
}

static const struct op_param *param_of(const struct op *op, const char *name)
{
	for (const struct op_param *param = op->params; param->name; param++) {
		if (strcmp(param->name, name) == 0)
			return param;
	}
	tap_bail(name);
}

static int request_with(const char *name, const char *value, struct request *ret_request)
{
	const struct op *op = op_find("run");

	op_call_done(&call);
	op_call_init(&call, op, NULL);
	strv_add(&call.command, "true");
	if (name)
		op_arg_add(&call, param_of(op, name), value);
	request_init(ret_request);
	return op_request(&call, ret_request, &err);
}

static void test_request(void)
{
	struct request request;

	tap_ok(request_with("trace", "t", &request) == 0 && strcmp(request.trace_id, "t") == 0 &&
		       request.command.count == 1,
	       "flags and command make the request");
	request_done(&request);
	tap_ok(request_with("no-net", "1", &request) == 0 && strcmp(request.flags.net, "none") == 0,
	       "--no-net is --net none");
	request_done(&request);
	tap_ok(request_with("settings", "s.json", &request) == 0 &&
		       strcmp(request.settings_file, "s.json") == 0,
	       "a settings file goes along");
	request_done(&request);
	op_call_done(&call);
	op_call_init(&call, op_find("run"), NULL);
	op_arg_add(&call, param_of(call.op, "no-net"), "1");
	strv_add(&call.settings.allow, "a.example:443");
	tap_ok(op_request(&call, &request, &err) < 0 && err.code == ERROR_USAGE,
	       "--no-net and --allow contradict");
	strv_done(&call.settings.allow);
	call.settings.net = xstrdup("allow");
	tap_ok(op_request(&call, &request, &err) < 0, "--no-net and --net allow contradict");
}

int main(void)
{
	test_help();
	test_request();
	op_call_done(&call);
	return tap_done();
}
