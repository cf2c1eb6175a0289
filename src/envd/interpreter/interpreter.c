/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of E2B's code interpreter, passed on to a Python program of ours (interpreter.py): one process for all contexts, started
 * by the first call. Requests are lines of JSON; an answer is a line "CHANNEL STATUS JSON".
 */
#include "envd/interpreter/interpreter.h"

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/core/own.h"
#include "base/process/child.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "envd/note.h"
#include "envd/place.h"
#include "envd/process.h"
#include "envd/routes.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What a client has not read of its answer before the context that answers has to wait. */
#define UNREAD_MAX ((size_t)1 << 20)
/* A picture is one line. */
#define LINE_MAX_BYTES ((size_t)64 << 20)
/* Both tails, each byte of which may take six. */
#define SUMMARY_MAX ((size_t)512 << 10)
/* How long its keeper may take. */
#define END_MS 5000
#define STREAM_TYPE "application/x-ndjson"
#define STATUS_LINE 0
#define STATUS_END 1

extern char **environ;

struct interpreter {
	struct agent *agent;
	pid_t pid;
	struct source in, out;
	struct str input; /* what it has not taken yet */
	size_t input_at;
	struct str lines; /* what has no end yet */
};

/* What the `own` of a call says: it waits for an answer; the context that answers has to wait. */
#define ASKED ((void *)(intptr_t)1)
#define PAUSED ((void *)(intptr_t)2)

static void add_input(struct interpreter *interpreter, const struct str *line)
{
	str_add_bytes(&interpreter->input, line->data, line->len);
	str_add_char(&interpreter->input, '\n');
	loop_watch(&interpreter->in, EPOLLOUT);
}

static void add_action(const struct call *call, const char *action)
{
	owned(str_done) struct str line = STR_INIT;

	str_addf(&line, "{\"channel\":%u,\"action\":\"%s\"}", call->channel, action);
	if (call->agent->interpreter)
		add_input(call->agent->interpreter, &line);
}

/* The end of code, for the record; SUMMARY is what the interpreter says of it, NULL: nothing. */
static void report(struct call *call, enum note_kind kind, const struct value *summary)
{
	static const char *const names[] = { "stdout", "stderr" };
	owned(note_done) struct note note = { .kind = kind };

	if (call->is_noted || strcmp(call->words.items[1], "/execute") != 0)
		return;
	call->is_noted = true;
	for (unsigned i = 0; summary && i < 2; i++) {
		const struct value *text = value_get(summary, names[i]);

		if (text && text->kind == VALUE_TEXT)
			note_add(&note, i, text->text.bytes, text->text.len);
	}
	note.status = summary && value_is_true(summary, "failed") ? 1 << 8 : 0;
	agent_note(call->agent, call->channel, &note);
}

static void report_end(struct call *call, const char *json, size_t len)
{
	const struct json_limits limits = {
		.bytes = SUMMARY_MAX, .depth = 2, .values = 16, .nul = true
	};
	owned(value_release) struct value *summary = NULL;
	struct error err;

	(void)json_read(json, len, &limits, &summary, &err);
	report(call, NOTE_ENDED, summary);
}

/* The process has ended: what it was asked is answered so, and the next call starts another one. */
static void end(struct interpreter *interpreter)
{
	static const char last[] =
		"{\"type\":\"error\",\"name\":\"InterpreterDied\",\"value\":\"the interpreter has "
		"ended, and all contexts with it\",\"traceback\":\"\"}\n"
		"{\"type\":\"end_of_execution\"}\n";
	struct agent *agent = interpreter->agent;
	int status;

	agent->interpreter = NULL;
	for (struct call *call = agent->calls; call; call = call->next) {
		if ((call->own != ASKED && call->own != PAUSED) || call->is_ended)
			continue;
		if (call->has_head)
			call_add(call, last, sizeof(last) - 1);
		else
			call_refuse(call, 500, "the interpreter has ended");
		call_end(call);
		report(call, NOTE_KILLED, NULL);
	}
	loop_drop(&interpreter->in);
	loop_drop(&interpreter->out);
	/* Its keeper ends what is left below it; one that does not is ended itself. */
	(void)kill(interpreter->pid, SIGTERM);
	(void)child_wait_within(interpreter->pid, END_MS, &status);
	str_done(&interpreter->input);
	str_done(&interpreter->lines);
	free(interpreter);
}

static void give(struct source *source, uint32_t events)
{
	struct interpreter *interpreter = SOURCE_OF(interpreter, in, source);
	size_t len = interpreter->input.len - interpreter->input_at;
	ssize_t done = write(source->fd, interpreter->input.data + interpreter->input_at, len);

	(void)events;
	if (done < 0 && errno != EAGAIN && errno != EINTR) {
		end(interpreter);
		return;
	}
	str_pass(&interpreter->input, &interpreter->input_at, done > 0 ? (size_t)done : 0);
	if (interpreter->input.len == interpreter->input_at)
		loop_watch(source, 0);
}

static void take_line(struct agent *agent, const char *line, size_t len)
{
	char *rest;
	unsigned long channel = strtoul(line, &rest, 10), status = strtoul(rest, &rest, 10);
	size_t head = (size_t)(rest - line) + 1;
	struct call *call = agent->calls;

	while (call && (call->channel != channel || (call->own != ASKED && call->own != PAUSED)))
		call = call->next;
	/* Its client has gone. */
	if (!call || call->is_ended || head > len)
		return;
	if (status == STATUS_LINE) {
		call_stream(call, STREAM_TYPE);
		call_add(call, line + head, len - head);
		call_add(call, "\n", 1);
	} else if (status == STATUS_END) {
		report_end(call, line + head, len - head);
		call_end(call);
	} else {
		report(call, NOTE_FAILED, NULL);
		call_reply(call, (unsigned)status, "application/json", line + head, len - head);
	}
	if (call->own == ASKED && call->out.len - call->out_at > UNREAD_MAX) {
		call->own = PAUSED;
		add_action(call, "pause");
	}
}

static void take(struct source *source, uint32_t events)
{
	struct interpreter *interpreter = SOURCE_OF(interpreter, out, source);
	char bytes[LINK_DATA_MAX];
	ssize_t got = read(source->fd, bytes, sizeof(bytes));
	size_t seen = interpreter->lines.len, at = 0;

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || seen + (size_t)got > LINE_MAX_BYTES) {
		end(interpreter);
		return;
	}
	str_add_bytes(&interpreter->lines, bytes, (size_t)got);
	/* Only what is new can hold the end of a line that has none yet. */
	for (char *found;
	     (found = memchr(interpreter->lines.data + seen, '\n', interpreter->lines.len - seen));
	     at = seen) {
		seen = (size_t)(found - interpreter->lines.data) + 1;
		*found = '\0';
		take_line(interpreter->agent, interpreter->lines.data + at, seen - at - 1);
	}
	str_drop_front(&interpreter->lines, at);
}

/* The source comes first through its input, so that no file of it has to be inside. */
static struct interpreter *start(struct agent *agent, const char **ret_what)
{
	owned(strv_done) struct strv argv = STRV_INIT, env = STRV_INIT;
	struct process_wish wish = { .has_input = true,
				     .is_kept = true,
				     .directory = (char *)(uintptr_t)place_home() };
	int fds[3];

	strv_add(&argv, "python3");
	strv_add(&argv, "-c");
	strv_addf(&argv,
		  "import os\ncode = b''\nwhile len(code) < %zu:\n    code += os.read(0, %zu - "
		  "len(code)) or os._exit(1)\nexec(compile(code, '<interpreter>', 'exec'))",
		  interpreter_source_len, interpreter_source_len);
	for (char **at = environ; *at; at++)
		strv_add(&env, *at);
	wish.argv = argv;
	wish.env = env;
	pid_t pid = process_launch(&wish, fds, ret_what);

	if (pid < 0)
		return NULL;
	struct interpreter *interpreter = xcalloc(1, sizeof(*interpreter));

	fd_close(&fds[2]);
	interpreter->agent = agent;
	interpreter->pid = pid;
	interpreter->in = (struct source){ .loop_fd = agent->loop_fd, .fd = fds[0], .ready = give };
	interpreter->out =
		(struct source){ .loop_fd = agent->loop_fd, .fd = fds[1], .ready = take };
	str_add_bytes(&interpreter->input, (const char *)interpreter_source,
		      interpreter_source_len);
	loop_watch(&interpreter->in, EPOLLOUT);
	loop_watch(&interpreter->out, EPOLLIN);
	return interpreter;
}

static void ask(struct call *call)
{
	owned(str_done) struct str line = STR_INIT, body = STR_INIT;
	const char *what = NULL;
	struct json json;

	if (!call->agent->interpreter)
		call->agent->interpreter = start(call->agent, &what);
	if (!call->agent->interpreter) {
		call_refuse(call, 501, "the code interpreter needs %s in the sandbox: %s", what,
			    error_words(errno));
		return;
	}
	base64_add(&body, str_cstr(&call->body), call->body.len);
	str_addf(&line,
		 "{\"channel\":%u,\"method\":\"%s\",\"body\":\"%s\",\"path\":", call->channel,
		 call->words.items[0], str_cstr(&body));
	json_init(&json, &line);
	json_text(&json, call->words.items[1]);
	str_add_char(&line, '}');
	add_input(call->agent->interpreter, &line);
	call->own = ASKED;
}

void interpreter_open(struct call *call, const struct value *message)
{
	const char *limit = call_word(call, "limit");

	(void)message;
	(void)place_check_user(call);
	call->deadline_ns = limit ? clock_now_ns() + strtoull(limit, NULL, 10) * 1000000u : 0;
}

void interpreter_body(struct call *call, const char *bytes, size_t len)
{
	if (!bytes)
		ask(call);
	else if (call->body.len + len > CALL_BODY_MAX)
		call_refuse(call, 413, "the code is longer than %zu bytes", CALL_BODY_MAX);
	else
		str_add_bytes(&call->body, bytes, len);
}

bool interpreter_more(struct call *call)
{
	if (call->own == PAUSED) {
		call->own = ASKED;
		add_action(call, "resume");
	}
	return false;
}

/* Interrupts code whose client has gone, or whose time is over. */
void interpreter_left(struct call *call)
{
	static const char late[] =
		"{\"type\":\"error\",\"name\":\"TimeLimit\",\"value\":\"ended at the time limit "
		"that the "
		"server was given\",\"traceback\":\"\"}\n{\"type\":\"end_of_execution\"}\n";

	if (call->own && !call->is_ended)
		add_action(call, "cancel");
	if (call->is_late && !call->is_ended) {
		call_stream(call, STREAM_TYPE);
		call_add(call, late, sizeof(late) - 1);
		call_end(call);
	}
	report(call, call->is_late ? NOTE_LATE : NOTE_KILLED, NULL);
	call->own = NULL;
}
