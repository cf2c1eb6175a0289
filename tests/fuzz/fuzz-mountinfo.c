/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as mountinfo; what is read must be whole, and asking about it must end. */
#include "host/host.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host host;
	struct error err;

	memset(&host, 0, sizeof(host));
	if (host_parse_mountinfo((const char *)data, size, &host.mounts, &host.mount_count, &err) <
	    0)
		return 0;
	for (size_t i = 0; i < host.mount_count; i++) {
		const struct host_mount *mount = &host.mounts[i];

		if (mount->point[0] != '/' || !mount->root || !mount->fstype ||
		    !mount->super_options)
			abort();
		/* Quadratic in the mounts: enough of them to meet every path. */
		if (i < 64)
			(void)host_mount_is_visible(&host, mount);
	}
	host_done(&host);
	return 0;
}
