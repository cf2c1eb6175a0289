/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls: ranges of ids, names, and the machine's root in a user namespace. */
#include "base/core/own.h"
#include "host/host.h"
#include "host/parts.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

/* One machine's id files and the base that must come of them. */
static uid_t pick(const char *subuid, const char *subgid, const char *passwd)
{
	struct scratch scratch;

	scratch_open(&scratch);
	owned(free_ptr) char *subuid_path = scratch_write(&scratch, "subuid", subuid);
	owned(free_ptr) char *subgid_path = scratch_write(&scratch, "subgid", subgid);
	owned(free_ptr) char *passwd_path = scratch_write(&scratch, "passwd", passwd);
	struct host_id_files files = { .passwd = passwd_path,
				       .subuid = subuid_path,
				       .subgid = subgid_path };
	uid_t base = host_pick_id_base(&files, 0);

	scratch_close(&scratch);
	return base;
}

static void test_id_base(void)
{
	struct host_id_files nowhere = { .passwd = "/nowhere/p",
					 .subuid = "/nowhere/u",
					 .subgid = "/nowhere/g" };

	tap_is_int(host_pick_id_base(&nowhere, 0), 0x70000000, "no files: the first range");
	tap_is_int(host_pick_id_base(&nowhere, 3), 0x70030000, "another choice: another range");
	tap_ok(host_pick_id_base(&nowhere, ~0U) <= 0x7ffe0000, "no choice leads out of the ranges");
	tap_is_int(
		pick("alice:100000:65536\n", "alice:100000:65536\n", "root:x:0:0::/root:/bin/sh\n"),
		0x70000000, "a user's range elsewhere does not matter");
	tap_is_int(pick("root:300000:65536\n", "root:300000:65536\n", ""), 300000,
		   "root's own range wins");
	tap_is_int(pick("0:300000:100000\n", "root:300000:65536\n", ""), 300000,
		   "also when named by number");
	tap_is_int(pick("root:300000:65536\n", "root:400000:65536\n", ""), 0x70000000,
		   "not when the two files disagree");
	tap_is_int(pick("root:300000:1000\n", "root:300000:1000\n", ""), 0x70000000,
		   "not when it is too small");
	tap_is_int(pick("root:0:65536\n", "root:0:65536\n", ""), 0x70000000,
		   "not when it would hold host root");
	tap_is_int(pick("bob:1879048192:65536\n", "", ""), 0x70010000,
		   "a taken range is passed over");
	tap_is_int(pick("", "bob:1879113727:1\n", ""), 0x70010000, "one id of it is enough");
	tap_is_int(pick("", "", "svc:x:1879048200:5::/:/bin/sh"), 0x70010000,
		   "a user of passwd too");
	tap_is_int(pick("a:1879113728:65536\nb:1879048192:65536\n", "", "c:x:1879179270:0::/:\n"),
		   0x70030000, "all lines count, in whatever order");
	tap_is_int(pick("a:1879048192:400000000\n", "", ""), 0, "no range free: none is taken");
	tap_is_int(pick("junk\n::\na:b:c\na:99999999999:1\n\n", "", "x\n"), 0x70000000,
		   "nonsense lines are passed over");
}

static void test_passwd(void)
{
	struct scratch scratch;
	char *user, *home;

	scratch_open(&scratch);
	owned(free_ptr) char *path = scratch_write(&scratch, "passwd",
						   "root:x:0:0:root:/root:/bin/bash\n"
						   "broken\n"
						   "u:x:1000:1000:U,,,:/home/u:/bin/sh\n"
						   "v:x:1001:1001::relative:/bin/sh\n");

	host_read_passwd(path, 1000, &user, &home);
	tap_is_str(user, "u", "name of an id");
	tap_is_str(home, "/home/u", "home of an id");
	free(user);
	free(home);
	host_read_passwd(path, 1001, &user, &home);
	tap_is_str(user, "v", "name, where the home is no path");
	tap_ok(!home, "a relative home is none");
	free(user);
	host_read_passwd(path, 4711, &user, &home);
	tap_ok(!user && !home, "an id without a line");
	scratch_close(&scratch);
}

/* Writes one line over a map of this process. */
static bool write_map(const char *path, const char *line)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
}

/* Exit code of a child that is UID inside a user namespace of its own: 0 and 1 say is_host_root, 2 neither. */
static int ask_inside(uid_t uid)
{
	static const struct host_id_files files = { "/etc/passwd", "/etc/subuid", "/etc/subgid" };
	owned(free_ptr) char *line = xasprintf("%u %u 1\n", (unsigned)uid, (unsigned)getuid());
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct host host = { 0 };
		struct error err;

		if (unshare(CLONE_NEWUSER) < 0 || !write_map("/proc/self/uid_map", line))
			_exit(2);
		_exit(host_read_ids(&host, &files, &err) < 0 ? 3 : host.is_host_root);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status);
}

static void test_root_inside(void)
{
	int as_root = ask_inside(0), as_other = ask_inside(1000);

	if (as_root == 2 || as_other == 2) {
		tap_skip(2, "user namespaces cannot be made here");
		return;
	}
	/* This process may itself be inside one: then its uid 0 need not be the machine's. */
	bool is_root = getuid() == 0;

	tap_ok(is_root || as_root == 0, "uid 0 inside that is a plain user outside is not root");
	tap_ok(as_root == as_other, "whatever the namespace calls it");
	struct host host;
	struct error err;

	if (host_read(&host, &err) == 0) {
		tap_ok(!host.in_initial_userns || as_root == 1,
		       "the machine's root is known inside");
		host_done(&host);
	}
}

int main(void)
{
	test_id_base();
	test_passwd();
	test_root_inside();
	return tap_done();
}
