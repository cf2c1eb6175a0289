/* SPDX-License-Identifier: Apache-2.0 */
/* Names tell whose a thing is, and when it is nobody's any more. */
#include "confine/owner.h"

#include "base/core/id.h"

#include "base/core/id.h"
#include "tests/tap.h"

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
	char name[OWNER_NAME_SIZE], wanted[OWNER_NAME_SIZE];

	owner_name("01JCABCDEFGHJKMNPQRSTVWXYZ", name);
	(void)snprintf(wanted, sizeof(wanted), "aisbx-%llu-%d-01JCABCDEFGHJKMNPQRSTVWXYZ",
		       own_namespace(), getpid());
	tap_is_str(name, wanted, "a name holds the supervisor's namespace and pid, and the run");
	tap_ok(owner_is_gone(name), "a number that is somebody else's by now says nothing");
	char run_id[ID_RUN_SIZE];
	struct error err;

	tap_ok(id_run(run_id, &err) == 0, "a run of now");
	owner_name(run_id, name);
	tap_ok(!owner_is_gone(name), "a living supervisor's thing is not gone");
	tap_ok(owner_is_young(name), "it is young");
	owner_name("01JCABCDEFGHJKMNPQRSTVWXYZ", name);
	tap_ok(!owner_is_young(name) && !owner_is_young("aisbx-1-2-RUN") &&
		       !owner_is_young("system.slice"),
	       "one of long ago is not, nor is what has no time");
	owner_name("7ZZZZZZZZZGHJKMNPQRSTVWXYZ", name);
	tap_ok(!owner_is_young(name), "nor is one of tomorrow: the clock was set back since");
}

static void test_gone(void)
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
	char name[OWNER_NAME_SIZE];
	bool spared = true;

	(void)snprintf(name, sizeof(name), "aisbx-%llu-%d-RUN", own_namespace(), dead_pid());
	tap_ok(owner_is_gone(name), "a dead one's is");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (owner_is_gone(others[i]))
			printf("# %s\n", others[i]);
		spared = spared && !owner_is_gone(others[i]);
	}
	tap_ok(spared, "names that are not ours are never gone");
	(void)snprintf(name, sizeof(name), "aisbx-%llu-1-RUN", own_namespace());
	tap_ok(!owner_is_gone(name), "nor is the thing of a process that is another's");
}

/* Whether their supervisors live cannot be asked from here. */
static void test_foreign(void)
{
	char name[OWNER_NAME_SIZE], id[ID_RUN_SIZE];
	struct error err = { 0 };

	if (id_run(id, &err) < 0)
		tap_bail(err.text);
	(void)snprintf(name, sizeof(name), "aisbx-1-%d-%s", dead_pid(), id);
	tap_ok(!owner_is_gone(name), "a young thing of another pid namespace is not gone");
	(void)snprintf(name, sizeof(name), "aisbx-1-%d-01D00000000000000000000000", getpid());
	tap_ok(owner_is_gone(name), "an old one is");
	(void)snprintf(name, sizeof(name), "aisbx-1-%d-RUN", dead_pid());
	tap_ok(!owner_is_gone(name), "one of unknown age is not");
}

int main(void)
{
	test_names();
	test_gone();
	test_foreign();
	return tap_done();
}
