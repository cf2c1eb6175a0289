/* SPDX-License-Identifier: Apache-2.0 */
/* Which agent reads what from where. */
#include "app/agent/setup.h"

#include <string.h>

/*
 * An agent takes a hook that is missing, has crashed or is late for one that does not object. So the shell that starts it
 * has the last word: without a whole answer in time, exit status 2, which blocks the tool.
 */
#define HOOK(agent)                                                                       \
	"o=$(timeout -k 1 10 @@ hook " agent "@+"                                         \
	") && [ -n \\\"$o\\\" ] && printf '%s\\\\n' \\\"$o\\\" || { echo 'aisbx gave no " \
	"answer, so the tool is refused; see aisbx doctor' >&2; exit 2; }"
#define BEFORE_TOOLS(agent)                                                              \
	"{\"matcher\": \"*\", \"hooks\": [{\"type\": \"command\", \"command\": \"" HOOK( \
		agent) "\", \"timeout\": 30}]}"
#define AT_END(agent)                                                                            \
	"{\"hooks\": [{\"type\": \"command\", \"command\": \"@@ hook " agent "\", \"timeout\": " \
	"60}]}"

#define SERVER_ARGS(agent) "[\"mcp\", \"--profile\", \"dev\", \"--owner\", \"" agent "\"]"
#define SERVER(agent) "{\"command\": \"@\", \"args\": " SERVER_ARGS(agent) "}"

const struct setup_row setup_rows[] = {
	{ "claude-code", SETUP_MCP, SETUP_JSON, "CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json",
	  ".mcp.json", "mcpServers", "aisbx", SERVER("claude-code") },
	{ "claude-code", SETUP_HOOK, SETUP_JSON, "CLAUDE_CONFIG_DIR", "settings.json",
	  ".claude/settings.json", ".claude/settings.local.json", "hooks/PreToolUse", NULL,
	  BEFORE_TOOLS("claude-code") },
	{ "claude-code", SETUP_HOOK, SETUP_JSON, "CLAUDE_CONFIG_DIR", "settings.json",
	  ".claude/settings.json", ".claude/settings.local.json", "hooks/SessionEnd", NULL,
	  AT_END("claude-code") },
	{ "codex", SETUP_MCP, SETUP_TOML, "CODEX_HOME", "config.toml", ".codex/config.toml",
	  ".codex/config.toml", NULL, "aisbx",
	  "[mcp_servers.aisbx]\ncommand = \"@\"\nargs = " SERVER_ARGS("codex") "\n" },
	{ "codex", SETUP_HOOK, SETUP_JSON, "CODEX_HOME", "hooks.json", ".codex/hooks.json",
	  ".codex/hooks.json", "hooks/PreToolUse", NULL, BEFORE_TOOLS("codex") },
	{ "codex", SETUP_HOOK, SETUP_JSON, "CODEX_HOME", "hooks.json", ".codex/hooks.json",
	  ".codex/hooks.json", "hooks/Stop", NULL, AT_END("codex") },
	{ "cursor", SETUP_MCP, SETUP_JSON, NULL, NULL, ".cursor/mcp.json", ".cursor/mcp.json",
	  "mcpServers", "aisbx", SERVER("cursor") },
	{ "gemini", SETUP_MCP, SETUP_JSON, NULL, NULL, ".gemini/settings.json",
	  ".gemini/settings.json", "mcpServers", "aisbx", SERVER("gemini") },
	{ "opencode", SETUP_MCP, SETUP_JSON, "XDG_CONFIG_HOME", "opencode/opencode.json",
	  ".config/opencode/opencode.json", "opencode.json", "mcp", "aisbx",
	  "{\"type\": \"local\", \"command\": [\"@\", \"mcp\", \"--profile\", \"dev\", "
	  "\"--owner\", "
	  "\"opencode\"], \"enabled\": true}" },
	{ "goose", SETUP_MCP, SETUP_YAML, "XDG_CONFIG_HOME", "goose/config.yaml",
	  ".config/goose/config.yaml", NULL, "extensions", "aisbx",
	  "enabled: true\ntype: stdio\nname: aisbx\ncmd: \"@\"\nargs: " SERVER_ARGS(
		  "goose") "\ntimeout: 300\n" },
	{ "aider", SETUP_HOOK, SETUP_YAML, NULL, NULL, ".aider.conf.yml", ".aider.conf.yml", NULL,
	  "suggest-shell-commands", "false\n" },
	{ .agent = NULL },
};

static const struct {
	const char *agent;
	enum setup_part part;
	const char *words;
} covers[] = {
	{ "claude-code", SETUP_MCP,
	  "sandbox_* tools beside Claude Code's own, which stay as they are; add --hook" },
	{ "claude-code", SETUP_HOOK,
	  "covered: Bash and Monitor (run in the session's sandbox), Read, Write and Edit (done "
	  "there). Refused: MultiEdit, NotebookEdit, Glob, Grep, LSP, PowerShell, unknown tools. "
	  "Not "
	  "covered: other MCP servers, web tools, commands you type with ! yourself, other hooks" },
	{ "codex", SETUP_MCP,
	  "sandbox_* tools beside Codex's own, which stay as they are; add --hook" },
	{ "codex", SETUP_HOOK,
	  "covered: shell commands (run in the session's sandbox). Refused: apply_patch, unknown "
	  "tools. Not covered: other MCP servers, web search. Codex asks you to trust the hook "
	  "once "
	  "(/hooks), and its own sandbox has to be off for aisbx to start: --sandbox "
	  "danger-full-access" },
	{ "cursor", SETUP_MCP,
	  "sandbox_* tools; Cursor's own terminal and edits are not covered: deny them there" },
	{ "gemini", SETUP_MCP,
	  "sandbox_* tools; Gemini's own shell and edits are not covered: tools.exclude takes "
	  "run_shell_command, write_file and replace away" },
	{ "opencode", SETUP_MCP,
	  "sandbox_* tools; opencode's own bash, edit and write are not covered: \"permission\" "
	  "denies them" },
	{ "goose", SETUP_MCP,
	  "sandbox_* tools; the developer extension is not covered: switch it off" },
	{ "aider", SETUP_HOOK,
	  "aider proposes no shell commands any more; its edits are not covered: it has neither "
	  "hooks nor MCP" },
};

const char *setup_covers(const char *agent, enum setup_part part)
{
	for (size_t i = 0; i < sizeof(covers) / sizeof(covers[0]); i++) {
		if (covers[i].part == part && strcmp(covers[i].agent, agent) == 0)
			return covers[i].words;
	}
	return NULL;
}
