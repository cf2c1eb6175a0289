/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes gate expressions. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "decide/gate/gate.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(gate_done) struct gate gate = { 0 };
	owned(free_ptr) char *text = xstrndup((const char *)data, size);
	struct gate_facts facts = { .has_run = true };
	struct gate_verdict verdict = { 0 };
	struct error err = { 0 };

	if (gate_parse(text, &gate, &err) == 0)
		gate_decide(&gate, &facts, &verdict);
	free(verdict.evidence);
	return 0;
}
