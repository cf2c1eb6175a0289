/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers compiled in. */
#include "driver/driver.h"

#include <string.h>

extern const struct driver driver_linux;
extern const struct driver driver_wasm;
extern const struct driver driver_fake;

const struct driver *const drivers[] = { &driver_linux, &driver_wasm, &driver_fake, NULL };

const struct driver *driver_find(const char *name)
{
	for (const struct driver *const *driver = drivers; *driver; driver++) {
		if (strcmp((*driver)->name, name) == 0)
			return *driver;
	}
	return NULL;
}
