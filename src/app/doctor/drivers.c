/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers as data: what each is, what it cannot enforce, and whether this machine has it. */
#include "app/doctor/drivers.h"

#include "app/doctor/driver_starts.h"
#include "base/core/own.h"
#include "driver/driver.h"
#include "host/host.h"
#include "plan/plan.h"

static void add_lacks(struct value *row, const struct driver *driver)
{
	struct value *degraded = value_add(row, "degraded", value_new_list());

	value_add(row, "cannot_enforce", value_new_text(driver->lacks ? driver->lacks : "nothing"));
	for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
		if (driver->degraded & 1u << layer)
			(void)value_append(degraded, value_new_text(layer_name((enum layer)layer)));
	}
}

/* What every driver needs, the caller's ids first of all. */
static int probe(const struct host *host, const struct driver *driver, struct error *err)
{
	struct spec_ids ids;

	if (plan_ids(host, &ids, err) < 0)
		return -1;
	return driver->probe ? driver->probe(err) : 0;
}

static void describe(const struct driver *driver, const char *why, const char *starts,
		     struct value *row)
{
	value_add(row, "name", value_new_text(driver->name));
	value_add(row, "available", value_new_bool(why == NULL));
	value_add(row, "isolation", value_new_text(driver->isolation));
	value_add(row, "strength", value_new_text(driver_strength_name(driver->strength)));
	value_add(row, "summary", value_new_text(driver->summary));
	add_lacks(row, driver);
	value_add(row, "exec", value_new_bool(driver->enter != NULL));
	value_add(row, "secrets", value_new_bool(driver->takes_secrets));
	driver_starts_add(starts, driver->name, row);
	value_add(row, "why", value_new_text(why));
}

int app_drivers(const char *const *environ, bool measures, struct value **ret_answer,
		struct error *err)
{
	owned(host_done) struct host host = { 0 };
	owned(strv_done) struct strv here = STRV_INIT;
	owned(str_done) struct str starts = STR_INIT;
	struct error why;

	if (host_read(&host, err) < 0)
		return -1;
	for (const struct driver *const *at = drivers; measures && *at; at++) {
		if (probe(&host, *at, &why) == 0)
			strv_add(&here, (*at)->name);
	}
	if (measures && driver_starts_measure(&host, environ, &here, err) < 0)
		return -1;
	driver_starts_read(&host, &starts);
	*ret_answer = value_new_list();
	for (const struct driver *const *at = drivers; *at; at++) {
		bool is_there = probe(&host, *at, &why) == 0;

		describe(*at, is_there ? NULL : why.text, str_cstr(&starts),
			 value_append(*ret_answer, value_new_map()));
	}
	return 0;
}
