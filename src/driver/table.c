/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers compiled in. */
#include "driver/driver.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <string.h>

extern const struct driver driver_linux;
extern const struct driver driver_landlock;
extern const struct driver driver_bwrap;
extern const struct driver driver_chroot;
extern const struct driver driver_wasm;
extern const struct driver driver_fake;

const struct driver *const drivers[] = {
	&driver_linux, &driver_landlock, &driver_bwrap, &driver_chroot, &driver_wasm,
#ifdef AISBX_FAKE_DRIVER
	&driver_fake,
#endif
	NULL,
};

const struct driver *driver_find(const char *name)
{
	for (const struct driver *const *driver = drivers; *driver; driver++) {
		if (strcmp((*driver)->name, name) == 0)
			return *driver;
	}
	return NULL;
}

int driver_check_name(const char *name, struct error *err)
{
	owned(str_done) struct str names = STR_INIT;

	if (driver_find(name))
		return 0;
	for (const struct driver *const *driver = drivers; *driver; driver++)
		str_addf(&names, "%s, ", (*driver)->name);
	error_set(err, ERROR_DENIED, "driver '%.40s' is not in this build", name);
	return error_add_hint(err, "drivers here: %sauto; `aisbx drivers` describes them",
			      str_cstr(&names));
}

const char *driver_strength_name(enum driver_strength strength)
{
	static const char *const names[] = { "none", "weak", "fair", "strong" };

	return names[strength];
}
