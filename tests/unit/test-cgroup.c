/* Names of control groups: they tell whose they are, and when nobody's any more. */
#include "confine/cgroup.h"

#include "base/id.h"
#include "tests/tap.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pid that was somebody's a moment ago. */
static pid_t dead_pid(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	(void)waitpid(child, NULL, 0);
	return child;
}

static unsigned long long own_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0)
		tap_bail("no pid namespace");
	return st.st_ino;
}

static void test_names(void)
{
	char name[CGROUP_NAME_SIZE], wanted[CGROUP_NAME_SIZE];

	cgroup_name("01JCABCDEFGHJKMNPQRSTVWXYZ", name);
	(void)snprintf(wanted, sizeof(wanted), "aisbx-%llu-%d-01JCABCDEFGHJKMNPQRSTVWXYZ",
		       own_namespace(), getpid());
	tap_is_str(name, wanted, "a name holds the supervisor's namespace and pid, and the run");
	tap_ok(!cgroup_is_stale(name), "a living supervisor's group is not stale");
}

static void test_stale(void)
{
	static const char *const others[] = {
		"",
		"system.slice",
		"aisbx",
		"aisbx-",
		"aisbx-RUN",
		"aisbx-12",
		"aisbx--1-RUN",
		"aisbx-0-RUN",
		"xaisbx-1-RUN",
		"aisbx-1x-RUN",
		"aisbx-1-1",
		"aisbx-1-0-01D00000000000000000000000",
		"aisbx--1-5-01D00000000000000000000000",
		"aisbx-5-01D00000000000000000000000",
	};
	char name[CGROUP_NAME_SIZE];
	bool spared = true;

	(void)snprintf(name, sizeof(name), "aisbx-%llu-%d-RUN", own_namespace(), dead_pid());
	tap_ok(cgroup_is_stale(name), "a dead one's is");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (cgroup_is_stale(others[i]))
			printf("# %s\n", others[i]);
		spared = spared && !cgroup_is_stale(others[i]);
	}
	tap_ok(spared, "names that are not ours are never stale");
	(void)snprintf(name, sizeof(name), "aisbx-%llu-1-RUN", own_namespace());
	tap_ok(!cgroup_is_stale(name), "nor is the group of a process that is another's");
}

/* Whether their supervisors live cannot be asked from here. */
static void test_foreign(void)
{
	char name[CGROUP_NAME_SIZE], id[ID_RUN_SIZE];
	struct error err = { 0 };

	if (id_run(id, &err) < 0)
		tap_bail(err.text);
	(void)snprintf(name, sizeof(name), "aisbx-1-%d-%s", dead_pid(), id);
	tap_ok(!cgroup_is_stale(name), "a young group of another pid namespace is not stale");
	(void)snprintf(name, sizeof(name), "aisbx-1-%d-01D00000000000000000000000", getpid());
	tap_ok(cgroup_is_stale(name), "an old one is");
	(void)snprintf(name, sizeof(name), "aisbx-1-%d-RUN", dead_pid());
	tap_ok(!cgroup_is_stale(name), "one of unknown age is not");
}

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
	tap_is_int((long long)group.count, 0, "nothing was made");
	cgroup_read(&group, true, &usage);
	tap_ok(!usage.has_cpu && usage.peak_memory_bytes == 0, "no group has no figures");
	tap_is_int(cgroup_remove(&group, 0), 0, "and is easily removed");
	cgroup_done(&group);
}

int main(void)
{
	test_names();
	test_stale();
	test_foreign();
	test_refused();
	return tap_done();
}
