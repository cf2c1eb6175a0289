/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a runner tells the wasm driver, cut into portions by the first byte, and seals. */
#include "driver/wasm/intake.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_seal seal;
	struct intake intake;
	size_t step;

	if (size == 0)
		return 0;
	if (file_seal_parse((const char *)data + 1, size - 1, &seal) == 0 &&
	    strlen(seal.sha256) != SHA256_HEX_SIZE - 1)
		abort();
	step = data[0] + 1u;
	/* A place where nothing can be kept: a fuzzer must not fill a cache. */
	intake_init(&intake, &(struct wasm_places){ "/dev/null", "/dev/null", NULL }, "key", true);
	for (size_t at = 1; at < size; at += step)
		intake_take(&intake, data + at, size - at < step ? size - at : step);
	if (intake.has_end &&
	    (intake.end.length > WASM_REPORT_TEXT_MAX || intake.text[intake.end.length] != '\0'))
		abort();
	intake_done(&intake);
	return 0;
}
