/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel surface, part four: what a process is, and what it can become (A001, A023, A024). */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void status_of(const char *pid)
{
	static const char *const keys[] = { "CapInh", "CapPrm",	    "CapEff", "CapBnd",
					    "CapAmb", "NoNewPrivs", "Seccomp" };
	char path[64], line[256], name[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		for (size_t i = 0; i < COUNT(keys); i++) {
			if (strcmp(keys[i], line) != 0)
				continue;
			snprintf(name, sizeof(name), "%.20s.%s", pid, keys[i]);
			colon[strcspn(colon + 1, "\n") + 1] = '\0';
			report_text(name, "%s", colon + 1 + strspn(colon + 1, "\t "));
		}
	}
	fclose(file);
}

/* A023: capabilities, no_new_privs and filter of every process in sight. */
int attack_status(int argc, char **argv)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	(void)argc;
	(void)argv;
	if (!dir)
		return 1;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			status_of(entry->d_name);
	closedir(dir);
	report_text("securebits", "%x", (unsigned)prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	report_text("dumpable", "%d", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	return 0;
}

/* The ids of this process, for copies of this program with the setuid bit. */
int attack_ids(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	report_text("uid", "%u", getuid());
	report_text("euid", "%u", geteuid());
	report_text("egid", "%u", getegid());
	return 0;
}

static long act_setuid(void *arg)
{
	return setuid(*(uid_t *)arg);
}

static long act_setgroups(void *arg)
{
	gid_t group = *(gid_t *)arg;

	return setgroups(1, &group);
}

static long act_setfsuid(void *arg)
{
	uid_t before = geteuid();

	setfsuid(*(uid_t *)arg);
	if ((uid_t)setfsuid((uid_t)-1) == before) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

static long act_capset(void *arg)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { ~0u, ~0u, ~0u }, { 0x1ff, 0x1ff, 0x1ff } };

	(void)arg;
	return syscall(SYS_capset, &header, data);
}

static long act_ambient(void *arg)
{
	(void)arg;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0);
}

static long act_drop_nnp(void *arg)
{
	(void)arg;
	return prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static long act_securebits(void *arg)
{
	(void)arg;
	return prctl(PR_SET_SECUREBITS, 0, 0, 0, 0);
}

/* A024: gain by setuid files, file capabilities and the calls that change ids. ARGV[0]: a copy of this program. */
int attack_setuid(int argc, char **argv)
{
	static const uint32_t file_caps[5] = { 0x02000001, ~0u, 0, ~0u, 0 };
	uid_t other = geteuid() == 0 ? 1 : 0;

	if (argc < 1)
		return 2;
	report("chmod-4755", chmod(argv[0], 04755));
	report("chown-other", chown(argv[0], other, other));
	report("file-caps",
	       setxattr(argv[0], "security.capability", file_caps, sizeof(file_caps), 0));
	report("file-caps-v2",
	       setxattr(argv[0], "security.capability", file_caps, 20, XATTR_CREATE));
	attempt("setuid", act_setuid, &other);
	attempt("setgroups", act_setgroups, &other);
	attempt("setfsuid", act_setfsuid, &other);
	attempt("capset", act_capset, NULL);
	attempt("ambient", act_ambient, NULL);
	attempt("drop-nnp", act_drop_nnp, NULL);
	attempt("securebits", act_securebits, NULL);
	return 0;
}

static void show_limit(const char *name)
{
	char path[96], text[32] = "";
	int fd;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/sys/user/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		report(name, -1);
		return;
	}
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? strcspn(text, "\n") : 0] = '\0';
	report_text(name, "%s", text);
}

/* The second layer of A001: the kernel's own counters, which hold also without a filter. */
int attack_limits_namespaces(int argc, char **argv)
{
	static const char *const names[] = { "max_user_namespaces",   "max_mnt_namespaces",
					     "max_net_namespaces",    "max_pid_namespaces",
					     "max_ipc_namespaces",    "max_uts_namespaces",
					     "max_cgroup_namespaces", "max_time_namespaces",
					     "max_inotify_instances", "max_inotify_watches",
					     "max_fanotify_groups" };

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT(names); i++)
		show_limit(names[i]);
	return 0;
}
