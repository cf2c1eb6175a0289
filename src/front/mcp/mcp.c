/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `mcp`: a server for agents, with the ceiling its caller gives it. */
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "base/text/units.h"
#include "front/mcp/consent.h"
#include "front/mcp/http.h"
#include "front/mcp/stdio.h"
#include "ops/rows/rows.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma weak http_serve

int server_watch_signals(struct server *server, int *ret_fd, struct error *err)
{
	(void)signal(SIGPIPE, SIG_IGN);
	*ret_fd = process_watch_end(&server->child_mask);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "signals") : 0;
}

/* What a client does is held against this; nothing it sends changes it. */
static int read_ceiling(const struct op_call *call, struct op_ceiling *ceiling, struct error *err)
{
	const struct strv *profiles = op_arg_list(call, "profile");
	const char *workspace = op_arg_text(call, "workspace");
	const char *memory = op_arg_text(call, "owner-mem");
	int64_t bytes = 0;

	if (memory && units_size("--owner-mem", memory, &bytes, err) < 0)
		return -1;
	ceiling->owner_bytes = (uint64_t)bytes;
	ceiling->caches = op_arg_switch(call, "cache");
	ceiling->sees_all = op_arg_switch(call, "all");
	if (profiles)
		strv_copy(&ceiling->profiles.words, profiles);
	else
		strv_add(&ceiling->profiles.words, "default");
	if (workspace && chdir(workspace) < 0)
		return error_errno(err, ERROR_USAGE, "-C %s", workspace);
	return app_ceiling_read(&ceiling->profiles, call->environ, err);
}

/* Without a name, what this process makes is its own. */
static char *owner_name(const char *given, struct error *err)
{
	char id[ID_SHORT_SIZE];

	if (given)
		return xstrdup(given);
	return id_short("mcp", id, err) < 0 ? NULL : xstrdup(id);
}

static int check_owner(const char *name, struct error *err)
{
	return name && sandbox_check_name(name, err) < 0 ? error_context(err, "--owner") : 0;
}

static int read_policy(const char *word, enum mcp_policy *ret_policy, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (!word || strcmp(word, "ask") == 0)
		*ret_policy = MCP_POLICY_ASK;
	else if (strcmp(word, "never") == 0)
		*ret_policy = MCP_POLICY_NEVER;
	else if (strcmp(word, "gates") == 0)
		*ret_policy = MCP_POLICY_GATES;
	else
		return error_set(err, ERROR_USAGE,
				 "--promote-policy: '%s' is none of never, ask and gates",
				 str_shown(word, shown));
	return 0;
}

static int read_shown(const char *word, bool *ret_all, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	*ret_all = word && strcmp(word, "all") == 0;
	if (!word || *ret_all || strcmp(word, "core") == 0)
		return 0;
	return error_set(err, ERROR_USAGE, "--tools: '%s' is none of core and all",
			 str_shown(word, shown));
}

int op_mcp_run(struct op_call *call, struct error *err)
{
	struct server server = { .environ = call->environ,
				 .pid = getpid(),
				 .zygote_pool = ZYGOTE_POOL_INIT,
				 .spares = SPARES_INIT };
	const char *address = op_arg_text(call, "http");
	owned(free_ptr) char *owner = NULL;
	int status;

	/* Only the program with the library can; this one hands over. */
	if (address && !http_serve)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-http");
	if (op_want_words(call, 0, 0, err) < 0 || check_owner(op_arg_text(call, "owner"), err) < 0)
		return -1;
	owner = owner_name(op_arg_text(call, "owner"), err);
	if (op_log_open(call, false, err) < 0 ||
	    read_policy(op_arg_text(call, "promote-policy"), &server.policy, err) < 0 ||
	    read_shown(op_arg_text(call, "tools"), &server.shows_all, err) < 0)
		return -1;
	server.ceiling.owner = owner;
	if (!owner || read_ceiling(call, &server.ceiling, err) < 0 ||
	    zygote_pool_open(&server.zygote_pool, err) < 0)
		status = -1;
	else
		status = address ? http_serve(&server, address, err) : stdio_serve(&server, err);
	policy_keeper_close(&server.keeper);
	zygote_pool_close(&server.zygote_pool);
	consent_done(&server);
	ceiling_profiles_done(&server.ceiling.profiles);
	return status;
}
