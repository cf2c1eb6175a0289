/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes git configurations: what is left of one is read in full, says the same when cleaned again, and names no program. */
#include "base/core/own.h"
#include "plan/git_config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const running[] = { "fsmonitor", "hookspath", "sshcommand", "pager",
					       "askpass" };
	owned(str_done) struct str text = STR_INIT, clean = STR_INIT, again = STR_INIT;

	str_add_bytes(&text, (const char *)data, size);
	if (git_config_clean(&text, &clean) < 0)
		return 0;
	if (git_config_clean(&clean, &again) < 0 || strcmp(str_cstr(&clean), str_cstr(&again)) != 0)
		abort();
	for (size_t i = 0; i < sizeof(running) / sizeof(running[0]); i++) {
		owned(free_ptr) char *found = git_config_find(&clean, "core", running[i]);

		if (found)
			abort();
	}
	return 0;
}
