/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent says before it uses a tool: read strictly, and what is to become of it. */
#include "app/agent/hook.h"

#include "base/text/json_read.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"

#include <limits.h>
#include <string.h>

#define DEPTH_MAX 32
#define VALUES_MAX 20000
#define WORD_MAX 256
#define NAME_DIGITS 16

#define CLAUDE (1U << HOOK_CLAUDE_CODE)
#define CODEX (1U << HOOK_CODEX)

/* The agents' own tools. Those of MCP servers (mcp__SERVER__TOOL) were let in by the user, by name. */
static const struct {
	unsigned agents;
	enum hook_deed deed;
	const char *tool;
} tools[] = {
	{ CLAUDE | CODEX, HOOK_RUN, "Bash" },
	{ CLAUDE, HOOK_RUN, "Monitor" },
	{ CLAUDE, HOOK_READ, "Read" },
	{ CLAUDE, HOOK_WRITE, "Write" },
	{ CLAUDE, HOOK_EDIT, "Edit" },
	{ CLAUDE, HOOK_REFUSE, "MultiEdit" },
	{ CLAUDE, HOOK_REFUSE, "NotebookEdit" },
	{ CLAUDE, HOOK_REFUSE, "NotebookRead" },
	{ CLAUDE, HOOK_REFUSE, "Glob" },
	{ CLAUDE, HOOK_REFUSE, "Grep" },
	{ CLAUDE, HOOK_REFUSE, "LS" },
	{ CLAUDE, HOOK_REFUSE, "LSP" },
	{ CLAUDE, HOOK_REFUSE, "PowerShell" },
	{ CLAUDE, HOOK_REFUSE, "EnterWorktree" },
	{ CODEX, HOOK_REFUSE, "apply_patch" },
	{ CODEX, HOOK_REFUSE, "Edit" },
	{ CODEX, HOOK_REFUSE, "Write" },
	{ CLAUDE, HOOK_PASS, "Agent" },
	{ CLAUDE, HOOK_PASS, "AskUserQuestion" },
	{ CLAUDE, HOOK_PASS, "BashOutput" },
	{ CLAUDE, HOOK_PASS, "EnterPlanMode" },
	{ CLAUDE, HOOK_PASS, "ExitPlanMode" },
	{ CLAUDE, HOOK_PASS, "KillBash" },
	{ CLAUDE, HOOK_PASS, "KillShell" },
	{ CLAUDE, HOOK_PASS, "ListMcpResourcesTool" },
	{ CLAUDE, HOOK_PASS, "ReadMcpResourceTool" },
	{ CLAUDE, HOOK_PASS, "Skill" },
	{ CLAUDE, HOOK_PASS, "SlashCommand" },
	{ CLAUDE, HOOK_PASS, "Task" },
	{ CLAUDE, HOOK_PASS, "TaskCreate" },
	{ CLAUDE, HOOK_PASS, "TaskGet" },
	{ CLAUDE, HOOK_PASS, "TaskList" },
	{ CLAUDE, HOOK_PASS, "TaskOutput" },
	{ CLAUDE, HOOK_PASS, "TaskStop" },
	{ CLAUDE, HOOK_PASS, "TaskUpdate" },
	{ CLAUDE, HOOK_PASS, "TodoWrite" },
	{ CLAUDE, HOOK_PASS, "ToolSearch" },
	{ CLAUDE, HOOK_PASS, "WebFetch" },
	{ CLAUDE, HOOK_PASS, "WebSearch" },
	{ CODEX, HOOK_PASS, "update_plan" },
};

static const char *const names[HOOK_AGENTS] = { "claude-code", "codex" };

enum hook_agent hook_agent_find(const char *name)
{
	enum hook_agent agent = 0;

	while (agent < HOOK_AGENTS && !str_same(name, names[agent]))
		agent++;
	return agent;
}

const char *hook_agent_name(enum hook_agent agent)
{
	return names[agent];
}

void hook_name(enum hook_agent agent, const char *session, char ret_name[static HOOK_NAME_SIZE])
{
	char hex[SHA256_HEX_SIZE];
	size_t len = strlen(names[agent]);

	sha256_hex(session, strlen(session), hex);
	memcpy(ret_name, names[agent], len);
	ret_name[len] = '-';
	memcpy(ret_name + len + 1, hex, NAME_DIGITS);
	ret_name[len + 1 + NAME_DIGITS] = '\0';
}

/* A text that is there, is not empty and not longer than LIMIT. */
static int take_text(const struct value *map, const char *key, size_t limit, const char **ret_text,
		     struct error *err)
{
	const struct value *found = value_get(map, key);

	if (!found || found->kind != VALUE_TEXT || found->text.len == 0)
		return error_set(err, ERROR_INPUT, "the agent's message has no %s", key);
	if (found->text.len > limit)
		return error_set(err, ERROR_INPUT, "%s is longer than %zu bytes", key, limit);
	*ret_text = found->text.bytes;
	return 0;
}

static int take_place(const struct value *map, const char *key, const char **ret_path,
		      struct error *err)
{
	if (take_text(map, key, PATH_MAX - 1, ret_path, err) < 0)
		return -1;
	return (*ret_path)[0] == '/' ? 0
				     : error_set(err, ERROR_INPUT, "%s is no absolute path", key);
}

static int find_deed(const struct hook_call *call, const struct strv *pass,
		     enum hook_deed *ret_deed, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		if (tools[i].agents & (1U << call->agent) &&
		    strcmp(tools[i].tool, call->tool) == 0) {
			*ret_deed = tools[i].deed;
			return 0;
		}
	}
	*ret_deed = HOOK_PASS;
	if (str_starts(call->tool, "mcp__") || (pass && strv_has(pass, call->tool)))
		return 0;
	return error_advise(err, ERROR_DENIED, "--pass-tool lets it through",
			    "aisbx does not know the tool '%s', which may reach past the sandbox",
			    str_shown(call->tool, shown));
}

/* What the deed needs must be there, so that nothing after this has to look again. */
static int check_input(const struct hook_call *call, struct error *err)
{
	const char *path;
	const struct value *text;

	if (call->deed == HOOK_RUN)
		return take_text(call->input, "command", HOOK_COMMAND_MAX, &path, err);
	if (call->deed != HOOK_READ && call->deed != HOOK_WRITE && call->deed != HOOK_EDIT)
		return 0;
	if (take_place(call->input, "file_path", &path, err) < 0)
		return -1;
	if (call->deed == HOOK_READ)
		return 0;
	if (call->deed == HOOK_EDIT &&
	    take_text(call->input, "old_string", HOOK_BYTES_MAX, &path, err) < 0)
		return -1;
	text = value_get(call->input, call->deed == HOOK_WRITE ? "content" : "new_string");
	if (!text || text->kind != VALUE_TEXT)
		return error_set(err, ERROR_INPUT, "the agent's message has no text to write");
	return 0;
}

static int read_tool(struct hook_call *call, const struct strv *pass, struct error *err)
{
	call->input = value_get(call->message, "tool_input");
	if (take_text(call->message, "tool_name", WORD_MAX, &call->tool, err) < 0)
		return -1;
	if (!call->input || call->input->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "the agent's message has no tool_input");
	if (find_deed(call, pass, &call->deed, err) < 0)
		return -1;
	return check_input(call, err);
}

static int read_message(struct hook_call *call, const struct strv *pass, struct error *err)
{
	static const char *const ends[HOOK_AGENTS] = { "SessionEnd", "Stop" };
	const char *session, *event;
	char shown[STR_SHOWN_SIZE];

	if (call->message->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "the agent's message is no object");
	if (take_text(call->message, "session_id", WORD_MAX, &session, err) < 0 ||
	    take_place(call->message, "cwd", &call->cwd, err) < 0 ||
	    take_text(call->message, "hook_event_name", WORD_MAX, &event, err) < 0)
		return -1;
	hook_name(call->agent, session, call->sandbox);
	if (strcmp(event, "PreToolUse") == 0)
		return read_tool(call, pass, err);
	call->deed = HOOK_END;
	if (strcmp(event, ends[call->agent]) == 0)
		return 0;
	return error_set(err, ERROR_INPUT, "this is a hook for PreToolUse and %s, not for '%s'",
			 ends[call->agent], str_shown(event, shown));
}

int hook_read(enum hook_agent agent, const char *bytes, size_t len, const struct strv *pass,
	      struct hook_call *ret_call, struct error *err)
{
	const struct json_limits limits = { .bytes = HOOK_BYTES_MAX,
					    .depth = DEPTH_MAX,
					    .values = VALUES_MAX };
	struct hook_call call = { .agent = agent };

	if (json_read(bytes, len, &limits, &call.message, err) < 0)
		return error_context(err, "the agent's message");
	if (read_message(&call, pass, err) < 0) {
		hook_call_done(&call);
		return -1;
	}
	*ret_call = call;
	return 0;
}

void hook_call_done(struct hook_call *call)
{
	value_release(&call->message);
}
