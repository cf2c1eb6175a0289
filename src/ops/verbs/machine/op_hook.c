/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hook AGENT`: the agent's JSON on stdin, its answer on stdout.
 *
 * Fails closed: whatever goes wrong is a refusal of the tool, as data for the agent and as exit status 2 with a sentence
 * on stderr, which blocks the tool even where the data is not read.
 */
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "app/agent/hook.h"
#include "ops/promotion.h"
#include "ops/rows/rows.h"
#include "ops/verbs/run/op_write.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATUS_BLOCK 2
/* What an agent is shown of a file at most. */
#define READ_LIMIT "262144"
#define LINES_DEFAULT 2000

/* {"hookSpecificOutput": {...}}; REASON may be NULL, INPUT too. */
static void add_decision(struct str *out, const char *decision, const char *reason,
			 const struct value *input)
{
	owned(str_done) struct str updated = STR_INIT;
	struct json json;

	json_init(&json, out);
	json_open(&json, '{');
	json_key(&json, "hookSpecificOutput");
	json_open(&json, '{');
	json_key(&json, "hookEventName");
	json_text(&json, "PreToolUse");
	json_key(&json, "permissionDecision");
	json_text(&json, decision);
	if (reason) {
		json_key(&json, "permissionDecisionReason");
		json_text(&json, reason);
	}
	if (input) {
		json_write(&updated, input, 0);
		json_key(&json, "updatedInput");
		json_raw(&json, updated.data, updated.len);
	}
	json_close(&json, '}');
	json_close(&json, '}');
	str_add_char(out, '\n');
}

static int rewrite_command(struct op_call *call, struct hook_call *hook,
			   const struct hook_options *options, struct error *err)
{
	owned(str_done) struct str line = STR_INIT;

	if (hook_line(hook->sandbox, value_get_text(hook->input, "command"), options, &line, err) <
	    0)
		return -1;
	value_set(hook->input, "command", value_new_text(str_cstr(&line)));
	add_decision(&call->text, "allow", NULL, hook->input);
	return 0;
}

static void add_files_arg(struct op_call *files, const char *name, const char *value)
{
	for (const struct op_param *param = files_row.params; param->name; param++) {
		if (strcmp(param->name, name) == 0)
			op_arg_add(files, param, value);
	}
}

/* Lines FIRST to FIRST + COUNT - 1 of TEXT, counted from 1. */
static void add_lines(struct str *out, const char *text, int64_t first, int64_t count)
{
	for (int64_t line = 1; *text && line < first + count; line++) {
		size_t len = strcspn(text, "\n");

		if (line >= first) {
			str_addf(out, "%6lld\t", (long long)line);
			str_add_bytes(out, text, len);
			str_add_char(out, '\n');
		}
		text += len + (text[len] == '\n');
	}
}

static int report_read(const struct op_call *files, const struct hook_call *hook, struct str *out,
		       struct error *err)
{
	int64_t first = 1, count = LINES_DEFAULT;

	if (!str_same(value_get_text(files->answer, "encoding"), "utf-8"))
		return error_advise(err, ERROR_INPUT, "look at it with a shell command",
				    "the file is no text");
	(void)value_get_int(hook->input, "offset", &first);
	(void)value_get_int(hook->input, "limit", &count);
	if (first < 1)
		first = 1;
	if (count < 1 || count > INT32_MAX || first > INT32_MAX)
		return error_set(err, ERROR_INPUT, "no such lines");
	add_lines(out, value_get_text(files->answer, "content"), first, count);
	if (value_is_true(files->answer, "truncated"))
		str_add(out, "(cut off here; a shell command shows the rest)\n");
	return 0;
}

/* The content becomes standard input, where `files write` reads it. */
static int feed_content(const struct value *content, struct error *err)
{
	owned(fd_close) int fd = memfd_create("content", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, content->text.bytes, content->text.len) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
		return error_errno(err, ERROR_HOST, "the content");
	return 0;
}

static int prepare_files(struct op_call *files, const struct hook_call *hook, struct error *err)
{
	static const char *const words[] = {
		[HOOK_READ] = "read", [HOOK_WRITE] = "write", [HOOK_EDIT] = "edit"
	};

	strv_add(&files->words, words[hook->deed]);
	strv_add(&files->words, hook->sandbox);
	strv_add(&files->words, value_get_text(hook->input, "file_path"));
	if (hook->deed == HOOK_READ)
		add_files_arg(files, "limit", READ_LIMIT);
	if (hook->deed == HOOK_WRITE)
		return feed_content(value_get(hook->input, "content"), err);
	if (hook->deed == HOOK_EDIT) {
		add_files_arg(files, "old", value_get_text(hook->input, "old_string"));
		add_files_arg(files, "new", value_get_text(hook->input, "new_string"));
		if (value_is_true(hook->input, "replace_all"))
			add_files_arg(files, "all", "1");
	}
	return 0;
}

static int write_file_through(const char *sandbox, struct str *out, struct error *err)
{
	owned(value_release) struct value *answer = NULL;

	if (write_through(sandbox, &answer, err) < 0)
		return -1;
	if (value_get(answer, "waiting")->many.count > 0)
		str_addf(out, "%zu changes of this session wait for the user's word.\n",
			 value_get(answer, "waiting")->many.count);
	promotion_report_ignored(out, answer);
	return 0;
}

/*
 * Done in the sandbox, and the answer given where the agent shows it to its model: as the reason why its own tool, which
 * knows the host's files only, is not used.
 */
static int use_files(struct op_call *call, const struct hook_call *hook,
		     const struct hook_options *options, struct error *err)
{
	owned(str_done) struct str reason = STR_INIT;
	owned(op_call_done) struct op_call files;

	op_call_init(&files, &files_row, call->environ);
	if (prepare_files(&files, hook, err) < 0 || op_files_run(&files, err) < 0)
		return -1;
	str_addf(&reason,
		 "This is the answer, not an error: aisbx did it in the sandbox %s instead. ",
		 hook->sandbox);
	if (hook->deed != HOOK_READ)
		str_add(&reason, str_cstr(&files.text));
	else if (str_add(&reason, "The file there:\n"), report_read(&files, hook, &reason, err) < 0)
		return -1;
	if (options->writes && hook->deed != HOOK_READ &&
	    write_file_through(hook->sandbox, &reason, err) < 0)
		return -1;
	add_decision(&call->text, "deny", str_cstr(&reason), NULL);
	return 0;
}

static void refuse_tool(struct op_call *call, const struct hook_call *hook)
{
	owned(str_done) struct str reason = STR_INIT;

	str_addf(
		&reason,
		"%s works on the host's files, this session in the sandbox %s: use shell commands, "
		"which run there, or the MCP tools sandbox_files_read, sandbox_files_write and "
		"sandbox_files_edit with sandbox %s",
		hook->tool, hook->sandbox, hook->sandbox);
	add_decision(&call->text, "deny", str_cstr(&reason), NULL);
}

static int end_session(struct op_call *call, const struct hook_call *hook,
		       const struct hook_options *options, struct error *err)
{
	owned(str_done) struct str line = STR_INIT;
	struct json json;

	if (hook_end(hook, options, &line, err) < 0)
		return -1;
	if (hook->agent == HOOK_CLAUDE_CODE) {
		str_addf(&call->text, "%s\n", str_cstr(&line));
		return 0;
	}
	/* Codex wants data here. */
	json_init(&json, &call->text);
	json_open(&json, '{');
	json_key(&json, "systemMessage");
	json_text(&json, str_cstr(&line));
	json_close(&json, '}');
	str_add_char(&call->text, '\n');
	return 0;
}

static int answer(struct op_call *call, struct hook_call *hook, const struct hook_options *options,
		  struct error *err)
{
	if (hook->deed == HOOK_PASS) {
		str_add(&call->text, "{}\n");
		return 0;
	}
	if (hook->deed == HOOK_END)
		return end_session(call, hook, options, err);
	if (hook->deed == HOOK_REFUSE) {
		refuse_tool(call, hook);
		return 0;
	}
	if (hook_sandbox(hook, options, err) < 0)
		return -1;
	return hook->deed == HOOK_RUN ? rewrite_command(call, hook, options, err)
				      : use_files(call, hook, options, err);
}

static int serve(struct op_call *call, enum hook_agent agent, const struct hook_options *options,
		 struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;
	struct hook_call hook;
	int status;

	if (fd_read_all(STDIN_FILENO, HOOK_BYTES_MAX, &bytes) < 0)
		return error_set(err, ERROR_INPUT,
				 "the agent's message cannot be read, or is larger than 8 MiB");
	if (hook_read(agent, str_cstr(&bytes), bytes.len, op_arg_list(call, "pass-tool"), &hook,
		      err) < 0)
		return -1;
	status = answer(call, &hook, options, err);
	hook_call_done(&hook);
	return status;
}

/* The other way in, CLAUDE_CODE_SHELL_PREFIX: the command as one word, run here and now. */
static int run_command(struct op_call *call, enum hook_agent agent,
		       const struct hook_options *options, struct error *err)
{
	owned(str_done) struct str line = STR_INIT;
	owned(free_ptr) char *cwd = getcwd(NULL, 0);
	const char *session = getenv("CLAUDE_CODE_SESSION_ID");
	struct hook_call hook = { .agent = agent, .cwd = cwd };

	if (call->command.count != 1)
		return error_set(err, ERROR_USAGE,
				 "the command is one word: aisbx hook %s -- "
				 "'make test'",
				 hook_agent_name(agent));
	if (!cwd)
		return error_errno(err, ERROR_HOST, "the current directory");
	/* Where the agent does not name its session, those of a directory share one sandbox. */
	hook_name(agent, session && *session ? session : cwd, hook.sandbox);
	if (hook_sandbox(&hook, options, err) < 0 ||
	    hook_line(hook.sandbox, call->command.items[0], options, &line, err) < 0)
		return -1;
	execl("/bin/sh", "sh", "-c", str_cstr(&line), (char *)NULL);
	return error_errno(err, ERROR_HOST, "/bin/sh");
}

int op_hook_run(struct op_call *call, struct error *err)
{
	struct hook_options options = { .profile = op_arg_text(call, "profile"),
					.environ = call->environ };
	enum hook_agent agent;
	struct error why;

	if (op_want_words(call, 1, 1, err) < 0 || op_write_wanted(call, &options.writes, err) < 0)
		return -1;
	agent = hook_agent_find(call->words.items[0]);
	if (agent == HOOK_AGENTS)
		return error_set(err, ERROR_USAGE, "hooks are served for claude-code and codex");
	if (call->command.count > 0)
		return run_command(call, agent, &options, err);
	call->is_raw = true;
	if (serve(call, agent, &options, &why) == 0)
		return 0;
	str_clear(&call->text);
	add_decision(&call->text, "deny", why.text, NULL);
	str_addf(&call->notes, "%s\n", why.text);
	call->exit_status = STATUS_BLOCK;
	return 0;
}
