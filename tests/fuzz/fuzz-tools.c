/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the arguments of every tool: they become the verb's call, or a refusal that names what is wrong. */
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "ops/tools/tool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a ceiling promises, whatever was asked for. */
static void check(const struct tool_call *call, const struct op_ceiling *ceiling)
{
	const struct op_call *op = &call->call;
	const struct strv *profiles = op_arg_list(op, "profile");

	for (size_t i = 0; profiles && i < profiles->count; i++) {
		if (!strv_has(&ceiling->profiles.words, profiles->items[i]))
			abort();
	}
	if (op->settings.mount_count > 0 || op->settings.secret.count > 0 || op->settings.driver ||
	    op->settings.pass_env.count > 0 || op->settings.home ||
	    op->settings.allow_degraded.count > 0 || op->settings.publish.count > 0)
		abort();
	for (size_t i = 0; i < op->words.count; i++) {
		if (!op->words.items[i][0])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(value_release) struct value *arguments = NULL;
	const struct json_limits limits = { .nul = true, .values = 1000 };
	struct op_ceiling ceiling = { .owner = "fuzz" };
	static const char *const env[] = { "HOME=/nonexistent", NULL };
	struct error err = { 0 };

	if (json_read((const char *)data, size, &limits, &arguments, &err) < 0)
		return 0;
	strv_add(&ceiling.profiles.words, "default");
	for (const struct tool *const *at = tools; *at; at++) {
		struct value *in = tool_input_schema(*at, &ceiling);
		struct value *out = tool_output_schema(*at);
		struct tool_call call;

		value_release(&in);
		value_release(&out);
		tool_call_init(&call, *at, &ceiling, env);
		err.text[0] = '\0';
		if (tool_call_read(&call, arguments, &err) == 0)
			check(&call, &ceiling);
		else if (!err.text[0] || err.code == ERROR_INTERNAL)
			abort();
		tool_call_done(&call);
	}
	ceiling_profiles_done(&ceiling.profiles);
	return 0;
}
