/* SPDX-License-Identifier: Apache-2.0 */
/* The folders and programs of aisbx itself: promotions and artifacts are never written there. */
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/process/own_program.h"
#include "app/change/workspace_parts.h"
#include "host/host.h"
#include "plan/plan.h"

#include <string.h>

int app_own_folders(struct strv *ret_paths, struct error *err)
{
	owned(strv_done) struct strv homes = STRV_INIT, listed = STRV_INIT;
	owned(host_done) struct host host;

	memset(&host, 0, sizeof(host));
	if (host_read(&host, err) < 0)
		return -1;
	/* Root can promote into any user's home, and that user's aisbx would read the result. */
	if (host.uid == 0)
		host_read_homes("/etc/passwd", &listed);
	for (size_t i = 0; i < listed.count; i++) {
		owned(free_ptr) char *real = path_real(listed.items[i]);

		strv_add(&homes, real ? real : listed.items[i]);
	}
	own_program_places(ret_paths);
	plan_own_places(&host, &homes, ret_paths);
	return 0;
}
