/* SPDX-License-Identifier: Apache-2.0 */
/* `create`: a named sandbox, ready to be entered; nothing runs yet. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/change/workspace.h"
#include "app/sandbox/owner.h"
#include "app/sandbox/sandbox.h"
#include "app/sandbox/service_copy.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

int op_ttl(const struct op_call *call, uint64_t *ret_ms, struct error *err)
{
	const char *text = op_arg_text(call, "ttl");
	int64_t ms = 0;

	if (text && units_duration("--ttl", text, &ms, err) < 0)
		return -1;
	*ret_ms = (uint64_t)ms;
	return 0;
}

/*
 * Switches to BRANCH in the new sandbox, by its own git and without hooks; a branch that neither the host nor a remote of
 * it has begins here. The host has none of it until a promotion.
 */
static int switch_branch(struct op_call *call, const char *name, const char *branch,
			 struct error *err)
{
	static const char *const words[] = {
		"sh", "-c",
		"find() { git for-each-ref --count=1 --format='%(refname:short)' \"$1\"; }\n"
		"if git show-ref -q --verify \"refs/heads/$1\" || [ \"$(find "
		"\"refs/remotes/*/$1\")\" ]\n"
		"then set -- \"$1\"; else\n"
		"below=$(find \"refs/heads/$1/\")\n"
		"[ -z \"$below\" ] || { echo \"git cannot have it beside the branch $below\" >&2; "
		"exit 1; }\n"
		"set -- -c \"$1\"; fi\n"
		"exec git -c core.hooksPath=/dev/null switch -q \"$@\"",
		"sh"
	};
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request command;
	const struct app_run_options options = { .capture = true };
	char shown[STR_SHOWN_SIZE];
	struct error ignored = { 0 };
	int status;

	run_result_init(&result);
	request_init(&command);
	command.environ = call->environ;
	if (call->ceiling) {
		command.owner = call->ceiling->owner;
		command.owner_bytes = call->ceiling->owner_bytes;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		strv_add(&command.command, words[i]);
	strv_add(&command.command, branch);
	status = app_exec(name, &command, &options, &result, err);
	if (status == 0 && result.exit_code != 0) {
		const char *said = str_cstr(&result.err.kept);
		owned(free_ptr) char *line = xstrndup(said, strcspn(said, "\n"));

		status = error_set(err, ERROR_INPUT, "--worktree %s: %s", branch,
				   str_shown(line, shown));
	}
	if (status < 0)
		(void)app_remove(name, &ignored);
	return status;
}

/* Which services it has, and how consistent their copies are. */
static int add_services(struct op_call *call, const char *name, struct error *err)
{
	struct value *list = NULL;

	if (app_services_of(name, &list, err) < 0)
		return -1;
	value_add(call->answer, "services", list);
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *row = list->many.items[i];
		int64_t port = 0;

		(void)value_get_int(row, "port", &port);
		str_addf(&call->text, "%s runs in it on port %lld: %s copy\n",
			 value_get_text(row, "name"), (long long)port,
			 value_get_text(row, "level"));
	}
	return 0;
}

int op_create_run(struct op_call *call, struct error *err)
{
	owned(request_done) struct request request;
	struct app_create create = { .name = NULL };
	const char *branch = op_arg_text(call, "worktree");
	char expires[32];

	request_init(&request);
	if (op_want_words(call, 1, 1, err) < 0 || op_ttl(call, &create.ttl_ms, err) < 0 ||
	    op_request(call, &request, err) < 0)
		return -1;
	create.name = call->words.items[0];
	if (branch && (!*branch || *branch == '-'))
		return error_set(err, ERROR_USAGE, "--worktree: '%s' is no name of a branch",
				 branch);
	if (app_create(&request, &create, err) < 0 ||
	    (branch && switch_branch(call, create.name, branch, err) < 0))
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "name", value_new_text(create.name));
	if (call->ceiling && !create.ttl_ms)
		create.ttl_ms = OWNED_TTL_MS;
	if (create.ttl_ms)
		time_format_utc(clock_epoch_ms() + create.ttl_ms, expires);
	value_add(call->answer, "expires", value_new_text(create.ttl_ms ? expires : NULL));
	if (branch)
		value_add(call->answer, "worktree", value_new_text(branch));
	str_addf(&call->text, "created %s; enter it with: aisbx exec %s -- CMD\n", create.name,
		 create.name);
	if (branch)
		str_addf(&call->text,
			 "it is on branch %s, which the host gets with: aisbx promote %s "
			 "--commits\n",
			 branch, create.name);
	return request.flags.with_services.count ? add_services(call, create.name, err) : 0;
}
