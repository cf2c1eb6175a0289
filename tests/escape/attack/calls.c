/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel surface, part one: system calls that must be refused by number (A001 to A015, A026 to A029). */
#include "probe.h"
#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define P(x) ((long)(uintptr_t)(x))

struct flag {
	const char *name;
	unsigned long bit;
};

static const struct flag namespace_flags[] = {
	{ "mnt", CLONE_NEWNS },	   { "cgroup", CLONE_NEWCGROUP },
	{ "uts", CLONE_NEWUTS },   { "ipc", CLONE_NEWIPC },
	{ "user", CLONE_NEWUSER }, { "pid", CLONE_NEWPID },
	{ "net", CLONE_NEWNET },   { "time", 0x80 },
};

static long act_unshare(void *arg)
{
	return syscall(SYS_unshare, *(unsigned long *)arg);
}

/* A001: a nested namespace of each kind, alone and with a user namespace in front. */
int attack_namespaces(int argc, char **argv)
{
	char name[64];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT(namespace_flags); i++) {
		unsigned long flags = namespace_flags[i].bit;
		unsigned long high = flags | 1ul << 32;

		snprintf(name, sizeof(name), "unshare-%s", namespace_flags[i].name);
		attempt(name, act_unshare, &flags);
		flags |= CLONE_NEWUSER;
		snprintf(name, sizeof(name), "unshare-user-%s", namespace_flags[i].name);
		attempt(name, act_unshare, &flags);
		snprintf(name, sizeof(name), "unshare-high-%s", namespace_flags[i].name);
		attempt(name, act_unshare, &high);
	}
	return 0;
}

static long act_clone(void *arg)
{
	unsigned long flags = *(unsigned long *)arg | SIGCHLD;
	long pid;

#ifdef __s390x__
	pid = syscall(SYS_clone, 0, flags, 0, 0, 0);
#else
	pid = syscall(SYS_clone, flags, 0, 0, 0, 0);
#endif
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static long act_clone3(void *arg)
{
	uint64_t args[11] = { 0 };
	long pid;

	args[0] = *(unsigned long *)arg;
	args[4] = SIGCHLD;
	pid = syscall(SYS_clone3, args, sizeof(args));
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

/* A002: the same through clone and clone3, with and without rubbish in the upper half. */
int attack_clone(int argc, char **argv)
{
	char name[64];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT(namespace_flags); i++) {
		unsigned long flags = namespace_flags[i].bit;
		unsigned long high = flags | 1ul << 33;

		/* bit 7 is part of clone's exit signal, so a time namespace has no clone form */
		if (flags != 0x80) {
			snprintf(name, sizeof(name), "clone-%s", namespace_flags[i].name);
			attempt(name, act_clone, &flags);
			snprintf(name, sizeof(name), "clone-high-%s", namespace_flags[i].name);
			attempt(name, act_clone, &high);
		}
		snprintf(name, sizeof(name), "clone3-%s", namespace_flags[i].name);
		attempt(name, act_clone3, &flags);
	}
	return 0;
}

static long act_setns(void *arg)
{
	int fd = open(arg, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return syscall(SYS_setns, fd, 0);
}

static long act_setns_pidfd(void *arg)
{
	long fd = syscall(SYS_pidfd_open, getppid(), 0);

	(void)arg;
	if (fd < 0)
		return -1;
	return syscall(SYS_setns, fd, CLONE_NEWNET);
}

/* A004: joining namespaces, even one's own. */
int attack_setns(int argc, char **argv)
{
	static const char *const kinds[] = { "mnt",  "cgroup", "uts", "ipc",
					     "user", "pid",    "net", "time" };
	char path[64];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		attempt(kinds[i], act_setns, path);
	}
	attempt("pidfd", act_setns_pidfd, NULL);
	return 0;
}

/* A005: the mount calls of old; ARGV[0] is a directory that may be covered. */
int attack_mount_old(int argc, char **argv)
{
	const char *dir = argc > 0 ? argv[0] : "/mnt";
	const struct call calls[] = {
		{ "mount-tmpfs", SYS_mount, { P("none"), P(dir), P("tmpfs"), 0, 0, 0 } },
		{ "mount-bind", SYS_mount, { P("/"), P(dir), 0, MS_BIND | MS_REC, 0, 0 } },
		{ "mount-proc", SYS_mount, { P("proc"), P(dir), P("proc"), 0, 0, 0 } },
		{ "mount-sysfs", SYS_mount, { P("sysfs"), P(dir), P("sysfs"), 0, 0, 0 } },
		{ "mount-private", SYS_mount, { 0, P("/"), 0, MS_PRIVATE | MS_REC, 0, 0 } },
		{ "mount-remount", SYS_mount, { 0, P("/proc"), 0, MS_REMOUNT | MS_BIND, 0, 0 } },
		{ "umount", SYS_umount2, { P("/proc"), MNT_DETACH, 0, 0, 0, 0 } },
		{ "umount-root", SYS_umount2, { P("/no-such-place"), MNT_DETACH, 0, 0, 0, 0 } },
		{ "pivot_root", SYS_pivot_root, { P("/no-such"), P("/no-such"), 0, 0, 0, 0 } },
		{ "chroot", SYS_chroot, { P(dir), 0, 0, 0, 0, 0 } },
	};

	attempt_calls(calls, COUNT(calls));
	return 0;
}

/* A006: the mount calls of today. */
int attack_mount_new(int argc, char **argv)
{
	uint64_t attr[4] = { 0 };
	const struct call calls[] = {
		{ "fsopen-tmpfs", SYS_fsopen, { P("tmpfs"), 0, 0, 0, 0, 0 } },
		{ "fsopen-overlay", SYS_fsopen, { P("overlay"), 0, 0, 0, 0, 0 } },
		{ "open_tree", SYS_open_tree, { AT_FDCWD, P("/"), 1, 0, 0, 0 } },
		{ "open_tree-rec", SYS_open_tree, { AT_FDCWD, P("/"), 1 | AT_RECURSIVE, 0, 0, 0 } },
		{ "open_tree-path", SYS_open_tree, { AT_FDCWD, P("/"), 0, 0, 0, 0 } },
		{ "move_mount", SYS_move_mount, { -1, P(""), -1, P(""), 4 | 0x40, 0 } },
		{ "fspick", SYS_fspick, { AT_FDCWD, P("/"), 0, 0, 0, 0 } },
		{ "fsconfig", SYS_fsconfig, { -1, 6, 0, 0, 0, 0 } },
		{ "fsmount", SYS_fsmount, { -1, 0, 0, 0, 0, 0 } },
		{ "mount_setattr",
		  SYS_mount_setattr,
		  { -1, P(""), AT_EMPTY_PATH, P(attr), sizeof(attr), 0 } },
		{ "open_tree_attr",
		  NR_open_tree_attr,
		  { -1, P(""), AT_EMPTY_PATH, P(attr), sizeof(attr), 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	return 0;
}

/* A007 */
int attack_uring(int argc, char **argv)
{
	char params[120] = { 0 };
	const struct call calls[] = {
		{ "io_uring_setup", SYS_io_uring_setup, { 4, P(params), 0, 0, 0, 0 } },
		{ "io_uring_enter", SYS_io_uring_enter, { -1, 1, 0, 0, 0, 0 } },
		{ "io_uring_register", SYS_io_uring_register, { -1, 0, 0, 0, 0, 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	return 0;
}

/* A008 */
int attack_bpf(int argc, char **argv)
{
	uint32_t map[32] = { 2, 4, 4, 1 };
	uint32_t perf[32] = { 1, 128 };
	const struct call calls[] = {
		{ "bpf-map", SYS_bpf, { 0, P(map), sizeof(map), 0, 0, 0 } },
		{ "bpf-btf", SYS_bpf, { 18, P(map), sizeof(map), 0, 0, 0 } },
		{ "perf_event_open", SYS_perf_event_open, { P(perf), 0, -1, -1, 0, 0 } },
		{ "userfaultfd", SYS_userfaultfd, { 0, 0, 0, 0, 0, 0 } },
		{ "userfaultfd-user", SYS_userfaultfd, { 1, 0, 0, 0, 0, 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	report("dev-userfaultfd", open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
	return 0;
}

/* A009 */
int attack_keys(int argc, char **argv)
{
	const struct call calls[] = {
		{ "add_key", SYS_add_key, { P("user"), P("escape"), P("x"), 1, -2, 0 } },
		{ "request_key", SYS_request_key, { P("user"), P("escape"), 0, -2, 0, 0 } },
		{ "keyctl-get", SYS_keyctl, { 0, -3, 0, 0, 0, 0 } },
		{ "keyctl-join", SYS_keyctl, { 1, 0, 0, 0, 0, 0 } },
		{ "keyctl-user", SYS_keyctl, { 0, -4, 1, 0, 0, 0 } },
		{ "keyctl-persistent", SYS_keyctl, { 22, -1, -2, 0, 0, 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	return 0;
}

/* A011: arguments that no kernel accepts, so that the control run loads nothing. */
int attack_modules(int argc, char **argv)
{
	const struct call calls[] = {
		{ "init_module", SYS_init_module, { 0, 0, P(""), 0, 0, 0 } },
		{ "finit_module", SYS_finit_module, { -1, P(""), 0, 0, 0, 0 } },
		{ "delete_module",
		  SYS_delete_module,
		  { P("no_such_module_at_all"), O_NONBLOCK, 0, 0, 0, 0 } },
		{ "kexec_load", SYS_kexec_load, { 0, 0, 0, 0xffff, 0, 0 } },
		{ "kexec_file_load", NR_kexec_file_load, { -1, -1, 0, 0, 0xffff, 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	return 0;
}

struct handle {
	unsigned bytes;
	int type;
	uint32_t ino, generation;
	char room[120];
};

static long act_by_handle(void *arg)
{
	int mount_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return mount_fd < 0 ? -1 : syscall(SYS_open_by_handle_at, mount_fd, arg, O_RDONLY);
}

static long act_name_to_handle(void *arg)
{
	struct handle handle = { .bytes = 120 };
	int id;

	return syscall(SYS_name_to_handle_at, AT_FDCWD, arg, &handle, &id, 0);
}

/* A012: the walk by file handles that once left containers. */
int attack_handles(int argc, char **argv)
{
	char name[32];
	char root[] = "/";

	(void)argc;
	(void)argv;
	attempt("name_to_handle_at", act_name_to_handle, root);
	for (uint32_t ino = 2; ino < 34; ino++) {
		struct handle handle = { .bytes = 8, .type = 1, .ino = ino };

		snprintf(name, sizeof(name), "handle-%u", ino);
		attempt(name, act_by_handle, &handle);
	}
	return 0;
}
