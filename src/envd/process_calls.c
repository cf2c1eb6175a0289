/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about commands: what clients send, read into what process.c does. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/json_write.h"
#include "envd/place.h"
#include "envd/process.h"
#include "envd/routes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define ARGS_MAX 4096
#define SIZE_MAX_CELLS 4096
#define PROCESSES_MAX 512

extern char **environ;

static void wish_done(struct process_wish *wish)
{
	strv_done(&wish->argv);
	strv_done(&wish->env);
	free(wish->directory);
}

static bool read_words(const struct value *config, struct process_wish *wish)
{
	const struct value *args = value_get(config, "args");
	const char *cmd = value_get_text(config, "cmd");

	if (!cmd || !*cmd)
		return false;
	strv_add(&wish->argv, cmd);
	if (!args || args->kind != VALUE_LIST)
		return true;
	if (args->many.count > ARGS_MAX)
		return false;
	for (size_t i = 0; i < args->many.count; i++) {
		const struct value *word = args->many.items[i];

		if (word->kind != VALUE_TEXT || strlen(word->text.bytes) != word->text.len)
			return false;
		strv_add(&wish->argv, word->text.bytes);
	}
	return true;
}

/* The agent's own, with what the client sets. */
static void read_variables(const struct value *config, struct process_wish *wish)
{
	const struct value *envs = value_get(config, "envs");
	bool has_envs = envs && envs->kind == VALUE_MAP;

	for (char **at = environ; *at; at++) {
		owned(free_ptr) char *name = xstrndup(*at, strcspn(*at, "="));

		if (!has_envs || !value_get(envs, name))
			strv_add(&wish->env, *at);
	}
	for (size_t i = 0; has_envs && i < envs->many.count; i++) {
		const struct value *text = envs->many.items[i];

		if (text->kind == VALUE_TEXT && !strchr(envs->many.keys[i], '='))
			strv_addf(&wish->env, "%s=%s", envs->many.keys[i], text->text.bytes);
	}
}

static unsigned cells(const struct value *size, const char *name, unsigned otherwise)
{
	int64_t count = value_int_of(size, name);

	return count > 0 && count <= SIZE_MAX_CELLS ? (unsigned)count : otherwise;
}

static bool read_directory(struct call *call, const struct value *config, struct process_wish *wish)
{
	const char *cwd = value_get_text(config, "cwd");
	struct stat st;

	wish->directory = place_of(cwd ? cwd : "");
	if (wish->directory && stat(wish->directory, &st) == 0 && S_ISDIR(st.st_mode))
		return true;
	call_fail(call, "invalid_argument", "cwd '%.200s' does not exist", cwd ? cwd : "");
	return false;
}

static unsigned count_running(const struct agent *agent)
{
	unsigned count = 0;

	for (const struct process *at = agent->processes; at; at = at->next)
		count += !at->is_over;
	return count;
}

/* What a message asks for; else it was answered. */
static bool read_wish(struct call *call, const struct value *message, struct process_wish *wish)
{
	const struct value *config = value_get(message, "process"),
			   *pty = value_get(message, "pty");
	const struct value *stdin_wish = value_get(message, "stdin");

	if (!place_check_user(call))
		return false;
	if (!config || config->kind != VALUE_MAP || !read_words(config, wish)) {
		call_fail(call, "invalid_argument", "process.cmd and process.args are no command");
		return false;
	}
	if (count_running(call->agent) >= PROCESSES_MAX) {
		call_fail(call, "resource_exhausted", "%u commands run already", PROCESSES_MAX);
		return false;
	}
	if (!read_directory(call, config, wish))
		return false;
	read_variables(config, wish);
	wish->has_terminal = pty && pty->kind == VALUE_MAP;
	wish->has_input = !stdin_wish || stdin_wish->kind != VALUE_BOOL || stdin_wish->truth;
	wish->rows = cells(value_get(pty, "size"), "rows", 24);
	wish->columns = cells(value_get(pty, "size"), "cols", 80);
	return true;
}

void process_start(struct call *call, const struct value *message)
{
	owned(wish_done) struct process_wish wish = { .has_input = true };
	const char *tag = value_get_text(message, "tag"), *what = NULL;
	const char *limit = call_word(call, "limit");
	bool is_read = read_wish(call, message, &wish);
	struct process *process = is_read ? process_spawn(call->agent, &wish, &what) : NULL;

	if (!process) {
		const struct note failed = { .kind = NOTE_FAILED };

		if (is_read)
			call_fail_errno(call, errno, what);
		agent_note(call->agent, call->channel, &failed);
		return;
	}
	process->channel = call->channel;
	process->deadline_ns = limit ? clock_now_ns() + strtoull(limit, NULL, 10) * 1000000u : 0;
	process->tag = tag ? xstrdup(tag) : NULL;
	process->config = value_take((struct value *)(uintptr_t)message, "process");
	process->starter = call;
	process_listen(process, call);
}

/* The one that a message names; else it was answered. */
static struct process *named(struct call *call, const struct value *message, bool is_alive)
{
	const struct value *selector = value_get(message, "process");
	struct process *process = process_find(call->agent, selector, is_alive);

	if (!process && value_get_text(selector, "tag"))
		call_fail(call, "not_found", "no process with tag '%.64s'",
			  value_get_text(selector, "tag"));
	else if (!process)
		call_fail(call, "not_found", "no process with pid %lld",
			  (long long)value_int_of(selector, "pid"));
	return process;
}

static void answer_empty(struct call *call)
{
	owned(str_done) struct str json = STR_INIT;

	str_add(&json, "{}");
	call_message(call, &json);
}

void process_connect(struct call *call, const struct value *message)
{
	struct process *process = named(call, message, false);

	if (process)
		process_listen(process, call);
}

void process_list(struct call *call, const struct value *message)
{
	owned(str_done) struct str out = STR_INIT;
	struct json json;

	(void)message;
	json_init(&json, &out);
	json_open(&json, '{');
	json_key(&json, "processes");
	json_open(&json, '[');
	for (const struct process *at = call->agent->processes; at; at = at->next) {
		owned(str_done) struct str config = STR_INIT;

		if (at->is_over)
			continue;
		json_write(&config, at->config, 0);
		json_open(&json, '{');
		json_key(&json, "config");
		json_raw(&json, config.data, config.len);
		json_key(&json, "pid");
		json_int(&json, at->pid);
		if (at->tag) {
			json_key(&json, "tag");
			json_text(&json, at->tag);
		}
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	call_message(call, &out);
}

void process_send_signal(struct call *call, const struct value *message)
{
	const char *name = value_get_text(message, "signal");
	int64_t number = value_int_of(message, "signal");
	int sig = number == SIGKILL || str_same(name, "SIGNAL_SIGKILL")	  ? SIGKILL
		  : number == SIGTERM || str_same(name, "SIGNAL_SIGTERM") ? SIGTERM
									  : 0;
	struct process *process;

	if (!sig) {
		call_fail(call, "unimplemented", "signal is SIGNAL_SIGKILL or SIGNAL_SIGTERM");
		return;
	}
	process = named(call, message, true);
	if (!process)
		return;
	/* One that has ended leaves its group to its children, and its number to another process once that is empty. */
	if (kill(-process->pid, sig) < 0 && errno != ESRCH)
		call_fail_errno(call, errno, "kill");
	else
		answer_empty(call);
}

/* Whether INPUT was taken; else the call was answered. */
static bool feed(struct call *call, struct process *process, const struct value *input)
{
	const char *name = process->has_terminal ? "pty" : "stdin";
	const struct value *text = value_get(input, name);
	owned(str_done) struct str bytes = STR_INIT;

	if (!text || text->kind != VALUE_TEXT ||
	    !base64_read(&bytes, text->text.bytes, text->text.len))
		call_fail(call, "invalid_argument", "input.%s is no base64", name);
	else if (process->in.fd < 0 || process->closes_in)
		call_fail(call, "internal", "the standard input of process %d is closed",
			  process->pid);
	else if (!process_feed(process, str_cstr(&bytes), bytes.len))
		call_fail(call, "resource_exhausted", "process %d does not read its input",
			  process->pid);
	else
		return true;
	return false;
}

void process_send_input(struct call *call, const struct value *message)
{
	struct process *process = named(call, message, true);

	if (process && feed(call, process, value_get(message, "input")))
		answer_empty(call);
}

/* The process is remembered by its number: it may be gone before the next message. */
void process_stream_input(struct call *call, const struct value *message)
{
	const struct value *start = value_get(message, "start"), *data = value_get(message, "data");
	struct process *process = NULL;

	if (start) {
		process = named(call, start, true);
		call->own = process ? (void *)(intptr_t)process->pid : NULL;
	} else if (data) {
		for (process = call->agent->processes; process; process = process->next) {
			if (!process->is_over && process->pid == (pid_t)(intptr_t)call->own)
				break;
		}
		if (!process)
			call_fail(call, "not_found", "no process to write to");
		else
			(void)feed(call, process, value_get(data, "input"));
	}
}

void process_stream_input_end(struct call *call, const char *bytes, size_t len)
{
	(void)bytes;
	(void)len;
	answer_empty(call);
	call_finish(call);
}

void process_close_stdin(struct call *call, const struct value *message)
{
	struct process *process = named(call, message, true);

	if (!process)
		return;
	if (process->has_terminal) {
		call_fail(call, "failed_precondition", "a terminal has no input to close; send ^D");
		return;
	}
	process_close_input(process);
	answer_empty(call);
}

void process_update(struct call *call, const struct value *message)
{
	const struct value *size = value_get(value_get(message, "pty"), "size");
	struct process *process = named(call, message, true);
	struct winsize cells_now = { .ws_row = (unsigned short)cells(size, "rows", 24),
				     .ws_col = (unsigned short)cells(size, "cols", 80) };

	if (!process)
		return;
	if (!process->has_terminal)
		call_fail(call, "failed_precondition", "process %d has no terminal", process->pid);
	else if (ioctl(process->out[0].fd, TIOCSWINSZ, &cells_now) < 0)
		call_fail_errno(call, errno, "the terminal");
	else
		answer_empty(call);
}
