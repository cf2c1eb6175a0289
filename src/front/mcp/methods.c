/* SPDX-License-Identifier: Apache-2.0 */
/* The method table, and those methods that take a few lines. */
#include "front/mcp/methods.h"

#include "base/core/own.h"
#include "front/mcp/log.h"
#include "front/mcp/resources.h"

#include <string.h>

static const char instructions[] =
	"Commands run in sandboxes: copy-on-write clones of this machine, without network unless "
	"allowed, within limits. sandbox_run is for one command whose changes may be thrown away; "
	"sandbox_create, sandbox_exec and sandbox_files_* for work that stays. sandbox_diff shows "
	"what changed, sandbox_snapshot and sandbox_rollback save and rewind. Nothing reaches the "
	"real files but by promote_request, which a person may have to agree to. tools_more names "
	"further tools, such as commands in the background and races.";

static struct value *server_info(void)
{
	struct value *info = value_new_map();

	value_add(info, "name", value_new_text("aisbx"));
	value_add(info, "title", value_new_text("aisbx sandboxes"));
	value_add(info, "version", value_new_text(AISBX_VERSION));
	return info;
}

static struct value *capabilities(bool sends_changes)
{
	struct value *all = value_new_map();
	struct value *shown = value_add(all, "tools", value_new_map());

	value_add(shown, "listChanged", value_new_bool(sends_changes));
	value_add(all, "resources", value_new_map());
	value_add(all, "prompts", value_new_map());
	value_add(all, "logging", value_new_map());
	return all;
}

static void initialize(const struct request_view *request)
{
	const char *wanted =
		request->params ? value_get_text(request->params, "protocolVersion") : NULL;
	const struct value *client =
		request->params ? value_get(request->params, "capabilities") : NULL;
	enum mcp_version version = wanted ? mcp_version_find(wanted) : MCP_NONE;
	struct value *result;

	if (!wanted) {
		request_fail(request, RPC_INVALID_PARAMS, "initialize needs protocolVersion", NULL);
		return;
	}
	/* What we do not know, or what has no handshake, is answered with the newest that has one. */
	if (version == MCP_NONE || version == MCP_2026_07_28)
		version = MCP_2025_11_25;
	request->session->version = version;
	request->session->elicits =
		client && client->kind == VALUE_MAP && value_get(client, "elicitation");
	result = value_new_map();
	value_add(result, "protocolVersion", value_new_text(mcp_version_name(version)));
	value_add(result, "capabilities", capabilities(true));
	value_add(result, "serverInfo", server_info());
	value_add(result, "instructions", value_new_text(instructions));
	request_answer(request, result, false);
}

static void discover(const struct request_view *request)
{
	struct request_view modern = *request;
	struct value *result = value_new_map(), *versions, *meta;

	modern.version = MCP_2026_07_28;
	versions = value_add(result, "supportedVersions", value_new_list());
	for (enum mcp_version at = MCP_2026_07_28; at >= MCP_2024_11_05; at--)
		value_append(versions, value_new_text(mcp_version_name(at)));
	value_add(result, "capabilities", capabilities(false));
	value_add(result, "instructions", value_new_text(instructions));
	/* Drafts had it here; the final text has it among the notes. */
	value_add(result, "serverInfo", server_info());
	meta = value_add(result, "_meta", value_new_map());
	value_add(meta, "io.modelcontextprotocol/serverInfo", server_info());
	request_answer(&modern, result, true);
}

static void ping(const struct request_view *request)
{
	request_answer(request, value_new_map(), false);
}

static void set_level(const struct request_view *request)
{
	const char *wanted = request->params ? value_get_text(request->params, "level") : NULL;
	unsigned level = wanted ? log_level_find(wanted) : MCP_QUIET;

	/* There each request carries its own level. */
	if (request->version == MCP_2026_07_28) {
		request_fail(request, RPC_METHOD_NOT_FOUND,
			     "2026-07-28 has the level in each request", NULL);
		return;
	}
	if (level < MCP_QUIET) {
		request->session->level = level;
		request_answer(request, value_new_map(), false);
		return;
	}
	request_fail(request, RPC_INVALID_PARAMS,
		     "level is one of debug, info, notice, warning, error, critical, alert, "
		     "emergency",
		     NULL);
}

static const struct method rows[] = {
	{ "initialize", initialize, false },
	{ "server/discover", discover, false },
	{ "ping", ping, false },
	{ "logging/setLevel", set_level, true },
	{ "tools/list", tools_list, true },
	{ "tools/call", tools_call, true },
	{ "resources/list", resources_list, true },
	{ "resources/templates/list", resources_templates, true },
	{ "resources/read", resources_read, true },
	{ "prompts/list", prompts_list, true },
	{ "prompts/get", prompts_get, true },
};

const struct method *method_find(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return NULL;
}
