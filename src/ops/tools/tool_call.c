/* SPDX-License-Identifier: Apache-2.0 */
/* A tool's arguments into the call of its verb, and that call performed. */
#include "ops/tools/tool.h"

#include "base/core/id.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "app/sandbox/owner.h"
#include "app/vet/rego.h"
#include "ops/tools/tool_rows.h"
#include "ops/tools/tool_take.h"

#include <string.h>

#define SCRIPT_DIRECTORY "cd -- \"$1\" && shift && exec \"$@\""

const struct tool *tool_find(const char *name)
{
	for (const struct tool *const *at = tools; *at; at++) {
		if (strcmp((*at)->name, name) == 0)
			return *at;
	}
	return NULL;
}

const struct tool *tool_find_any(const char *name)
{
	for (const struct tool *const *at = unlisted_tools; *at; at++) {
		if (strcmp((*at)->name, name) == 0)
			return *at;
	}
	return tool_find(name);
}

void tool_call_init(struct tool_call *call, const struct tool *tool,
		    const struct op_ceiling *ceiling, const char *const *env)
{
	*call = (struct tool_call){ .tool = tool };
	op_call_init(&call->call, op_find(tool->verb), env);
	call->call.ceiling = ceiling;
	call->call.json = true;
	/* As --json was given; the first of the common ones. */
	op_arg_add(&call->call, op_common_params, "1");
}

void tool_call_done(struct tool_call *call)
{
	op_call_done(&call->call);
	strv_done(&call->sandboxes);
	strv_done(&call->execs);
	free(call->directory);
	str_done(&call->input);
	str_done(&call->arguments);
}

static const struct tool_arg *find_arg(const struct tool *tool, const char *name)
{
	for (const struct tool_arg *arg = tool->args; arg && arg->name; arg++) {
		if (strcmp(arg->name, name) == 0)
			return arg;
	}
	return NULL;
}

/* Which argument is meant: models write `name` for the sandbox as often as `sandbox`, and answers have both. */
static const struct tool_arg *meant_arg(const struct tool *tool, const char *name)
{
	const struct tool_arg *arg = find_arg(tool, name);

	return arg || strcmp(name, "name") != 0 ? arg : find_arg(tool, "sandbox");
}

/* A null stands for an argument that is left out. */
static const struct value *given(const struct value *arguments, const char *name)
{
	const struct value *item = arguments ? value_get(arguments, name) : NULL;

	return item && item->kind != VALUE_NULL ? item : NULL;
}

/* What was given for it, by either name; NULL for nothing. */
static const struct value *given_for(const struct tool *tool, const struct tool_arg *arg,
				     const struct value *arguments)
{
	const struct value *item = given(arguments, arg->name);

	return item || meant_arg(tool, "name") != arg ? item : given(arguments, "name");
}

static int unknown_argument(const struct tool *tool, const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, name);
	for (const struct tool_arg *arg = tool->args; arg && arg->name; arg++)
		suggest_try(&suggest, arg->name);
	error_set(err, ERROR_USAGE, "%s has no argument '%s'", tool->name, str_shown(name, shown));
	return suggest_add_hint(suggest.best, err);
}

/* Arguments that no row has are refused, and so is a missing one that a row requires. */
static int check_names(const struct tool *tool, const struct value *arguments, struct error *err)
{
	for (size_t i = 0; arguments && i < arguments->many.count; i++) {
		if (!meant_arg(tool, arguments->many.keys[i]))
			return unknown_argument(tool, arguments->many.keys[i], err);
	}
	if (!find_arg(tool, "name") && given(arguments, "name") && given(arguments, "sandbox"))
		return error_set(err, ERROR_USAGE, "%s: give sandbox or name, not both",
				 tool->name);
	for (const struct tool_arg *arg = tool->args; arg && arg->name; arg++) {
		if (arg->required && !given_for(tool, arg, arguments))
			return error_set(err, ERROR_USAGE, "%s needs the argument '%s'", tool->name,
					 arg->name);
	}
	return 0;
}

/* The command starts elsewhere: by a shell inside, so that nothing outside is ever looked at. */
static void start_in(struct op_call *call, const char *directory)
{
	struct strv command = call->command;

	call->command = (struct strv)STRV_INIT;
	strv_add_script(&call->command, SCRIPT_DIRECTORY);
	strv_add(&call->command, "sh");
	strv_add(&call->command, directory);
	strv_copy(&call->command, &command);
	strv_done(&command);
}

/* What a call has without being asked for: the ceiling's profile and workspace. */
static void add_ceiling(struct op_call *call)
{
	const struct op_ceiling *ceiling = call->ceiling;

	if (!ceiling)
		return;
	if (ceiling->profiles.words.count > 0 && !op_arg_text(call, "profile"))
		tool_add_param(call, "profile", ceiling->profiles.words.items[0]);
	if (ceiling->workspace)
		tool_add_param(call, "workspace", ceiling->workspace);
}

static int take_all(struct tool_call *call, const struct value *arguments, struct error *err)
{
	for (const struct tool_arg *arg = call->tool->args; arg && arg->name; arg++) {
		if (tool_take(call, arg, given_for(call->tool, arg, arguments), err) < 0)
			return -1;
	}
	return 0;
}

int tool_call_read(struct tool_call *call, const struct value *arguments, struct error *err)
{
	if (arguments && arguments->kind != VALUE_MAP)
		return error_set(err, ERROR_USAGE, "the arguments of %s are one object",
				 call->tool->name);
	if (check_names(call->tool, arguments, err) < 0)
		return -1;
	if (policy_may_exist() && arguments)
		json_write(&call->arguments, arguments, 0);
	if (call->tool->word)
		strv_add(&call->call.words, call->tool->word);
	if (call->tool->set)
		tool_add_param(&call->call, call->tool->set, "1");
	if (call->tool->flags & TOOL_WHOLE) {
		strv_add(&call->call.words, "-");
		call->has_input = true;
		if (arguments)
			json_write(&call->input, arguments, 0);
		else
			str_add(&call->input, "{}");
		return 0;
	}
	if (take_all(call, arguments, err) < 0)
		return -1;
	if (call->tool->flags & TOOL_EXAMPLE)
		strv_add(&call->call.command, "true");
	if (call->directory)
		start_in(&call->call, call->directory);
	add_ceiling(&call->call);
	return 0;
}

/* Lines of objects as one list. */
static int read_lines(const struct str *data, struct value **ret_list, struct error *err)
{
	owned(value_release) struct value *list = value_new_list();
	const struct json_limits limits = { .nul = true };
	const char *at = str_cstr(data);

	while (*at) {
		size_t len = strcspn(at, "\n");
		struct value *item;

		if (len > 0) {
			if (json_read(at, len, &limits, &item, err) < 0)
				return -1;
			value_append(list, item);
		}
		at += len + (at[len] == '\n');
	}
	*ret_list = ptr_take(&list);
	return 0;
}

/* Every answer is one object: lists get a name. */
static int shape(struct tool_call *call, struct error *err)
{
	struct op_call *op = &call->call;
	const char *key = call->tool->list;
	struct value *list = NULL, *whole;

	if (op->data.len > 0 && read_lines(&op->data, &list, err) < 0)
		return -1;
	if (list && !key && list->many.count == 1) {
		op->answer = list->many.items[0];
		list->many.count = 0;
		value_free(list);
		return 0;
	}
	if (!list && op->answer && op->answer->kind == VALUE_LIST)
		list = ptr_take(&op->answer);
	if (list || !op->answer) {
		whole = value_new_map();
		value_add(whole, key ? key : "items", list ? list : value_new_list());
		op->answer = whole;
	}
	return 0;
}

/* As if neither --json had been given nor the switch that goes with it. */
static int run_for_words(struct tool_call *call, struct error *err)
{
	struct op_call *op = &call->call;
	const char *set = call->tool->flags & TOOL_TOLD ? call->tool->set : NULL;

	op->json = false;
	for (size_t i = 0; i < op->arg_count; i++) {
		if (op->args[i].param == op_common_params ||
		    (set && strcmp(op->args[i].param->name, set) == 0))
			strv_done(&op->args[i].values);
	}
	return op->op->run(op, err);
}

/* Performed again for the text that people read. Only for verbs that change nothing. */
static void ask_for_words(struct tool_call *call)
{
	struct op_call *op = &call->call;
	struct value *answer = ptr_take(&op->answer);
	struct error ignored;

	str_clear(&op->text);
	if (run_for_words(call, &ignored) < 0)
		str_clear(&op->text);
	op->json = true;
	value_free(op->answer);
	op->answer = answer;
}

static int check_sandbox(const struct op_call *call, const char *sandbox, struct error *err)
{
	return app_ceiling_covers(&call->ceiling->profiles, sandbox, op_sees(call), call->environ,
				  err);
}

/* What the call reaches for is the caller's, and no more than the server may give. */
static int check_reach(const struct tool_call *call, struct error *err)
{
	const struct op_ceiling *ceiling = call->call.ceiling;
	const char *owner = op_sees(&call->call);

	if (!ceiling)
		return 0;
	if (app_ceiling_check(&ceiling->profiles, call->call.environ, err) < 0)
		return -1;
	for (size_t i = 0; i < call->sandboxes.count; i++) {
		if (check_sandbox(&call->call, call->sandboxes.items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < call->execs.count; i++) {
		owned(free_ptr) char *sandbox = NULL;

		if (app_owns_exec(call->execs.items[i], owner, &sandbox, err) < 0 ||
		    check_sandbox(&call->call, sandbox, err) < 0)
			return -1;
	}
	return 0;
}

/* The rules written as code, about this tool, its arguments and the agent that calls it. */
static int check_policy(const struct tool_call *call, struct error *err)
{
	const struct op_ceiling *ceiling = call->call.ceiling;
	const struct json_limits limits = { .nul = true };
	struct value *input, *mcp, *arguments = NULL;

	if (!policy_may_exist())
		return 0;
	if (call->arguments.len > 0 && json_read(str_cstr(&call->arguments), call->arguments.len,
						 &limits, &arguments, err) < 0)
		return -1;
	input = value_new_map();
	mcp = value_add(input, "mcp", value_new_map());
	value_add(mcp, "tool", value_new_text(call->tool->name));
	value_add(mcp, "arguments", arguments ? arguments : value_new_map());
	value_add(input, "agent", value_new_text(ceiling && ceiling->owner ? ceiling->owner : ""));
	return policy_call("mcp", input, call->call.policy_fd, err);
}

int tool_call_perform(struct tool_call *call, struct error *err)
{
	if (check_reach(call, err) < 0 || check_policy(call, err) < 0)
		return -1;
	int status = call->call.op->run(&call->call, err);

	/* A run that was refused has an answer as well. */
	if (status < 0 && call->call.data.len == 0)
		return -1;
	struct error unread;

	if (shape(call, status < 0 ? &unread : err) < 0 || status < 0)
		return -1;
	if (call->tool->flags & TOOL_TOLD)
		ask_for_words(call);
	return 0;
}

int tool_call_words(struct tool_call *call, struct error *err)
{
	return check_reach(call, err) < 0 || check_policy(call, err) < 0 ? -1
									 : run_for_words(call, err);
}
