/* SPDX-License-Identifier: Apache-2.0 */
/* The gates that a sandbox's profile names. */
#include "app/config/reads_yaml.h"
#include "app/trial/gates.h"

#include "base/core/own.h"
#include "app/config/profile_load.h"
#include "app/sandbox/sandbox.h"
#include "app/change/workspace_parts.h"
#include "decide/gate/gate.h"

int app_gates_check_words(const struct strv *exprs, struct error *err)
{
	for (size_t i = 0; i < exprs->count; i++) {
		struct gate gate = { 0 };

		if (gate_parse(exprs->items[i], &gate, err) < 0)
			return -1;
		gate_done(&gate);
	}
	return 0;
}

int app_gates_of(const char *name, struct strv *ret_gates, struct strv *ret_tests,
		 struct error *err)
{
	owned(free_ptr) char *sandbox = NULL, *snapshot = NULL;
	owned(opened_close) struct opened opened;
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(settings_done) struct settings profile;
	owned(request_done) struct request request;

	opened_init(&opened);
	request_init(&request);
	settings_init(&profile);
	workspace_split_name(name, &sandbox, &snapshot);
	if (opened_open(&opened, sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    app_sandbox_request(&opened.sandbox, &request, err) < 0)
		return -1;
	request.environ = (const char *const *)environ;
	if (!app_reads_yaml && app_profile_needs_yaml(&request, opened.sandbox.workspace))
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	if (app_load_profile(&request, opened.sandbox.workspace, &profile, &notes, err) < 0)
		return -1;
	settings_merge(&profile, &request.flags);
	strv_copy(ret_gates, &profile.gates);
	strv_copy(ret_tests, &profile.tests);
	return 0;
}
