/* SPDX-License-Identifier: Apache-2.0 */
/* Flags and command of `run`, `plan`, `try`, `create` and `exec` as the request that app takes. */
#include "base/text/account.h"
#include "base/core/env.h"
#include "base/core/id.h"
#include "base/core/str.h"
#include "base/text/units.h"
#include "ops/rows/rows.h"

#include <stdlib.h>
#include <string.h>

/* --no-net is --net none; together with another --net it is a mistake, in whatever order. */
static int apply_no_net(struct op_call *call, struct error *err)
{
	struct settings *flags = &call->settings;

	if (!op_arg_switch(call, "no-net"))
		return 0;
	if (flags->net && (strcmp(flags->net, "allow") == 0 || strcmp(flags->net, "all") == 0))
		return error_set(err, ERROR_USAGE, "--no-net and --net %s contradict", flags->net);
	if (flags->allow.count > 0)
		return error_set(err, ERROR_USAGE, "--no-net and --allow contradict");
	free(flags->net);
	flags->net = xstrdup("none");
	return 0;
}

static char *copy_arg(const struct op_call *call, const char *name)
{
	const char *text = op_arg_text(call, name);

	return text ? xstrdup(text) : NULL;
}

/* A program can ask for services, and not agree. */
static int take_services(const struct op_call *call, struct request *request, struct error *err)
{
	const char *age = op_arg_text(call, "services-max-age");
	int64_t ms = 0;

	if (age && units_duration("--services-max-age", age, &ms, err) < 0)
		return -1;
	request->services_max_age_ms = (uint64_t)ms;
	request->services_together = op_arg_switch(call, "services-together");
	request->services_schema_only = op_arg_switch(call, "schema-only");
	request->services_agreed = !call->ceiling && op_arg_switch(call, "yes");
	request->services_with_network =
		!call->ceiling && op_arg_switch(call, "services-with-network");
	return 0;
}

/* A file of a secret is the sandbox's own user's; who may read it as another one is no question to answer in passing. */
static int take_user(const struct op_call *call, struct request *request, struct error *err)
{
	const char *user = op_arg_text(call, "user");

	if (!user)
		return 0;
	if (account_check(user, err) < 0)
		return -1;
	if (request->flags.secret.count > 0)
		return error_advise(err, ERROR_USAGE, "use --secret-env",
				    "--user and --secret: the file could be read by the sandbox's "
				    "own user only");
	request->user = user;
	return 0;
}

int op_request(struct op_call *call, struct request *ret_request, struct error *err)
{
	struct request request;
	const char *traceparent = env_given(call->environ, "AISBX_TRACEPARENT");

	if (apply_no_net(call, err) < 0)
		return -1;
	request_init(&request);
	settings_copy(&request.flags, &call->settings);
	if (op_take_variables(call, &request.flags, err) < 0) {
		request_done(&request);
		return -1;
	}
	if (op_arg_switch(call, "require-signature"))
		request.flags.require_signature = xstrdup("true");
	if (op_arg_switch(call, "cache") || op_arg_switch(call, "no-cache"))
		request.flags.cache = xstrdup(op_arg_switch(call, "no-cache") ? "false" : "true");
	if (take_services(call, &request, err) < 0 || take_user(call, &request, err) < 0) {
		request_done(&request);
		return -1;
	}
	request.profile = copy_arg(call, "profile");
	request.workspace = copy_arg(call, "workspace");
	request.trace_id = copy_arg(call, "trace");
	if (!request.trace_id && traceparent && id_is_traceparent(traceparent))
		request.trace_id = xstrdup(traceparent);
	request.settings_file = copy_arg(call, "settings");
	strv_copy(&request.command, &call->command);
	request.environ = call->environ;
	request.policy_fd = call->policy_fd;
	/* These two may be carried out as other verbs: a policy is asked about what was typed. */
	if (strcmp(call->op->name, "run") == 0 || strcmp(call->op->name, "try") == 0)
		request.action = call->op->name;
	if (call->ceiling) {
		request.owner = call->ceiling->owner;
		request.owner_bytes = call->ceiling->owner_bytes;
		request.owner_caches = call->ceiling->caches;
		request.only_narrows = true;
	}
	request.interactive = call->stdin_tty && call->stdout_tty && !call->json;
	*ret_request = request;
	return 0;
}
