/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages: made where a call is performed, sent where its client has asked for them. */
#include "front/mcp/log.h"

#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"

#include <string.h>

/* Of one call; the answer of a command that tries a port range has all of them again. */
#define MESSAGES_MAX 20

enum { LEVEL_INFO = 1, LEVEL_NOTICE, LEVEL_WARNING };

static const char *const names[MCP_QUIET] = { "debug", "info",	   "notice", "warning",
					      "error", "critical", "alert",  "emergency" };

unsigned log_level_find(const char *name)
{
	unsigned level = 0;

	while (level < MCP_QUIET && strcmp(names[level], name) != 0)
		level++;
	return level;
}

struct log {
	const struct tool_call *work;
	void (*emit)(const struct str *message);
	unsigned count;
};

static void copy_key(const struct value *from, const char *key, struct value *to)
{
	const char *text = from ? value_get_text(from, key) : NULL;

	if (text)
		value_set(to, key, value_new_text(text));
}

/* One message about EVENT; DATA is taken over. */
static void say(struct log *log, unsigned level, const char *event, struct value *data)
{
	owned(value_release) struct value *message = value_new_map();
	owned(str_done) struct str out = STR_INIT;

	value_set(data, "event", value_new_text(event));
	value_set(data, "tool", value_new_text(log->work->tool->name));
	copy_key(log->work->call.answer, "run_id", data);
	copy_key(log->work->call.answer, "sandbox", data);
	value_add(message, "level", value_new_int(level));
	value_add(message, "data", data);
	if (log->count++ >= MESSAGES_MAX)
		return;
	json_write(&out, message, 0);
	log->emit(&out);
}

static void say_denials(struct log *log, const struct value *denials)
{
	for (size_t i = 0; denials && denials->kind == VALUE_LIST && i < denials->many.count; i++) {
		const struct value *one = denials->many.items[i];
		struct value *data = value_new_map();

		copy_key(one, "layer", data);
		copy_key(one, "what", data);
		copy_key(one, "rule", data);
		copy_key(one, "hint", data);
		say(log, LEVEL_WARNING, "denied", data);
	}
}

/* A list of words under KEY, as one message when there are any. */
static void say_words(struct log *log, unsigned level, const char *key, const char *event)
{
	const struct value *answer = log->work->call.answer, *list = value_get(answer, key);
	struct value *data, *words;

	if (!list || list->kind != VALUE_LIST || list->many.count == 0)
		return;
	data = value_new_map();
	words = value_add(data, key, value_new_list());
	for (size_t i = 0; i < list->many.count; i++) {
		if (list->many.items[i]->kind == VALUE_TEXT)
			value_append(words, value_new_text(list->many.items[i]->text.bytes));
	}
	copy_key(answer, "status", data);
	say(log, level, event, data);
}

static void say_question(struct log *log)
{
	struct value *data = value_new_map();

	copy_key(log->work->call.answer, "request_id", data);
	copy_key(log->work->call.answer, "state", data);
	copy_key(log->work->call.answer, "bundle", data);
	say(log, LEVEL_NOTICE, "promotion request", data);
}

void log_call(const struct tool_call *work, int status, const struct error *err,
	      void (*emit)(const struct str *message))
{
	struct log log = { .work = work, .emit = emit };
	const struct value *answer = work->call.answer;

	if (status < 0) {
		struct value *data = value_new_map();

		value_add(data, "code", value_new_text(error_code_name(err->code)));
		value_add(data, "message", value_new_text(err->text));
		say(&log, LEVEL_WARNING, "refused", data);
	}
	if (!answer || answer->kind != VALUE_MAP)
		return;
	if (work->tool->flags & TOOL_RUNS) {
		say_denials(&log, value_get(answer, "denials"));
		say_words(&log, LEVEL_WARNING, "limits_hit", "limit hit");
		/* The same with every run of a user without a cgroup. */
		say_words(&log, LEVEL_INFO, "degraded", "degraded");
	}
	if (value_get_text(answer, "request_id"))
		say_question(&log);
}

void log_pass_on(const struct call *call, const char *bytes, size_t len)
{
	owned(value_release) struct value *message = NULL;
	owned(value_release) struct value *params = NULL;
	owned(str_done) struct str out = STR_INIT;
	struct error ignored;
	int64_t level;

	if (!call->channel || call->is_answered ||
	    json_read(bytes, len, NULL, &message, &ignored) < 0)
		return;
	level = value_int_of(message, "level");
	if (level < (int64_t)call->log_level || level >= MCP_QUIET)
		return;
	params = value_new_map();
	value_add(params, "level", value_new_text(names[level]));
	value_add(params, "logger", value_new_text("aisbx"));
	value_add(params, "data", value_take(message, "data"));
	rpc_add_call(&out, NULL, "notifications/message", params);
	call->channel->send(call->channel, &out, false);
}
