/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what the evaluator of policies answers: one that denies, or is about other sets, is never taken as one that allows. */
#include "app/vet/rego_parts.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void must_allow(const struct value *answer, const struct value *sets)
{
	const struct value *rows = value_get(answer, "sets");

	must(rows->many.count == sets->many.count);
	for (size_t i = 0; i < rows->many.count; i++) {
		const struct value *row = rows->many.items[i];
		const struct value *deny = value_get(value_get(row, "rules"), "deny");

		must(str_same(value_get_text(row, "name"),
			      value_get_text(sets->many.items[i], "name")));
		must(deny && deny->kind == VALUE_LIST && deny->many.count == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "user", "machine" };
	owned(value_release) struct value *sets = value_new_list();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		owned(policy_answer_done) struct policy_answer result = { 0 };
		owned(value_release) struct value *answer = NULL;
		struct error err = { 0 };

		value_add(value_append(sets, value_new_map()), "name", value_new_text(names[i]));
		if (policy_read_line((const char *)data, size, sets, &answer, &err) < 0 ||
		    policy_read_answer(answer, &result, &err) < 0) {
			must(err.code == ERROR_DENIED);
			continue;
		}
		must_allow(answer, sets);
		must(result.approvals >= 0 && result.limits);
	}
	return 0;
}
