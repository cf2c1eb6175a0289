/* SPDX-License-Identifier: Apache-2.0 */
/* `doctor`: findings as a table for people, the remedies under it. */
#include "ops/rows/rows.h"

#include <string.h>

static const char *text_of(const struct value *map, const char *key)
{
	const char *text = value_get_text(map, key);

	return text ? text : "";
}

static void write_layers(struct str *out, const struct value *layers)
{
	str_addf(out, "%-10s %-9s %s\n", "LAYER", "STATE", "DETAIL");
	for (size_t i = 0; i < layers->many.count; i++) {
		const struct value *row = layers->many.items[i];

		str_addf(out, "%-10s %-9s %s\n", text_of(row, "layer"), text_of(row, "state"),
			 text_of(row, "detail"));
		if (value_get_text(row, "remedy"))
			str_addf(out, "%-10s %-9s remedy: %s\n", "", "", text_of(row, "remedy"));
	}
}

static void write_warnings(struct str *out, const struct value *warnings)
{
	if (warnings->many.count == 0)
		return;
	str_add(out, "\nSettings of this machine that weaken what lies around a sandbox:\n");
	for (size_t i = 0; i < warnings->many.count; i++) {
		const struct value *row = warnings->many.items[i];
		int64_t value = 0;

		(void)value_get_int(row, "value", &value);
		str_addf(out, "  %s is %lld: %s\n    remedy: %s\n", text_of(row, "setting"),
			 (long long)value, text_of(row, "detail"), text_of(row, "remedy"));
	}
}

static void write_extras(struct str *out, const struct value *extras)
{
	str_add(out, "\nBeside the layers:\n");
	for (size_t i = 0; i < extras->many.count; i++) {
		const struct value *row = extras->many.items[i];

		str_addf(out, "  %-8s %-9s %s\n", text_of(row, "name"), text_of(row, "state"),
			 text_of(row, "detail"));
		if (value_get_text(row, "remedy"))
			str_addf(out, "  %-8s %-9s to get it: %s\n", "", "",
				 text_of(row, "remedy"));
	}
}

/* In aisbx-full only: a record is read. */
#pragma weak op_doctor_fix

int op_doctor_run(struct op_call *call, struct error *err)
{
	size_t fixes;

	if (op_arg_switch(call, "fix") || op_arg_switch(call, "undo"))
		return op_doctor_fix ? op_doctor_fix(call, err)
				     : error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	if (op_arg_switch(call, "yes"))
		return error_set(err, ERROR_USAGE, "--yes goes with --fix or --undo");
	if (op_want_words(call, 0, 0, err) < 0 || app_doctor(&call->answer, err) < 0)
		return -1;
	const struct value *fit = value_get(call->answer, "fit");
	bool is_fit = fit && fit->kind == VALUE_BOOL && fit->truth;

	write_layers(&call->text, value_get(call->answer, "layers"));
	write_warnings(&call->text, value_get(call->answer, "warnings"));
	write_extras(&call->text, value_get(call->answer, "extras"));
	str_addf(&call->text, "\n%s\n",
		 is_fit ? "This machine is fit: every mandatory layer works."
			: "This machine is not fit: a mandatory layer is missing, and runs are "
			  "refused.");
	fixes = value_list_count(call->answer, "fixes");
	if (fixes > 0)
		str_addf(&call->text,
			 "aisbx doctor --fix shows what would mend %zu of these, asks, and does "
			 "it.\n",
			 fixes);
	call->exit_status = is_fit ? 0 : 1;
	return 0;
}
