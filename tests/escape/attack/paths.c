/* SPDX-License-Identifier: Apache-2.0 */
/* Filesystem isolation, part two: ways out of the root, descriptors, devices, mounts, masks (A036 to A053). */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void same_root(const char *name, const char *path)
{
	struct stat root, other;

	if (stat("/", &root) != 0 || stat(path, &other) != 0)
		report(name, -1);
	else
		report_text(name, "%s",
			    root.st_dev == other.st_dev && root.st_ino == other.st_ino ? "same"
										       : "ESCAPED");
}

/* A036: ARGV[0] is a file only the host has; each way out is tried for it. */
int attack_traverse(int argc, char **argv)
{
	static const char *const ways[] = { "/proc/self/root/..",
					    "/proc/self/root/../../..",
					    "/proc/1/root",
					    "/proc/1/root/..",
					    "/proc/self/cwd/../../../../../../../..",
					    "/proc/self/task/../root/..",
					    "/proc/thread-self/root/..",
					    "/dev/fd/../../../.." };
	char path[PATH_MAX];

	for (size_t i = 0; i < COUNT(ways); i++) {
		if (i != COUNT(ways) - 1)
			same_root(ways[i], ways[i]);
		snprintf(path, sizeof(path), "%s/%s", ways[i], argc > 0 ? argv[0] : "no-such");
		report_text("host-file", "%s", access(path, F_OK) == 0 ? "ESCAPED" : "hidden");
	}
	for (int i = 0; i < 100; i++)
		if (chdir("..") != 0)
			break;
	same_root("chdir-up", ".");
	report_text("host-file-here", "%s",
		    argc > 0 && access(argv[0], F_OK) == 0 ? "ESCAPED" : "hidden");
	return 0;
}

/* A037: every descriptor this process was born with, and where each leads. */
int attack_descriptors(int argc, char **argv)
{
	char link[64], target[PATH_MAX], name[64], way[64];
	int count = 0;

	for (int fd = 0; fd < 4096; fd++) {
		ssize_t len;

		if (fcntl(fd, F_GETFD) < 0)
			continue;
		count++;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		snprintf(name, sizeof(name), "fd-%d", fd);
		report_text(name, "%s", target);
		snprintf(way, sizeof(way), "/proc/self/fd/%d/../..", fd);
		if (access(way, F_OK) == 0)
			same_root(name, way);
		if (fd > 2 && argc > 0 && openat(fd, argv[0], O_RDONLY | O_CLOEXEC) >= 0)
			report_text(name, "ESCAPED");
	}
	report_text("descriptors", "%d", count);
	return 0;
}

/* A039: ARGV[0] is a directory to make nodes in. */
int attack_devices(int argc, char **argv)
{
	static const struct {
		const char *name;
		mode_t type;
		unsigned major, minor;
	} nodes[] = { { "mem", S_IFCHR, 1, 1 },
		      { "null", S_IFCHR, 1, 3 },
		      { "disk", S_IFBLK, 254, 0 },
		      { "loop", S_IFBLK, 7, 0 },
		      { "whiteout", S_IFCHR, 0, 0 } };
	char path[PATH_MAX], name[64];

	if (argc < 1)
		return 2;
	for (size_t i = 0; i < COUNT(nodes); i++) {
		dev_t dev = makedev(nodes[i].major, nodes[i].minor);

		snprintf(path, sizeof(path), "%s/node-%s", argv[0], nodes[i].name);
		snprintf(name, sizeof(name), "mknod-%s", nodes[i].name);
		report(name, mknod(path, nodes[i].type | 0666, dev));
		snprintf(name, sizeof(name), "mknodat-high-%s", nodes[i].name);
		snprintf(path, sizeof(path), "%s/node2-%s", argv[0], nodes[i].name);
		report(name, syscall(SYS_mknodat, AT_FDCWD, path,
				     (nodes[i].type | 0666) | 1ul << 32, dev));
	}
	snprintf(path, sizeof(path), "%s/node-fifo", argv[0]);
	report("mkfifo", mkfifo(path, 0600));
	return 0;
}

/* Opens each path of ARGV for reading and for writing, without waiting for a peer. */
int attack_open(int argc, char **argv)
{
	char name[PATH_MAX + 8];

	for (int i = 0; i < argc; i++) {
		snprintf(name, sizeof(name), "r:%s", argv[i]);
		report(name, open(argv[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC));
		snprintf(name, sizeof(name), "w:%s", argv[i]);
		report(name, open(argv[i], O_WRONLY | O_NONBLOCK | O_CLOEXEC));
	}
	return 0;
}

/* A040: overlay's private attributes on a directory and a file of the lower tree. ARGV: directory, file. */
int attack_overlay_xattrs(int argc, char **argv)
{
	static const char *const spaces[] = { "user", "trusted", "security" };
	static const char *const keys[] = { "redirect", "opaque", "metacopy", "origin",
					    "whiteout", "upper",  "impure" };
	char name[64];

	if (argc < 2)
		return 2;
	for (size_t s = 0; s < COUNT(spaces); s++) {
		for (size_t k = 0; k < COUNT(keys); k++) {
			snprintf(name, sizeof(name), "%s.overlay.%s", spaces[s], keys[k]);
			report(name, setxattr(argv[k % 2 ? 1 : 0], name, k == 0 ? "/etc" : "y",
					      k == 0 ? 4 : 1, 0));
		}
	}
	return 0;
}

/* A047: the mount table as the payload sees it, one line each. */
int attack_mounts(int argc, char **argv)
{
	char line[8192];
	FILE *file = fopen("/proc/self/mountinfo", "re");

	(void)argc;
	(void)argv;
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		report_text("mount", "%.780s", line);
	}
	return file ? 0 : 1;
}

/* A048: ARGV[0] is a read-only volume, ARGV[1] a file in it, ARGV[2] a writable directory. */
int attack_readonly(int argc, char **argv)
{
	char path[PATH_MAX];

	if (argc < 3)
		return 2;
	snprintf(path, sizeof(path), "%s/%s", argv[0], argv[1]);
	report("write", open(path, O_WRONLY | O_CLOEXEC));
	report("chmod", chmod(path, 0777));
	report("truncate", truncate(path, 0));
	report("unlink", unlink(path));
	report("utime", utimensat(AT_FDCWD, path, NULL, 0));
	report("remount", mount(NULL, argv[0], NULL, MS_REMOUNT | MS_BIND, NULL));
	{
		char to[PATH_MAX];

		snprintf(to, sizeof(to), "%s/linked-out", argv[2]);
		report("link-out", link(path, to));
		snprintf(to, sizeof(to), "%s/new", argv[0]);
		report("create", open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
		snprintf(to, sizeof(to), "%s/new-directory", argv[0]);
		report("mkdir", mkdir(to, 0755));
	}
	return 0;
}

static void write_one(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	char name[PATH_MAX + 8];

	snprintf(name, sizeof(name), "w:%s", path);
	report(name, fd < 0 ? -1 : write(fd, text, strlen(text)));
	if (fd >= 0)
		close(fd);
}

/* Writes each TEXT of ARGV pairs (path, text); the caller chooses what is harmless. */
int attack_write_files(int argc, char **argv)
{
	for (int i = 0; i + 1 < argc; i += 2)
		write_one(argv[i], argv[i + 1]);
	return 0;
}

/* A051: files through which a kernel starts programs of the host. Each gets back the value it has, where readable. */
int attack_helpers(int argc, char **argv)
{
	static const char *const paths[] = {
		"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe",
		"/proc/sys/kernel/hotplug",
		"/proc/sys/kernel/poweroff_cmd",
		"/proc/sys/fs/binfmt_misc/register",
		"/sys/kernel/uevent_helper",
		"/sys/fs/cgroup/release_agent",
		"/sys/fs/cgroup/memory/release_agent",
		"/proc/sysrq-trigger",
		"/proc/sys/kernel/panic",
		"/proc/sys/vm/drop_caches",
		"/proc/sys/kernel/usermodehelper/bset",
		"/proc/irq/0/smp_affinity",
		"/proc/sys/kernel/ns_last_pid",
		"/sys/power/state",
	};
	char value[512];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT(paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		ssize_t len = fd < 0 ? -1 : read(fd, value, sizeof(value) - 1);

		value[len > 0 ? len : 0] = '\0';
		if (fd >= 0)
			close(fd);
		fd = open(paths[i], O_WRONLY | O_CLOEXEC);
		/* only files that gave back their own value are written: a trigger is not pulled */
		if (fd >= 0 && len > 0)
			report(paths[i], write(fd, value, (size_t)len));
		else
			report(paths[i], fd);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* Deletes or covers a masked name, then looks whether anything came up from below. ARGV: path, canary text. */
int attack_remask(int argc, char **argv)
{
	char moved[PATH_MAX];
	int fd;

	if (argc < 2)
		return 2;
	report("open", open(argv[0], O_RDONLY | O_CLOEXEC));
	report("unlink", unlink(argv[0]));
	report("rmdir", rmdir(argv[0]));
	fd = open(argv[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	report("create", fd);
	if (fd >= 0)
		report("unlink-own", unlink(argv[0]));
	report("open-after", open(argv[0], O_RDONLY | O_CLOEXEC));
	snprintf(moved, sizeof(moved), "%s.moved", argv[0]);
	report("rename", rename(argv[0], moved));
	report("link", link(argv[0], moved));
	report("umount", umount2(argv[0], MNT_DETACH));
	return 0;
}

/* A033: runs `rm -rf --no-preserve-root ARGV[4]` behind the tripwire. */
int attack_wreck(int argc, char **argv)
{
	int status = 0;
	pid_t pid;

	if (argc < 5 || !tripwire_allows(argc, argv))
		return 3;
	report_text("tripwire", "passed");
	pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(126);
		execlp("rm", "rm", "-rf", "--no-preserve-root", argv[4], (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	report_text("wrecked", "%d", WEXITSTATUS(status));
	return 0;
}

static void swap_once(const char *link, const char *one, const char *two)
{
	char temporary[PATH_MAX];

	snprintf(temporary, sizeof(temporary), "%s.t", link);
	if (symlink(one, temporary) == 0)
		rename(temporary, link);
	if (symlink(two, temporary) == 0)
		rename(temporary, link);
}

/* A race: a name flips between a harmless file and a way out while another process reads through it. */
int attack_swap_race(int argc, char **argv)
{
	int escaped = 0;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = fork();
	if (pid == 0)
		for (;;)
			swap_once(argv[0], argv[1], argv[2]);
	for (int i = 0; i < 20000; i++) {
		int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
		char text[64] = "";

		if (fd < 0)
			continue;
		if (read(fd, text, sizeof(text) - 1) > 0 && strncmp(text, "CANARY", 6) == 0)
			escaped++;
		close(fd);
	}
	kill(pid, 9);
	waitpid(pid, NULL, 0);
	report_text("escaped", "%d", escaped);
	return 0;
}
