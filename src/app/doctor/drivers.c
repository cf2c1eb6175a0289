/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers as data: what each is, what it cannot enforce, and whether this machine has it. */
#include "app/doctor/drivers.h"

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
static int probe(const struct driver *driver, struct error *err)
{
	owned(host_done) struct host host = { 0 };
	struct spec_ids ids;

	if (host_read(&host, err) < 0 || plan_ids(&host, &ids, err) < 0)
		return -1;
	return driver->probe ? driver->probe(err) : 0;
}

void app_drivers(struct value **ret_answer)
{
	struct value *list = value_new_list();

	for (const struct driver *const *at = drivers; *at; at++) {
		const struct driver *driver = *at;
		struct value *row = value_append(list, value_new_map());
		struct error why = { .code = ERROR_NONE };
		bool is_there = probe(driver, &why) == 0;

		value_add(row, "name", value_new_text(driver->name));
		value_add(row, "available", value_new_bool(is_there));
		value_add(row, "isolation", value_new_text(driver->isolation));
		value_add(row, "strength", value_new_text(driver_strength_name(driver->strength)));
		value_add(row, "summary", value_new_text(driver->summary));
		add_lacks(row, driver);
		value_add(row, "exec", value_new_bool(driver->enter != NULL));
		value_add(row, "secrets", value_new_bool(driver->takes_secrets));
		value_add(row, "why", is_there ? value_new_null() : value_new_text(why.text));
	}
	*ret_answer = list;
}
