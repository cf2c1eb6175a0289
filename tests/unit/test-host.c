/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the host: mountinfo, directories and cgroups, on made-up machines and on this one. */
#include "host/host.h"

#include "base/core/own.h"
#include "host/parts.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <limits.h>

static const char machine[] =
	"22 27 0:21 / /proc rw,relatime - proc proc rw\n"
	"27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n"
	"30 27 8:1 / /a\\040b\\134c ro,nosuid - xfs /dev/sda1 rw\n"
	"31 27 8:2 /sub /srv rw - ext4 /dev/sdb\\0401 ro\n"
	"32 27 0:50 / /data rw - tmpfs  rw,size=4k";

static int parse(const char *text, struct host *ret_host)
{
	struct error err;

	memset(ret_host, 0, sizeof(*ret_host));
	return host_parse_mountinfo(text, strlen(text), &ret_host->mounts, &ret_host->mount_count,
				    &err);
}

static void test_mountinfo(void)
{
	struct host host;

	if (!tap_ok(parse(machine, &host) == 0, "mountinfo of a usual machine is read"))
		return;
	const struct host_mount *mounts = host.mounts;

	tap_is_int((long long)host.mount_count, 5,
		   "every line is a mount, also one without newline");
	tap_is_int(mounts[1].id, 27, "id");
	tap_is_int(mounts[1].parent, 1, "parent");
	tap_ok(mounts[1].major == 254 && mounts[1].minor == 0, "device");
	tap_is_str(mounts[1].point, "/", "optional fields are skipped");
	tap_is_str(mounts[1].fstype, "ext4", "type");
	tap_is_str(mounts[1].super_options, "rw,discard", "options of the filesystem");
	tap_is_str(mounts[2].point, "/a b\\c", "octal escapes are undone");
	tap_ok(mounts[2].readonly, "a read-only mount");
	tap_ok(mounts[3].readonly, "a read-only filesystem");
	tap_ok(!mounts[1].readonly, "a writable one");
	tap_is_str(mounts[3].root, "/sub", "root inside the filesystem");
	tap_is_str(mounts[3].source, "/dev/sdb 1", "escapes in the source");
	tap_is_str(mounts[4].source, "", "an empty source");
	tap_ok(mounts[1].is_directory && !mounts[3].is_directory,
	       "only a filesystem's own root is known to be a directory");
	host_done(&host);
	tap_ok(parse("", &host) == 0 && host.mount_count == 0, "no text, no mounts");
}

static void test_malformed(void)
{
	static const char *const bad[] = {
		"x",
		"\n",
		"22\n",
		"22 27\n",
		"22 27 0:21\n",
		"22 27 021 / /proc rw - proc proc rw\n",
		"22 27 0: / /proc rw - proc proc rw\n",
		"a 27 0:21 / /proc rw - proc proc rw\n",
		"22 99999999999 0:21 / /proc rw - proc proc rw\n",
		"22 27 0:21 / /proc rw shared:1\n",
		"22 27 0:21 / /proc rw - proc\n",
		"22 27 0:21 / /proc rw - proc proc\n",
		"22 27 0:21 / proc rw - proc proc rw\n",
	};
	struct host_mount *mounts;
	struct error err;
	struct host host;
	size_t count;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(parse(bad[i], &host) < 0, "refused: line %zu of the bad ones", i + 1);
	tap_ok(host_parse_mountinfo("22 27 0:21 / /p\0c rw - a b rw\n", 31, &mounts, &count, &err) <
		       0,
	       "refused: a NUL byte");
	tap_ok(host_parse_mountinfo("1 1 0:1 / / rw - a b rw\nx\n", 26, &mounts, &count, &err) <
			       0 &&
		       strstr(err.text, "line 2"),
	       "the error names the line");
}

static void test_classes(void)
{
	tap_is_int(host_mount_class("ext4"), MOUNT_REAL, "ext4 is real");
	tap_is_int(host_mount_class("overlay"), MOUNT_REAL, "overlay is real");
	tap_is_int(host_mount_class("proc"), MOUNT_KERNEL, "proc is the kernel's");
	tap_is_int(host_mount_class("cgroup2"), MOUNT_KERNEL, "cgroup2 is the kernel's");
	tap_is_int(host_mount_class("nfs4"), MOUNT_REMOTE, "nfs4 is remote");
	tap_is_int(host_mount_class("fuse.sshfs"), MOUNT_REMOTE, "every fuse.* is remote");
	tap_is_int(host_mount_class("fuseblk"), MOUNT_REMOTE, "fuseblk is remote");
	tap_ok(host_mount_class("bdev") == MOUNT_KERNEL &&
		       host_mount_class("mqueue") == MOUNT_KERNEL &&
		       host_mount_class("tracefs") == MOUNT_KERNEL,
	       "the kernel's table is sorted");
	tap_ok(host_mount_class("9p") == MOUNT_REMOTE && host_mount_class("gfs2") == MOUNT_REMOTE &&
		       host_mount_class("vmhgfs") == MOUNT_REMOTE,
	       "so is that of remote ones");
}

static void test_visibility(void)
{
	struct host host;

	parse("1 0 8:1 / / rw - ext4 a rw\n"
	      "2 1 8:2 / /mnt/a rw - ext4 b rw\n"
	      "3 1 8:3 / /mnt rw - ext4 c rw\n"
	      "4 1 8:4 / /x rw - ext4 d rw\n"
	      "5 4 8:5 / /x rw - ext4 e rw\n"
	      "6 5 8:6 / /x/y rw - ext4 f rw\n"
	      "7 7 8:7 / /loop rw - ext4 g rw\n",
	      &host);
	tap_ok(host_mount_is_visible(&host, &host.mounts[0]), "the root is seen");
	tap_ok(!host_mount_is_visible(&host, &host.mounts[1]), "mounted over later by its parent");
	tap_ok(host_mount_is_visible(&host, &host.mounts[2]), "the one on top is seen");
	tap_ok(!host_mount_is_visible(&host, &host.mounts[3]), "below another at the same place");
	tap_ok(host_mount_is_visible(&host, &host.mounts[4]), "the later one at a place is seen");
	tap_ok(host_mount_is_visible(&host, &host.mounts[5]), "and what lies in it");
	tap_ok(!host_mount_is_visible(&host, &host.mounts[6]),
	       "a mount that is its own parent hangs nothing and hangs on nothing");
	host_done(&host);
}

/* Environment of one case: NAME=VALUE pairs over an empty one. */
static void read_dirs(struct host *host, const char *passwd, const char *home, const char *data,
		      const char *runtime)
{
	struct error err;

	memset(host, 0, sizeof(*host));
	host->uid = getuid();
	clearenv();
	if (home)
		(void)setenv("HOME", home, 1);
	if (data)
		(void)setenv("XDG_DATA_HOME", data, 1);
	if (runtime)
		(void)setenv("XDG_RUNTIME_DIR", runtime, 1);
	if (host_read_dirs(host, passwd, &err) < 0)
		tap_bail(err.text);
}

static void test_dirs(void)
{
	struct scratch scratch;
	struct host host;

	scratch_open(&scratch);
	scratch_mkdir(&scratch, "home/.local/share");
	scratch_mkdir(&scratch, "other");
	owned(free_ptr) char *home = scratch_path(&scratch, "home");
	owned(free_ptr) char *other = scratch_path(&scratch, "other");
	owned(free_ptr) char *link = scratch_path(&scratch, "link");
	owned(free_ptr) char *state = scratch_path(&scratch, "home/.local/state");
	owned(free_ptr) char *data = xasprintf("%s//./new/", other);
	owned(free_ptr) char *line = xasprintf("me:x:%u:1::%s:/bin/sh\n", (unsigned)getuid(), home);
	owned(free_ptr) char *passwd = scratch_write(&scratch, "passwd", line);
	owned(free_ptr) char *want = NULL;

	if (symlink(home, link) < 0 || symlink(other, state) < 0)
		tap_bail("symlink");
	read_dirs(&host, passwd, link, data, other);
	tap_is_str(host.home, home, "HOME is resolved");
	tap_is_str(host.user, "me", "without USER the name comes from passwd");
	want = xasprintf("%s/new/aisbx", other);
	tap_is_str(host.data_dir, want,
		   "XDG_DATA_HOME counts, tidied, though it does not exist yet");
	free(want);
	want = xasprintf("%s/aisbx", other);
	tap_is_str(host.state_dir, want, "a link below HOME is followed");
	tap_is_str(host.runtime_dir, want, "sockets are kept in XDG_RUNTIME_DIR");
	free(want);
	want = xasprintf("%s/.cache/aisbx", home);
	tap_is_str(host.cache_dir, want, "the default below HOME");
	free(want);
	want = xasprintf("%s/.config/aisbx", home);
	tap_is_str(host.config_dir, want, "configuration is always below HOME");
	host_done(&host);
	read_dirs(&host, passwd, "relative", "relative/data", NULL);
	tap_is_str(host.home, home, "a relative HOME does not count: passwd does");
	tap_ok(strstr(host.data_dir, "/home/.local/share/aisbx") != NULL,
	       "a relative XDG variable does not count");
	tap_is_str(host.runtime_dir, host.data_dir, "sockets are kept in the store otherwise");
	host_done(&host);
	(void)setenv("HOME", "/etc/../root", 1);
	(void)setenv("LOGNAME", "log", 1);
	struct error err;

	memset(&host, 0, sizeof(host));
	host.uid = getuid();
	tap_ok(host_read_dirs(&host, passwd, &err) == 0 && strcmp(host.user, "log") == 0,
	       "LOGNAME stands in for USER, '..' in HOME for nothing");
	host_done(&host);
	scratch_close(&scratch);
}

/* Whether a caller with HOME, and nothing but it, is refused for its home. */
static bool refuses_home(const char *passwd, const char *home)
{
	struct host host = { .uid = getuid() };
	struct error err = { 0 };

	clearenv();
	(void)setenv("HOME", home, 1);
	bool is_refused = host_read_dirs(&host, passwd, &err) < 0 && err.code == ERROR_DENIED &&
			  strstr(err.text, "home directory is /");

	host_done(&host);
	return is_refused;
}

static void test_system_homes(void)
{
	static const char *const homes[] = { "/", "/etc", "/usr/share", "/var/lib", "/nowhere" };
	struct scratch scratch;
	struct host host = { .uid = getuid() };
	struct error err;

	scratch_open(&scratch);
	owned(free_ptr) char *line =
		xasprintf("me:x:%u:1::%s:/bin/sh\n", (unsigned)getuid(), scratch.dir);
	owned(free_ptr) char *passwd = scratch_write(&scratch, "passwd", line);
	owned(free_ptr) char *link = scratch_path(&scratch, "link");

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		tap_ok(refuses_home("/nowhere", homes[i]), "nothing is kept in %s", homes[i]);
		read_dirs(&host, passwd, homes[i], NULL, NULL);
		tap_is_str(host.home, scratch.dir, "%s: passwd says better", homes[i]);
		host_done(&host);
	}
	if (symlink("/usr/share", link) < 0)
		tap_bail("symlink");
	tap_ok(refuses_home("/nowhere", link), "nor where a link leads there");
	host = (struct host){ .uid = getuid() };
	(void)setenv("HOME", "/", 1);
	(void)setenv("XDG_STATE_HOME", scratch.dir, 1);
	(void)setenv("XDG_DATA_HOME", scratch.dir, 1);
	(void)setenv("XDG_CACHE_HOME", scratch.dir, 1);
	tap_ok(host_read_dirs(&host, "/nowhere", &err) == 0 && strcmp(host.home, "/") == 0,
	       "a daemon that names its directories may live in /");
	tap_ok(host.user && host.user[0] >= '0' && host.user[0] <= '9',
	       "the id stands for an unknown name");
	host_done(&host);
	clearenv();
	scratch_close(&scratch);
}

/* A machine with cgroup mounts at DIR. */
static void find_groups(struct host *host, const char *mounts, const char *groups, const char *dir)
{
	owned(str_done) struct str text = STR_INIT;

	for (; *mounts; mounts++) {
		if (*mounts == '@')
			str_add(&text, dir);
		else
			str_add_char(&text, *mounts);
	}
	if (parse(str_cstr(&text), host) < 0)
		tap_bail("mounts of the test");
	host_find_cgroup(host, groups);
}

static bool is_below(const char *path, const char *dir, const char *rest)
{
	owned(free_ptr) char *want = xasprintf("%s%s", dir, rest);

	return path && strcmp(path, want) == 0;
}

static void test_cgroup_v1(void)
{
	struct scratch scratch;
	struct host host;

	scratch_open(&scratch);
	scratch_mkdir(&scratch, "memory/box");
	scratch_mkdir(&scratch, "pids");
	scratch_mkdir(&scratch, "cpu/box");
	find_groups(&host,
		    "1 0 0:1 / @/memory rw - cgroup cgroup rw,memory\n"
		    "2 0 0:2 / @/pids rw - cgroup cgroup rw,pids\n"
		    "3 0 0:3 /top @/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		    "4 0 0:4 / @/unified rw - cgroup2 cgroup2 rw\n",
		    "4:cpuacct,cpu:/top/box\n3:pids:/\n2:memory:/box\n1:name=systemd:/\n0::/\n",
		    scratch.dir);
	tap_is_int(host.cgroup.kind, CGROUP_V1, "a hybrid machine counts as v1");
	tap_ok(is_below(host.cgroup.memory_path, scratch.dir, "/memory/box"), "own memory group");
	tap_ok(is_below(host.cgroup.pids_path, scratch.dir, "/pids"), "own pids group at the top");
	tap_ok(is_below(host.cgroup.cpu_path, scratch.dir, "/cpu/box"),
	       "a mount that shows a part of the tree");
	tap_ok(!host.cgroup.cpuacct_path, "one group for cpu and cpuacct where they are joined");
	host_done(&host);
	find_groups(&host,
		    "1 0 0:1 / @/memory ro - cgroup cgroup rw,memory\n"
		    "3 0 0:3 /elsewhere @/cpu rw - cgroup cgroup rw,cpu\n"
		    "2 0 0:2 / @/absent rw - cgroup cgroup rw,pids\n",
		    "4:cpu:/top/box\n3:pids:/\n2:memory:/box\n5:cpuset:/../..\n", scratch.dir);
	tap_is_int(host.cgroup.kind, CGROUP_NONE,
		   "read-only, foreign and absent hierarchies are of no use");
	host_done(&host);
	find_groups(&host, "", "junk\n::\n", scratch.dir);
	tap_is_int(host.cgroup.kind, CGROUP_NONE, "no mounts, no groups");
	host_done(&host);
	scratch_close(&scratch);
}

/* A v2 group that the caller may use. */
static void make_group(const struct scratch *scratch, const char *name, const char *subtree)
{
	const char *const files[][2] = {
		{ "cgroup.procs", "1\n2\n" },
		{ "cgroup.subtree_control", subtree },
		{ "cgroup.controllers", "cpuset cpu io memory hugetlb pids\n" },
		{ "cgroup.type", "domain\n" },
		{ "memory.max", "max\n" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		owned(free_ptr) char *path = xasprintf("%s%s", name, files[i][0]);

		free(scratch_write(scratch, path, files[i][1]));
	}
}

static void find_v2(struct host *host, const struct scratch *scratch, const char *group)
{
	owned(free_ptr) char *line = xasprintf("0::%s\n", group);

	find_groups(host, "1 0 0:1 / @ rw - cgroup2 cgroup2 rw\n", line, scratch->dir);
}

static void forget(const struct scratch *scratch, const char *name)
{
	owned(free_ptr) char *path = scratch_path(scratch, name);

	(void)unlink(path);
}

static void test_cgroup_v2(void)
{
	struct scratch scratch;
	struct host host;
	char own[32];

	scratch_open(&scratch);
	make_group(&scratch, "", "memory pids\n");
	forget(&scratch, "cgroup.type");
	make_group(&scratch, "slice/", "cpu memory pids\n");
	make_group(&scratch, "slice/mid/", "\n");
	make_group(&scratch, "slice/mid/scope/", "\n");
	find_v2(&host, &scratch, "/");
	tap_is_int(host.cgroup.kind, CGROUP_V2, "the machine's root group may hold groups");
	tap_ok(is_below(host.cgroup.v2_path, scratch.dir, ""), "it is the place");
	host_done(&host);
	find_v2(&host, &scratch, "/slice/mid/scope");
	tap_ok(is_below(host.cgroup.v2_path, scratch.dir, "/slice"),
	       "the nearest group above with controllers switched on");
	tap_ok(!host.cgroup.v2_is_own, "nobody has to move");
	host_done(&host);
	free(scratch_write(&scratch, "slice/mid/scope/memory.max", "1048576\n"));
	find_v2(&host, &scratch, "/slice/mid/scope");
	tap_is_int(host.cgroup.kind, CGROUP_NONE,
		   "a memory limit of the caller's own is not left behind");
	host_done(&host);
	(void)snprintf(own, sizeof(own), "%ld\n", (long)getpid());
	free(scratch_write(&scratch, "slice/mid/scope/cgroup.procs", own));
	find_v2(&host, &scratch, "/slice/mid/scope");
	tap_ok(host.cgroup.v2_is_own &&
		       is_below(host.cgroup.v2_path, scratch.dir, "/slice/mid/scope"),
	       "alone in a delegated group: that one, after moving to a leaf");
	host_done(&host);
	free(scratch_write(&scratch, "slice/mid/scope/memory.max", "max\n"));
	free(scratch_write(&scratch, "slice/mid/scope/cgroup.procs", "1\n"));
	forget(&scratch, "slice/mid/cgroup.procs");
	find_v2(&host, &scratch, "/slice/mid/scope");
	tap_is_int(host.cgroup.kind, CGROUP_NONE, "a group that may not be used ends the search");
	host_done(&host);
	find_v2(&host, &scratch, "/../elsewhere");
	tap_is_int(host.cgroup.kind, CGROUP_NONE, "a group outside the mount");
	host_done(&host);
	scratch_close(&scratch);
}

static void test_here(void)
{
	struct host host;
	struct error err;

	if (!tap_ok(host_read(&host, &err) == 0, "this machine can be read"))
		return;
	tap_is_int(host.uid, getuid(), "uid");
	tap_ok(host.memory_bytes > (uint64_t)16 << 20, "memory");
	tap_ok(host.cores >= 1, "cores");
	tap_ok(host.open_files > 0, "open files");
	tap_ok(host.mount_count > 0, "mounts");
	tap_ok(host.home[0] == '/' && host.cwd[0] == '/' && host.data_dir[0] == '/', "directories");
	tap_ok(host.privileged == (host.id_count == 65536), "a range of ids for root only");
	tap_ok(!host.privileged || (host.uid == 0 && host.id_base >= 65536), "never host root's");
	bool found = false;

	for (size_t i = 0; i < host.mount_count; i++)
		found |= strcmp(host.mounts[i].point, "/") == 0 && host.mounts[i].ino != 0;
	tap_ok(found, "the root's identity was looked at");
	host_done(&host);
	tap_ok(!host.home && host.mount_count == 0, "nothing is left after host_done");
}

/* Facts that are read again have the mounts that are remembered, for a while. */
static void test_memory(void)
{
	struct host_memory memory = HOST_MEMORY_INIT;
	struct host first, again;
	struct error err;

	if (!tap_ok(host_read_self(&first, &err) == 0 && host_read_rest(&memory, &first, &err) == 0,
		    "facts with a memory"))
		return;
	tap_ok(first.mount_count > 0 && first.mounts == memory.mounts, "their mounts are in it");
	host_done(&first);
	/* As if it had been read long ago: it is read anew. */
	memory.read_ns = 0;
	tap_ok(host_read_self(&again, &err) == 0 && host_read_rest(&memory, &again, &err) == 0 &&
		       memory.read_ns != 0 && again.mount_count == memory.count,
	       "what is old is read again");
	host_done(&again);
	host_memory_done(&memory);
	tap_ok(memory.fd < 0 && memory.count == 0, "nothing is left of it");
}

int main(void)
{
	test_mountinfo();
	test_malformed();
	test_classes();
	test_visibility();
	test_cgroup_v1();
	test_cgroup_v2();
	test_here();
	test_memory();
	test_dirs();
	test_system_homes();
	return tap_done();
}
