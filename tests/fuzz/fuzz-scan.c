/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the scanner: the first byte chooses the language; whatever comes, it ends and tells something. */
#include "base/core/own.h"
#include "scan/judge/policy.h"
#include "scan/scan.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(scan_policy_done) struct scan_policy policy;
	owned(scan_report_done) struct scan_report report;
	owned(value_release) struct value *answer = NULL, *sarif = NULL;
	owned(str_done) struct str words = STR_INIT;
	struct scan_text text = { .name = "fuzz" };
	struct error err = { 0 };

	scan_policy_init(&policy);
	scan_report_init(&report);
	if (size == 0 || !scan_is_built())
		return 0;
	text.language = (enum scan_language)(data[0] % SCAN_LANGUAGES);
	text.bytes = (const char *)data + 1;
	text.len = size - 1;
	if (scan_text(&text, &policy, &report, &err) < 0)
		abort();
	/* What cannot be analysed is never clean. */
	if (!report.is_analysable && report.risk < SEVERITY_HIGH)
		abort();
	answer = scan_report_value(&report);
	sarif = scan_report_sarif(&report, "0");
	scan_report_words(&report, &words);
	return 0;
}
