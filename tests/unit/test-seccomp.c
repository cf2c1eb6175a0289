/* SPDX-License-Identifier: Apache-2.0 */
/* The filters compiled in, both architectures, against the policy written down a second time. */
#include "tests/tap.h"
#include "tests/unit/bpf_run.h"

#include "confine/seccomp/seccomp.h"
#include "confine/seccomp/seccomp_build.h"

#include <errno.h>
#include <linux/audit.h>

#define ALLOW SECCOMP_RET_ALLOW
#define FAIL(number) (SECCOMP_RET_ERRNO | (number))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The policy in words, grouped by purpose and not by number, so that a slip in the table shows. */
static const char allowed[] =
	" brk mmap munmap mremap mprotect madvise msync mincore mlock mlock2 mlockall munlock"
	" munlockall membarrier pkey_alloc pkey_free pkey_mprotect memfd_create mseal"
	" map_shadow_stack get_mempolicy set_mempolicy mbind"
	" openat openat2 close close_range read write readv writev pread64 pwrite64 preadv pwritev"
	" preadv2 pwritev2 lseek dup dup3  flock fsync fdatasync sync_file_range syncfs"
	" ftruncate truncate fallocate fadvise64 readahead copy_file_range sendfile pipe2"
	" fstat newfstatat statx statfs fstatfs faccessat faccessat2 readlinkat getcwd chdir fchdir"
	" getdents64 umask mkdirat unlinkat linkat symlinkat fchmod fchmodat"
	" fchmodat2 fchown fchownat utimensat getxattr lgetxattr fgetxattr listxattr llistxattr"
	" flistxattr setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr getxattrat"
	" setxattrat listxattrat removexattrat"
	" ppoll pselect6 epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 eventfd2 signalfd4"
	" timerfd_create timerfd_settime timerfd_gettime inotify_init1 inotify_add_watch"
	" inotify_rm_watch futex futex_waitv futex_wake futex_wait futex_requeue"
	" execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid setpgid getsid"
	" setsid set_tid_address set_robust_list get_robust_list rseq prctl pidfd_open"
	" pidfd_send_signal getrusage times getpriority  getrlimit sched_yield"
	" sched_getaffinity  sched_getparam  sched_getscheduler"
	"  sched_getattr  sched_get_priority_max"
	" sched_get_priority_min sched_rr_get_interval ioprio_get  getcpu uname sysinfo"
	" getrandom restart_syscall ptrace process_vm_readv process_vm_writev"
	" rt_sigaction rt_sigprocmask rt_sigpending rt_sigqueueinfo rt_sigreturn rt_sigsuspend"
	" rt_sigtimedwait rt_tgsigqueueinfo sigaltstack kill tkill tgkill clock_gettime"
	" clock_getres clock_nanosleep gettimeofday nanosleep getitimer setitimer timer_create"
	" timer_settime timer_gettime timer_getoverrun timer_delete"
	" getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid"
	" setregid setresuid setresgid setfsuid setfsgid setgroups capget capset"
	" shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"
	" mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"
	" bind listen accept accept4 getsockname getpeername recvfrom sendmsg recvmsg sendmmsg"
	" recvmmsg shutdown getsockopt"
	" seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self"
	" open creat stat lstat access readlink getdents mkdir rmdir unlink link symlink"
	" chmod chown lchown utime utimes futimesat pipe dup2 poll select epoll_create epoll_wait"
	" eventfd signalfd inotify_init fork vfork getpgrp pause alarm time arch_prctl"
	" get_thread_area set_thread_area uretprobe uprobe ";

static const char refused[] =
	" acct add_key adjtimex bpf chroot clock_adjtime clock_settime create_module delete_module"
	" fanotify_init fanotify_mark finit_module fsconfig fsmount fsopen fspick init_module "
	"ioperm"
	" iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie migrate_pages modify_ldt mount"
	" mount_setattr move_mount move_pages name_to_handle_at nfsservctl open_by_handle_at"
	" open_tree open_tree_attr perf_event_open pidfd_getfd pivot_root process_madvise"
	" process_mrelease quotactl quotactl_fd reboot remap_file_pages request_key setdomainname"
	" sethostname setns settimeofday swapoff swapon sysfs syslog umount2 unshare uselib"
	" userfaultfd ustat vhangup ";

static const char checked[] =
	" clone socket socketpair setsockopt ioctl personality mknod mknodat prlimit64 setrlimit"
	" sync splice tee connect sendto sendmsg sendmmsg rename renameat renameat2 fcntl "
	"setpriority ioprio_set"
	" sched_setparam sched_setscheduler sched_setaffinity sched_setattr ";

struct variant {
	bool notify, splice, moves;
};

static unsigned bits_of(struct variant variant)
{
	return (unsigned)variant.notify | (unsigned)variant.splice << 1 |
	       (unsigned)variant.moves << 2;
}

static bool is_listed(const char *list, const char *name)
{
	char word[40];

	snprintf(word, sizeof(word), " %s ", name);
	return strstr(list, word) != NULL;
}

static bool is_one_of(uint64_t value, const uint64_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == value)
			return true;
	}
	return false;
}

static uint32_t denied(struct variant variant)
{
	return variant.notify ? SECCOMP_RET_USER_NOTIF : FAIL(EPERM);
}

static uint32_t model_socket(struct variant variant, const uint64_t *args)
{
	uint32_t family = (uint32_t)args[0];
	uint32_t type = (uint32_t)args[1] & 0xf;
	uint32_t protocol = (uint32_t)args[2];

	if (family == 1)
		return ALLOW;
	if (family == 16)
		return protocol == 0 ? ALLOW : FAIL(EPROTONOSUPPORT);
	if (family != 2 && family != 10)
		return FAIL(EAFNOSUPPORT);
	if (type == 3 || type == 10)
		return denied(variant);
	if (type != 1 && type != 2)
		return FAIL(ESOCKTNOSUPPORT);
	return is_one_of(protocol, (const uint64_t[]){ 0, 1, 6, 17, 58 }, 5)
		       ? ALLOW
		       : FAIL(EPROTONOSUPPORT);
}

static uint32_t model_setsockopt(struct variant variant, const uint64_t *args)
{
	uint32_t level = (uint32_t)args[1];
	uint32_t option = (uint32_t)args[2];

	if (level == 1 && is_one_of(option, (const uint64_t[]){ 26, 50, 51, 52 }, 4))
		return denied(variant);
	if (level == 1 && (option == 32 || option == 33))
		return FAIL(EPERM);
	if ((level == 6 && option == 31) || (level == 17 && option == 100))
		return FAIL(ENOPROTOOPT);
	return ALLOW;
}

static uint32_t model_mknod(struct variant variant, uint64_t mode)
{
	const uint64_t good[] = { 0, 0x1000, 0x8000, 0xc000 };

	return is_one_of(mode & 0xf000, good, COUNT(good)) ? ALLOW : denied(variant);
}

static uint32_t model_personality(struct variant variant, uint64_t flags)
{
	const uint64_t good[] = { 0, 8, 0x20000, 0x20008, 0x40000, 0xffffffff };

	return is_one_of((uint32_t)flags, good, COUNT(good)) ? ALLOW : denied(variant);
}

static uint32_t model_ioctl(struct variant variant, uint64_t command)
{
	const uint64_t bad[] = { 0x5412, 0x541c, 0x541d, 0x5423 };

	return is_one_of((uint32_t)command, bad, COUNT(bad)) ? denied(variant) : ALLOW;
}

static uint32_t model_prlimit(struct variant variant, const uint64_t *args)
{
	if ((uint32_t)args[1] == 4 && args[2])
		return FAIL(0);
	return (uint32_t)args[0] == 1 && args[2] ? denied(variant) : ALLOW;
}

/* Process, group, user are counted from FIRST on. */
static uint32_t model_priority(struct variant variant, const uint64_t *args, uint32_t first)
{
	uint32_t which = (uint32_t)args[0] - first;

	return which == 2 || (which < 2 && (uint32_t)args[1] == 1) ? denied(variant) : ALLOW;
}

static uint32_t model_checked(struct variant variant, const char *name, const uint64_t *args)
{
	uint32_t seen = variant.notify ? SECCOMP_RET_USER_NOTIF : ALLOW;
	uint32_t move = variant.notify && variant.moves ? SECCOMP_RET_USER_NOTIF : ALLOW;

	if (strcmp(name, "clone") == 0)
		return (uint32_t)args[0] & 0x7e020000 ? denied(variant) : ALLOW;
	if (strncmp(name, "rename", 6) == 0)
		return move;
	if (strcmp(name, "socket") == 0)
		return model_socket(variant, args);
	if (strcmp(name, "socketpair") == 0)
		return (uint32_t)args[0] == 1 ? ALLOW : FAIL(EAFNOSUPPORT);
	if (strcmp(name, "setsockopt") == 0)
		return model_setsockopt(variant, args);
	if (strcmp(name, "ioctl") == 0)
		return model_ioctl(variant, args[1]);
	if (strcmp(name, "personality") == 0)
		return model_personality(variant, args[0]);
	if (strncmp(name, "mknod", 5) == 0)
		return model_mknod(variant, args[name[5] ? 2 : 1]);
	if (strcmp(name, "prlimit64") == 0)
		return model_prlimit(variant, args);
	if (strcmp(name, "setpriority") == 0)
		return model_priority(variant, args, 0);
	if (strcmp(name, "ioprio_set") == 0)
		return model_priority(variant, args, 1);
	if (strncmp(name, "sched_", 6) == 0)
		return (uint32_t)args[0] == 1 ? denied(variant) : ALLOW;
	if (strcmp(name, "fcntl") == 0 && (uint32_t)args[1] == 1031)
		return (uint32_t)args[2] > 65536 ? FAIL(EPERM) : ALLOW;
	if (strcmp(name, "fcntl") == 0)
		return (uint32_t)args[1] == 1024 || (uint32_t)args[1] == 1040 ? FAIL(EINVAL)
									      : ALLOW;
	if (strcmp(name, "setrlimit") == 0)
		return (uint32_t)args[0] == 4 ? FAIL(0) : ALLOW;
	if (strcmp(name, "sync") == 0)
		return FAIL(0);
	if (strcmp(name, "connect") == 0 || strcmp(name, "sendmmsg") == 0)
		return seen;
	/* MSG_PROBE, without MSG_FASTOPEN */
	if (strcmp(name, "sendmsg") == 0)
		return ((uint32_t)args[2] & 0x20000010) == 0x10 ? ALLOW : seen;
	if (strcmp(name, "sendto") == 0)
		return args[4] ? seen : ALLOW;
	return variant.splice ? ALLOW : FAIL(EINVAL);
}

static const char *name_of(const struct seccomp_build *build, int nr)
{
	for (size_t i = 0; i < build->name_count; i++) {
		if (build->names[i].nr == nr)
			return build->names[i].name;
	}
	return NULL;
}

/* Looked up once per number: the lists are long. */
struct call {
	const char *name;
	const char *list; /* the one it stands in, or NULL */
};

static struct call call_of(const struct seccomp_build *build, int nr)
{
	const char *const lists[] = { allowed, refused, checked };
	struct call call = { .name = name_of(build, nr) };

	for (size_t i = 0; call.name && i < COUNT(lists); i++) {
		if (is_listed(lists[i], call.name))
			call.list = lists[i];
	}
	return call;
}

static uint32_t model(struct variant variant, struct call call, const uint64_t *args)
{
	if (call.list == allowed)
		return ALLOW;
	if (call.list == refused)
		return denied(variant);
	return call.list == checked ? model_checked(variant, call.name, args) : FAIL(ENOSYS);
}

/* clang-format off */
static const uint64_t samples[] = {
	0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 15, 16, 17, 18, 26, 27, 31, 32, 33, 38, 40, 49, 50, 51, 52, 53,
	58, 100, 132, 262, 1024, 1025, 1031, 1040, 0x10000, 0x10001, 0x801, 0x80002, 0x80803, 0x1000, 0x11ff, 0x2000, 0x6000, 0x81a4, 0xa000,
	0xc000, 0xf000, 0x12000, 0x20000, 0x20008, 0x20001, 0x40000, 0x40008, 0x5401, 0x5411,
	0x5412, 0x5413, 0x541c, 0x541d, 0x5422, 0x5423, 0x80045430, 0x2000000, 0x4000000, 0x8000000,
	0x10000000, 0x20000000, 0x40000000, 0x80000000, 0x3d0f00, 0x1200011, 0x7e020000, 0xffffffff,
};
/* clang-format on */

/* A sample, sometimes with bits above those the kernel looks at. */
static uint64_t pick(uint64_t *state)
{
	uint64_t value = samples[bpf_random(state) % COUNT(samples)];

	switch (bpf_random(state) % 5) {
	case 0:
		return value | (uint64_t)1 << 32;
	case 1:
		return value | 0xffffffff00000000U;
	case 2:
		return value | (uint64_t)1 << 63;
	default:
		return value;
	}
}

static bool agrees(const struct seccomp_build *build, struct variant variant, struct call call,
		   const struct seccomp_data *data)
{
	const struct sock_fprog *prog = &build->programs[bits_of(variant)];
	uint64_t args[6];

	memcpy(args, data->args, sizeof(args));
	uint32_t want = model(variant, call, args);
	uint32_t got = bpf_run(prog->filter, prog->len, data);
	if (got == want)
		return true;
	printf("# %s (%d) variant %x args %llx %llx %llx: got %x, want %x\n",
	       call.name ? call.name : "?", data->nr, bits_of(variant), data->args[0],
	       data->args[1], data->args[2], got, want);
	return false;
}

static bool number_agrees(const struct seccomp_build *build, struct variant variant, int nr)
{
	struct call call = call_of(build, nr);
	unsigned rounds = call.list == checked ? 10000 : 20;
	uint64_t state = 88172645463325252U + (uint64_t)nr;
	struct seccomp_data data = { .nr = nr, .arch = build->arch };

	for (unsigned i = 0; i < rounds; i++) {
		if (!agrees(build, variant, call, &data))
			return false;
		for (size_t a = 0; a < 6; a++)
			data.args[a] = pick(&state);
	}
	return true;
}

static void test_numbers(const struct seccomp_build *build, const char *arch,
			 struct variant variant)
{
	const int beyond[] = { -1, 999, 1000000, INT32_MAX, INT32_MIN, 0x40000000, 0x40000001 };
	const struct sock_fprog *prog = &build->programs[bits_of(variant)];
	unsigned wrong = 0;
	unsigned wrong_x32 = 0;

	tap_ok(bpf_is_valid(prog->filter, prog->len), "%s: the kernel would take the program",
	       arch);
	tap_ok(prog->len <= 1000, "%s: %u instructions", arch, prog->len);
	for (int nr = 0; nr <= 600; nr++) {
		wrong += !number_agrees(build, variant, nr);
		wrong_x32 += !number_agrees(build, variant, nr | 0x40000000);
	}
	for (size_t i = 0; i < COUNT(beyond); i++)
		wrong += !number_agrees(build, variant, beyond[i]);
	tap_is_int(wrong, 0, "%s: every number as the policy says (variant %x)", arch,
		   bits_of(variant));
	tap_is_int(wrong_x32, 0, "%s: x32 numbers do not exist", arch);
}

static void test_foreign(const struct seccomp_build *build, const char *arch,
			 struct variant variant)
{
	const uint32_t foreign[] = {
		AUDIT_ARCH_I386,   AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, 0,
		AUDIT_ARCH_RISCV64
	};
	const struct sock_fprog *prog = &build->programs[bits_of(variant)];
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(foreign); i++) {
		struct seccomp_data data = { .arch = foreign[i] };

		for (data.nr = -1; foreign[i] != build->arch && data.nr < 600; data.nr++)
			wrong +=
				bpf_run(prog->filter, prog->len, &data) != SECCOMP_RET_KILL_PROCESS;
	}
	tap_is_int(wrong, 0, "%s: any other architecture is killed", arch);
}

/* The bypass that a 64-bit comparison allows, by its own name. */
static void test_high_bits(const struct seccomp_build *build, const char *arch)
{
	const struct sock_fprog *prog = &build->programs[0];
	struct seccomp_data data = { .arch = build->arch };

	while (!name_of(build, data.nr) || strcmp(name_of(build, data.nr), "ioctl") != 0)
		data.nr++;
	data.args[1] = 0x5412 | (uint64_t)1 << 32;
	tap_is_int(bpf_run(prog->filter, prog->len, &data), FAIL(EPERM),
		   "%s: TIOCSTI with bit 32 is still TIOCSTI", arch);
}

static void test_names(void)
{
	tap_is_str(seccomp_syscall_name(seccomp_syscall_number("mount")), "mount",
		   "a name has a number and the number that name");
	tap_ok(seccomp_syscall_name(9999) == NULL, "a number beyond the table has no name");
	tap_ok(seccomp_syscall_name(-1) == NULL, "nor has -1");
	tap_is_int(seccomp_syscall_number("mountain"), -1, "an unknown name has no number");
	tap_ok(seccomp_is_elsewhere("socketcall"), "socketcall is known elsewhere");
	tap_ok(!seccomp_is_elsewhere("mount"), "mount is not");
	tap_is_int(seccomp_classify(seccomp_syscall_number("read")), SECCOMP_CLASS_ALLOW, "read");
	tap_is_int(seccomp_classify(seccomp_syscall_number("mount")), SECCOMP_CLASS_EPERM, "mount");
	tap_is_int(seccomp_classify(seccomp_syscall_number("clone")), SECCOMP_CLASS_ARGS, "clone");
	tap_is_int(seccomp_classify(seccomp_syscall_number("clone3")), SECCOMP_CLASS_ENOSYS,
		   "clone3");
	tap_is_int(seccomp_classify(5000), SECCOMP_CLASS_ENOSYS, "a number we do not know");
	tap_ok(seccomp_is_observed(seccomp_syscall_number("connect")) &&
		       seccomp_is_observed(seccomp_syscall_number("sendto")) &&
		       seccomp_is_observed(seccomp_syscall_number("sendmsg")) &&
		       seccomp_is_observed(seccomp_syscall_number("sendmmsg")) &&
		       !seccomp_is_observed(seccomp_syscall_number("mount")),
	       "connect and the sends are observed, mount is not");
}

int main(void)
{
	const struct {
		const char *name;
		const struct seccomp_build *build;
	} archs[] = {
		{ "x86_64", &seccomp_build_x86_64 },
		{ "aarch64", &seccomp_build_aarch64 },
	};

	for (size_t a = 0; a < COUNT(archs); a++) {
		for (unsigned v = 0; v < SECCOMP_VARIANTS; v++) {
			struct variant variant = { v & 1, v & 2, v & 4 };

			test_numbers(archs[a].build, archs[a].name, variant);
			test_foreign(archs[a].build, archs[a].name, variant);
		}
		test_high_bits(archs[a].build, archs[a].name);
	}
	test_names();
	return tap_done();
}
