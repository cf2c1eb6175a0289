/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what an agent sends its hook: whatever is accepted has all that the deed needs, and anything else has a sentence. */
#include "app/agent/hook.h"

#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hook_call *call)
{
	const char *path = value_get_text(call->input, "file_path");

	if (!call->cwd || call->cwd[0] != '/' || strlen(call->sandbox) >= HOOK_NAME_SIZE)
		abort();
	if (call->deed == HOOK_END || call->deed == HOOK_PASS || call->deed == HOOK_REFUSE)
		return;
	if (call->deed == HOOK_RUN) {
		const char *command = value_get_text(call->input, "command");

		if (!command || !*command || strlen(command) > HOOK_COMMAND_MAX)
			abort();
		return;
	}
	if (!path || path[0] != '/')
		abort();
	if (call->deed == HOOK_WRITE && !value_get_text(call->input, "content"))
		abort();
	if (call->deed == HOOK_EDIT && (!value_get_text(call->input, "old_string") ||
					!value_get_text(call->input, "new_string")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (enum hook_agent agent = 0; agent < HOOK_AGENTS; agent++) {
		struct error err = { 0 };
		struct hook_call call;

		if (hook_read(agent, (const char *)data, size, NULL, &call, &err) < 0) {
			if (!err.text[0])
				abort();
			continue;
		}
		check(&call);
		hook_call_done(&call);
	}
	return 0;
}
