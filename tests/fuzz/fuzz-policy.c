/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes policies of the scanner, and the patterns in them: one text is a policy, and what its patterns are tried on. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "scan/judge/policy.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_patterns(const struct scan_policy *policy, const char *text, size_t len)
{
	for (size_t i = 0; i < SCAN_LANGUAGES; i++) {
		const struct policy_entries *entries =
			&policy->languages[i].forbidden[LIST_PATTERNS];

		for (size_t e = 0; e < entries->count; e++)
			(void)pattern_find(entries->items[e].pattern, text, len, 0, NULL, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(free_ptr) char *text = xstrndup((const char *)data, size);
	struct pattern *pattern = NULL;
	struct scan_policy policy;
	struct error err = { 0 };

	if (pattern_compile(text, &pattern, &err) == 0)
		(void)pattern_find(pattern, (const char *)data, size, 0, NULL, NULL);
	pattern_free(pattern);
	if (scan_policy_read((const char *)data, size, "fuzz", &policy, &err) < 0)
		return 0;
	try_patterns(&policy, (const char *)data, size);
	(void)scan_policy_forbids(&policy, SCAN_PYTHON, LIST_FUNCTIONS, "os.system");
	scan_policy_done(&policy);
	return 0;
}
