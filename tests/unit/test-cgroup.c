/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups where none can be made. */
#include "confine/cgroup.h"

#include "tests/tap.h"

#include <errno.h>

/* Places that cannot hold a group: refused, nothing left behind. */
static void test_refused(void)
{
	const struct cgroup_place none = { .unified = false };
	const struct cgroup_place gone = { .unified = true, .v2_path = "/no/such/place" };
	const struct spec_limits limits = { .mem_bytes = 1 << 20 };
	struct cgroup group;
	struct cgroup_usage usage;
	struct error err = { 0 };

	cgroup_init(&group);
	tap_ok(cgroup_create(&none, "aisbx-1-T", &limits, &group, &err) < 0 && err.text[0],
	       "no hierarchy: %s", err.text);
	errno = 0;
	const struct cgroup_place nowhere = { .unified = true };

	tap_ok(cgroup_create(&nowhere, "aisbx-1-T", &limits, &group, &err) < 0 &&
		       !strstr(err.text, "Success"),
	       "no group to make one in: %s", err.text);
	tap_ok(cgroup_create(&gone, "aisbx-1-T", &limits, &group, &err) < 0 && err.text[0],
	       "no such place: %s", err.text);
	tap_ok(cgroup_create_share(&none, "aisbx-1-T", 500, &group, &err) < 0 &&
		       cgroup_create_share(&gone, "aisbx-1-T", 500, &group, &err) < 0 &&
		       err.text[0],
	       "nor a share of the CPU: %s", err.text);
	tap_is_int((long long)group.count, 0, "nothing was made");
	cgroup_read(&group, true, &usage);
	tap_ok(!usage.has_cpu && usage.peak_memory_bytes == 0, "no group has no figures");
	tap_is_int(cgroup_remove(&group, 0), 0, "and is easily removed");
	cgroup_done(&group);
}

int main(void)
{
	test_refused();
	return tap_done();
}
