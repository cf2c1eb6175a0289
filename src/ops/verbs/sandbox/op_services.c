/* SPDX-License-Identifier: Apache-2.0 */
/* `services`: what runs on this machine and could be cloned, what a sandbox has of it, and the user's agreement. */
#include "app/sandbox/owner.h"
#include "app/sandbox/service_copy.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <stdio.h>
#include <string.h>

/* What cloning it takes, or why it cannot be. */
static void add_way(const struct value *row, struct str *text)
{
	const char *why = value_get_text(row, "why"), *level = value_get_text(row, "level");

	if (why)
		str_addf(text, "not cloned: %s", why);
	else
		str_addf(text, "%s, about %.1f s, pause %lld ms", level,
			 (double)value_int_of(row, "takes_ms") / 1000,
			 (long long)value_int_of(row, "pause_ms"));
}

static void report_machine(struct op_call *call)
{
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		const char *state = value_get_text(row, "state");
		owned(free_ptr) char *where = xasprintf("%s:%lld", value_get_text(row, "host"),
							(long long)value_int_of(row, "port"));
		owned(free_ptr) char *whose =
			value_is_true(row, "yours")
				? xstrdup("you")
				: xasprintf("uid %lld", (long long)value_int_of(row, "uid"));
		char size[32] = "-", shown[STR_SHOWN_SIZE];

		if (state)
			units_format_size(value_int_of(row, "bytes"), size);
		str_addf(&call->text, "%-16s %-22s %-9s %-8s ",
			 str_shown(value_get_text(row, "name"), shown), where, whose, size);
		add_way(row, &call->text);
		str_add_char(&call->text, '\n');
	}
	if (call->answer->many.count == 0)
		str_add(&call->text, "nothing listens here\n");
}

static void report_sandbox(struct op_call *call, const char *name)
{
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];

		str_addf(&call->text, "%-16s port %-6lld %-8s %s, copied ",
			 value_get_text(row, "name"), (long long)value_int_of(row, "port"),
			 value_get_text(row, "status"), value_get_text(row, "level"));
		words_add_age(&call->text, words_moment(row, "made"));
		str_add(&call->text, ", ");
		words_add_size(&call->text, value_int_of(row, "disk_bytes"));
		if (!value_is_true(row, "yours"))
			str_addf(&call->text, ", runs as uid %lld",
				 (long long)value_int_of(row, "uid"));
		str_add_char(&call->text, '\n');
	}
	if (call->answer->many.count == 0)
		str_addf(&call->text, "%s has no services\n", name);
}

static int trust(struct op_call *call, struct error *err)
{
	if (op_want_words(call, 2, 2, err) < 0)
		return -1;
	if (call->ceiling)
		return error_set(err, ERROR_CONSENT, "only a person agrees to clones of a service");
	if (app_service_trust(call->words.items[1], err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "name", value_new_text(call->words.items[1]));
	value_add(call->answer, "trusted", value_new_bool(true));
	str_addf(&call->text, "sandboxes may have clones of %s from now on\n",
		 call->words.items[1]);
	return 0;
}

int op_services_run(struct op_call *call, struct error *err)
{
	const char *name = call->words.count > 0 ? call->words.items[0] : NULL;

	if (name && strcmp(name, "trust") == 0)
		return trust(call, err);
	if (op_want_words(call, 0, 1, err) < 0 || (name ? app_services_of(name, &call->answer, err)
							: app_services(&call->answer, err)) < 0)
		return -1;
	if (name)
		report_sandbox(call, name);
	else
		report_machine(call);
	return 0;
}
