/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes settings files of srt. What is read must hide nothing but absolute paths. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "profile/srt.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct srt_place place = { .origin = "fuzz",
						.home = "/home/u",
						.cwd = "/home/u/work",
						.workspace = "/home/u/work" };
	owned(settings_done) struct settings settings;
	owned(strv_done) struct strv notes = STRV_INIT;
	struct error err = { 0 };

	settings_init(&settings);
	if (srt_parse((const char *)data, size, &place, &settings, &notes, &err) < 0)
		return 0;
	for (size_t i = 0; i < settings.hide.count; i++) {
		if (!path_is_clean(settings.hide.items[i]))
			abort();
	}
	return 0;
}
