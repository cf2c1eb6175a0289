/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of system calls, and which calls stand for each other. */
#include "confine/seccomp/seccomp_set.h"

#include "base/core/own.h"
#include "base/text/suggest.h"
#include "confine/seccomp/seccomp.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/*
 * What no program can do without, whichever C library it has: the dynamic loader, memory, threads' own state, signals,
 * reading and writing what is open, time, the ids it has. Also all that the launcher calls between filter and exec:
 * it receives the command, enters its directory, takes a terminal, applies Landlock and limits.
 */
static const char needed[] =
	"execve exit exit_group brk mmap munmap mprotect mremap madvise arch_prctl set_tid_address "
	"set_robust_list rseq futex futex_waitv futex_wait futex_wake futex_requeue "
	"map_shadow_stack mseal membarrier "
	"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend sigaltstack "
	"restart_syscall getpid gettid getppid tgkill "
	"read write readv writev pread64 pwrite64 lseek close close_range fcntl ioctl "
	"open openat openat2 creat stat lstat fstat newfstatat statx access faccessat faccessat2 "
	"readlink readlinkat getcwd chdir fchdir umask dup dup2 dup3 "
	"clock_gettime clock_getres gettimeofday time nanosleep clock_nanosleep "
	"getuid geteuid getgid getegid getresuid getresgid uname sysinfo getrandom "
	"getrlimit setrlimit prlimit64 prctl sched_yield sched_getaffinity getcpu "
	"sendmsg sendto recvmsg setsid getpriority setpriority "
	"landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp";

/* Beyond that: an init that stays starts, watches, stops and reaps commands, and removes the files of their secrets. */
static const char needed_to_stay[] =
	"clone fork wait4 waitid kill poll ppoll getdents64 unlinkat signalfd4";

/* And where renames are permitted, it prepares those of directories (launch/rename). */
static const char needed_to_move[] =
	"renameat renameat2 mkdirat fchmod fchown utimensat fgetxattr flistxattr fsetxattr alarm "
	"setitimer";

/*
 * Calls that do the same work. glibc, musl, bionic and their versions choose differently among them, newer kernels add
 * forms of old ones, and machines lack the old forms: a program that was seen with one of a row may use any of it.
 */
static const char *const kin[] = {
	"fork vfork clone clone3 wait4 waitid", /* whatever starts a process waits for it */
	"pipe pipe2",
	"poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
	"epoll_pwait2", /* event loops choose by what the library was built with */
	"eventfd eventfd2",
	"signalfd signalfd4 rt_sigtimedwait",
	"inotify_init inotify_init1 inotify_add_watch inotify_rm_watch",
	"timerfd_create timerfd_settime timerfd_gettime",
	"timer_create timer_settime timer_gettime timer_getoverrun timer_delete",
	"alarm setitimer getitimer",
	"getdents getdents64",
	"mkdir mkdirat",
	"rmdir unlink unlinkat", /* one call with a flag, or two */
	"rename renameat renameat2",
	"link linkat",
	"symlink symlinkat",
	"mknod mknodat", /* fifos: device nodes are refused */
	"chmod fchmod fchmodat fchmodat2",
	"chown lchown fchown fchownat",
	"utime utimes futimesat utimensat",
	"truncate ftruncate fallocate", /* posix_fallocate falls back to the others */
	"statfs fstatfs",
	"fsync fdatasync sync_file_range syncfs sync",
	"readahead fadvise64",
	"getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr listxattrat",
	"setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr "
	"removexattrat",
	"preadv preadv2 pwritev pwritev2",
	"sendfile copy_file_range splice tee", /* each is the fallback of another */
	"socket connect getsockname getpeername setsockopt getsockopt shutdown sendto sendmsg "
	"sendmmsg recvfrom recvmsg recvmmsg", /* a resolver uses any of these on what it opens */
	"socketpair socket shutdown getsockopt setsockopt recvfrom sendto recvmsg sendmsg",
	"bind listen accept accept4 getsockname",
	"kill tkill tgkill pidfd_send_signal pidfd_open rt_sigqueueinfo rt_tgsigqueueinfo",
	"getpgrp getpgid getsid setpgid setsid",
	"getgroups setgroups setuid setgid setreuid setregid setresuid setresgid setfsuid "
	"setfsgid", /* programs that give up privileges call any of them, to no effect here */
	"getpriority setpriority sched_getparam sched_setparam sched_getscheduler "
	"sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval "
	"sched_getattr sched_setattr",
	"mlock mlock2 munlock mlockall munlockall",
	"getrusage times",
	"capget capset",
	"mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
	"semget semop semctl semtimedop shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl",
	"pkey_alloc pkey_free pkey_mprotect",
	"pause ppoll",
};

/* Steps through words that a space parts. False at the end. */
static bool next_word(const char **at, char word[static 32])
{
	size_t len;

	*at += strspn(*at, " ");
	len = strcspn(*at, " ");
	if (len == 0 || len >= 32)
		return false;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return true;
}

int seccomp_set_add(struct seccomp_set *set, const char *name, struct error *err)
{
	int nr = seccomp_syscall_number(name);
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	if (nr >= 0 && nr < SECCOMP_ENTRIES_MAX) {
		set->has[nr] = true;
		return 0;
	}
	if (seccomp_is_elsewhere(name))
		return 0;
	suggest_init(&suggest, name);
	for (nr = 0; nr < SECCOMP_ENTRIES_MAX; nr++) {
		if (seccomp_syscall_name(nr))
			suggest_try(&suggest, seccomp_syscall_name(nr));
	}
	error_set(err, ERROR_INPUT, "syscalls: no system call '%s'", str_shown(name, shown));
	return suggest_add_hint(suggest.best, err);
}

static void add_words(struct seccomp_set *set, const char *words)
{
	struct error ignored;
	char word[32];

	while (next_word(&words, word))
		(void)seccomp_set_add(set, word, &ignored);
}

void seccomp_set_add_needed(struct seccomp_set *set, bool stays)
{
	static const char *const renames[] = { "rename", "renameat", "renameat2" };

	add_words(set, needed);
	if (stays)
		add_words(set, needed_to_stay);
	for (size_t i = 0; stays && i < sizeof(renames) / sizeof(renames[0]); i++) {
		int nr = seccomp_syscall_number(renames[i]);

		if (nr >= 0 && set->has[nr])
			add_words(set, needed_to_move);
	}
}

static void add_names(struct strv *names, const char *words)
{
	char word[32];

	while (next_word(&words, word)) {
		if (!strv_has(names, word))
			strv_add(names, word);
	}
}

static bool has_one_of(const struct strv *names, const char *words)
{
	char word[32];

	while (next_word(&words, word)) {
		if (strv_has(names, word))
			return true;
	}
	return false;
}

void seccomp_set_names(const struct seccomp_set *set, struct strv *ret_names)
{
	owned(strv_done) struct strv seen = STRV_INIT;

	for (int nr = 0; nr < SECCOMP_ENTRIES_MAX; nr++) {
		if (set->has[nr] && seccomp_syscall_name(nr))
			strv_add(&seen, seccomp_syscall_name(nr));
	}
	strv_copy(ret_names, &seen);
	/* By what was seen, not by what a row has added: else one row would pull in the next. */
	for (size_t i = 0; i < sizeof(kin) / sizeof(kin[0]); i++) {
		if (has_one_of(&seen, kin[i]))
			add_names(ret_names, kin[i]);
	}
	strv_sort(ret_names);
}

/* Refused by the filter built in anyway: its answer is the better one. */
static bool is_refused(int nr)
{
	enum seccomp_class class = seccomp_classify(nr);

	return class != SECCOMP_CLASS_ALLOW && class != SECCOMP_CLASS_ARGS;
}

int seccomp_set_compile(const struct seccomp_set *set, struct sock_fprog *ret, struct error *err)
{
	owned(free_ptr) struct seccomp_entry *entries =
		xcalloc(SECCOMP_ENTRIES_MAX, sizeof(*entries));
	owned(free_ptr) struct sock_filter *filter = xcalloc(BPF_MAXINSNS, sizeof(*filter));
	const struct seccomp_policy policy = {
		.arch = NATIVE_ARCH,
		.foreign = SECCOMP_RET_ALLOW,
		.unknown = SECCOMP_RET_ALLOW,
		.entries = entries,
		.entry_count = SECCOMP_ENTRIES_MAX,
	};
	size_t count = 0;

	for (uint32_t nr = 0; nr < SECCOMP_ENTRIES_MAX; nr++)
		entries[nr] = (struct seccomp_entry){
			.nr = nr,
			.otherwise = set->has[nr] || is_refused((int)nr) ? SECCOMP_RET_ALLOW
									 : SECCOMP_RET_USER_NOTIF,
		};
	if (seccomp_emit(&policy, filter, BPF_MAXINSNS, &count) < 0)
		return error_errno(err, ERROR_INTERNAL, "syscalls: cannot make the filter");
	ret->len = (unsigned short)count;
	ret->filter = ptr_take(&filter);
	return 0;
}
