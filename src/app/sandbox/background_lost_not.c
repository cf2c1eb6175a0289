/* SPDX-License-Identifier: Apache-2.0 */
/* The hot program's answer about a command whose supervisor was killed; aisbx-full links the other one, which wins. */
#include "app/sandbox/background.h"

__attribute__((weak)) int app_exec_lost(const char *state_dir, const char *exec_id,
					struct exec_result *ret_result, struct error *err)
{
	(void)state_dir;
	(void)exec_id;
	(void)ret_result;
	return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
}
