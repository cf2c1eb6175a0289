/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel surface, part two: system calls on the state of the machine and of other processes (A013 to A029). */
#include "numbers.h"
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define P(x) ((long)(uintptr_t)(x))

/* Attached and let go again, so that success stops nobody for good. */
static long act_attach(void *arg)
{
	pid_t pid = *(pid_t *)arg;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0)
		return -1;
	waitpid(pid, NULL, 0);
	return ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static long act_seize(void *arg)
{
	return ptrace(PTRACE_SEIZE, *(pid_t *)arg, NULL, NULL);
}

static long act_vm_read(void *arg)
{
	char byte;
	struct iovec here = { &byte, 1 };
	struct iovec there = { (void *)(uintptr_t)0x1000, 1 };
	long rc = syscall(SYS_process_vm_readv, *(pid_t *)arg, &here, 1, &there, 1, 0);

	/* past the permission check the address is simply bad: that counts as in */
	return rc == -1 && errno == EFAULT ? 0 : rc;
}

static long act_vm_write(void *arg)
{
	char byte = 0;
	struct iovec here = { &byte, 1 };
	struct iovec there = { (void *)(uintptr_t)0x1000, 1 };
	long rc = syscall(SYS_process_vm_writev, *(pid_t *)arg, &here, 1, &there, 1, 0);

	return rc == -1 && errno == EFAULT ? 0 : rc;
}

static void peek_path(pid_t pid, const char *entry, int flags)
{
	char name[64], path[64];

	snprintf(name, sizeof(name), "proc-%s", entry);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, entry);
	report(name, open(path, flags | O_CLOEXEC));
}

/* A013: memory and descriptors of the process ARGV[0]; inside that is init. */
int attack_peek(int argc, char **argv)
{
	pid_t pid = argc > 0 ? atoi(argv[0]) : 1;
	char path[64], target[256];

	attempt("vm_readv", act_vm_read, &pid);
	attempt("vm_writev", act_vm_write, &pid);
	peek_path(pid, "mem", O_RDWR);
	peek_path(pid, "fd/0", O_RDONLY);
	peek_path(pid, "fd", O_RDONLY);
	peek_path(pid, "environ", O_RDONLY);
	peek_path(pid, "root", O_RDONLY);
	peek_path(pid, "cwd", O_RDONLY);
	peek_path(pid, "maps", O_RDONLY);
	peek_path(pid, "stack", O_RDONLY);
	peek_path(pid, "ns/mnt", O_RDONLY);
	peek_path(pid, "map_files", O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	report("proc-exe-link", readlink(path, target, sizeof(target)));
	peek_path(pid, "exe", O_RDONLY);
	attempt("seize", act_seize, &pid);
	attempt("attach", act_attach, &pid);
	return 0;
}

/* A015 */
int attack_unknown(int argc, char **argv)
{
	static const long numbers[] = {
		999, -1, 600, 1023, 0x7fffffff, 0x40000000 | 39, 0x40000000 | 165, 400, 423
	};
	char name[32];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct call call = { name, numbers[i], { 0 } };

		snprintf(name, sizeof(name), "number-%lx", (unsigned long)numbers[i]);
		attempt_calls(&call, 1);
	}
	return 0;
}

/* A026: every argument is one the kernel refuses, ignores or has already, so that a control run changes nothing. */
int attack_state(int argc, char **argv)
{
	struct utsname now;
	int named = uname(&now);
	size_t name_len = named < 0 ? 0 : strlen(now.nodename);
	size_t domain_len = named < 0 ? 0 : strlen(now.domainname);
	struct timex timex = { .modes = 0 };
	struct timespec bad_time = { .tv_sec = -1, .tv_nsec = -1 };
	const struct call calls[] = {
		{ "swapon", SYS_swapon, { P("/no-such-file"), 0, 0, 0, 0, 0 } },
		{ "swapoff", SYS_swapoff, { P("/no-such-file"), 0, 0, 0, 0, 0 } },
		{ "reboot", SYS_reboot, { 0, 0, 0, 0, 0, 0 } },
		{ "sethostname", SYS_sethostname, { P(now.nodename), (long)name_len, 0, 0, 0, 0 } },
		{ "setdomainname",
		  SYS_setdomainname,
		  { P(now.domainname), (long)domain_len, 0, 0, 0, 0 } },
		{ "settimeofday", SYS_settimeofday, { 0, 0, 0, 0, 0, 0 } },
		{ "clock_settime", SYS_clock_settime, { 0, P(&bad_time), 0, 0, 0, 0 } },
		{ "adjtimex", SYS_adjtimex, { P(&timex), 0, 0, 0, 0, 0 } },
		{ "clock_adjtime", SYS_clock_adjtime, { 0, P(&timex), 0, 0, 0, 0 } },
		{ "acct", SYS_acct, { P("/no-such-file"), 0, 0, 0, 0, 0 } },
		{ "syslog", SYS_syslog, { 10, 0, 0, 0, 0, 0 } },
		{ "vhangup", SYS_vhangup, { 0, 0, 0, 0, 0, 0 } },
		{ "quotactl", SYS_quotactl, { 0x7fffffff, 0, 0, 0, 0, 0 } },
		{ "quotactl_fd", SYS_quotactl_fd, { -1, 0, 0, 0, 0, 0 } },
#ifdef __x86_64__
		{ "iopl", SYS_iopl, { 0, 0, 0, 0, 0, 0 } },
		{ "ioperm", SYS_ioperm, { 0x80, 1, 0, 0, 0, 0 } },
		{ "modify_ldt", SYS_modify_ldt, { 0, 0, 0, 0, 0, 0 } },
		{ "uselib", SYS_uselib, { P("/no-such-file"), 0, 0, 0, 0, 0 } },
		{ "ustat", SYS_ustat, { 0, 0, 0, 0, 0, 0 } },
		{ "sysfs", SYS_sysfs, { 3, 0, 0, 0, 0, 0 } },
#endif
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	return 0;
}

static long act_pidfd_getfd(void *arg)
{
	long fd = syscall(SYS_pidfd_open, getppid(), 0);

	(void)arg;
	return fd < 0 ? -1 : syscall(SYS_pidfd_getfd, fd, 0, 0);
}

static long act_process_madvise(void *arg)
{
	long fd = syscall(SYS_pidfd_open, getppid(), 0);
	struct iovec range = { NULL, 4096 };

	(void)arg;
	return fd < 0 ? -1 : syscall(SYS_process_madvise, fd, &range, 1, 4, 0);
}

/* A027 */
int attack_snoop(int argc, char **argv)
{
	struct iovec handle = { NULL, 0 };
	int id;
	const struct call calls[] = {
		{ "fanotify_init", SYS_fanotify_init, { 0, 0, 0, 0, 0, 0 } },
		{ "fanotify_init-fid", SYS_fanotify_init, { 0x200, 0, 0, 0, 0, 0 } },
		{ "fanotify_mark", SYS_fanotify_mark, { -1, 1, 1, AT_FDCWD, P("/"), 0 } },
		{ "name_to_handle_at",
		  SYS_name_to_handle_at,
		  { AT_FDCWD, P("/"), P(&handle), P(&id), 0, 0 } },
		{ "kcmp", SYS_kcmp, { getpid(), getpid(), 1, 0, 0, 0 } },
		{ "process_mrelease", SYS_process_mrelease, { -1, 0, 0, 0, 0, 0 } },
		{ "move_pages", SYS_move_pages, { 0, 0, 0, 0, 0, 0 } },
		{ "migrate_pages", SYS_migrate_pages, { 0, 0, 0, 0, 0, 0 } },
		{ "remap_file_pages", SYS_remap_file_pages, { 0, 0, 1, 0, 0, 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	attempt("pidfd_getfd", act_pidfd_getfd, NULL);
	attempt("process_madvise", act_process_madvise, NULL);
	return 0;
}

/* A028 and its kin: calls libraries can do without. */
int attack_optional(int argc, char **argv)
{
	uint64_t request[8] = { 24, 0, 0, 0 };
	uint64_t room[64] = { 0 };
	unsigned long context = 0;
	struct iovec range = { room, 8 };
	const struct call calls[] = {
		{ "cachestat", NR_cachestat, { 0, P(request), P(room), 0, 0, 0 } },
		{ "statmount", NR_statmount, { P(request), P(room), sizeof(room), 0, 0, 0 } },
		{ "listmount", NR_listmount, { P(request), P(room), 8, 0, 0, 0 } },
		{ "listns", NR_listns, { P(request), P(room), 8, 0, 0, 0 } },
		{ "memfd_secret", NR_memfd_secret, { 0, 0, 0, 0, 0, 0 } },
		{ "lsm_get_self_attr", NR_lsm_get_self_attr, { 100, 0, P(room), 0, 0, 0 } },
		{ "lsm_set_self_attr", NR_lsm_set_self_attr, { 100, P(room), 8, 0, 0, 0 } },
		{ "lsm_list_modules", NR_lsm_list_modules, { P(room), P(request), 0, 0, 0, 0 } },
		{ "file_getattr", NR_file_getattr, { AT_FDCWD, P("/"), P(room), 24, 0, 0 } },
		{ "file_setattr", NR_file_setattr, { AT_FDCWD, P("/no-such"), P(room), 24, 0, 0 } },
		{ "set_mempolicy_home_node", NR_set_mempolicy_home_node, { 0, 0, 0, 0, 0, 0 } },
		{ "io_setup", SYS_io_setup, { 8, P(&context), 0, 0, 0, 0 } },
		{ "io_destroy", SYS_io_destroy, { 0, 0, 0, 0, 0, 0 } },
		{ "vmsplice", SYS_vmsplice, { -1, P(&range), 1, 0, 0, 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	return 0;
}

/* A029 */
int attack_personality(int argc, char **argv)
{
	const struct call calls[] = {
		{ "read-implies-exec", SYS_personality, { 0x400000, 0, 0, 0, 0, 0 } },
		{ "mmap-page-zero", SYS_personality, { 0x100000, 0, 0, 0, 0, 0 } },
		{ "limit-3gb", SYS_personality, { 0x8000000, 0, 0, 0, 0, 0 } },
		{ "compat-layout", SYS_personality, { 0x200000, 0, 0, 0, 0, 0 } },
		{ "high-half", SYS_personality, { (long)(0x400000ul | 1ul << 32), 0, 0, 0, 0, 0 } },
		{ "no-randomise-and-exec", SYS_personality, { 0x440000, 0, 0, 0, 0, 0 } },
	};

	(void)argc;
	(void)argv;
	attempt_calls(calls, COUNT(calls));
	return 0;
}
