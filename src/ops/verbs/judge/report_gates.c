/* SPDX-License-Identifier: Apache-2.0 */
/* Gates as words for people. */
#include "ops/rows/rows.h"
#include "ops/text/words.h"

void op_report_gates(struct str *out, const struct value *answer)
{
	const struct value *gates = value_get(answer, "gates");

	for (size_t i = 0; i < gates->many.count; i++) {
		const struct value *gate = gates->many.items[i];

		str_add(out, value_get(gate, "holds")->truth ? "holds  " : "fails  ");
		words_add_line(out, value_get_text(gate, "expr"));
		str_add(out, "  (");
		words_add_line(out, value_get_text(gate, "evidence"));
		str_add(out, ")\n");
	}
}
