/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel surface, part three: attacks on the filter itself (A015, A023, A024, A030, A031). */
#include "probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#ifdef __x86_64__
static long act_int80(void *arg)
{
	long rc;

	/* 20 is getpid in the 32-bit table, 21 is mount */
	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(*(long *)arg), "b"(0), "c"(0), "d"(0)
			 : "memory");
	if (rc < 0) {
		errno = (int)-rc;
		return -1;
	}
	return rc;
}
#endif

/* A015: calls by the 32-bit table from a 64-bit program. */
int attack_foreign_abi(int argc, char **argv)
{
	(void)argc;
	(void)argv;
#ifdef __x86_64__
	long getpid_nr = 20, mount_nr = 21;

	attempt("int80-getpid", act_int80, &getpid_nr);
	attempt("int80-mount", act_int80, &mount_nr);
#else
	report_text("int80-getpid", "absent");
	report_text("int80-mount", "absent");
#endif
	return 0;
}

static long install(unsigned action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { COUNT(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static long mount_now(void)
{
	return syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0);
}

static long act_allow(void *arg)
{
	(void)arg;
	return install(SECCOMP_RET_ALLOW, 0) < 0 ? -1 : mount_now();
}

static long act_trace(void *arg)
{
	(void)arg;
	return install(SECCOMP_RET_TRACE, 0) < 0 ? -1 : mount_now();
}

/* A listener of our own says CONTINUE to the mount of a child. */
static long act_notify(void *arg)
{
	long listener = install(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	struct seccomp_notif request = { 0 };
	struct seccomp_notif_resp answer = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	int status;
	pid_t pid;

	(void)arg;
	if (listener < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		_exit(mount_now() == 0 ? 0 : errno);
	/* a stronger refusal of the outer filter never reaches us: then only the child's status tells */
	for (int i = 0; i < 50 && waitpid(pid, &status, WNOHANG) == 0; i++) {
		struct timespec pause = { .tv_nsec = 20000000 };

		if (fcntl((int)listener, F_SETFL, O_NONBLOCK) == 0 &&
		    syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0) {
			answer.id = request.id;
			syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
		}
		nanosleep(&pause, NULL);
	}
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return errno == 0 ? 0 : -1;
}

/* A030: filters of the payload's own on top; none may loosen ours. */
int attack_filter(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	attempt("allow", act_allow, NULL);
	attempt("notify", act_notify, NULL);
	attempt("trace", act_trace, NULL);
	return 0;
}

#ifdef __x86_64__
static long set_number(pid_t pid, long number)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), number);
}

static long get_answer(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rax), NULL);
}
#else
static long set_number(pid_t pid, long number)
{
	int nr = (int)number;
	struct iovec iov = { &nr, sizeof(nr) };

	return ptrace(PTRACE_SETREGSET, pid, (void *)0x404, &iov);
}

static long get_answer(pid_t pid)
{
	uint64_t regs[34];
	struct iovec iov = { regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov) != 0)
		return -1;
	return (long)regs[0];
}
#endif

static void traced_child(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	syscall(SYS_getppid, "none", "/tmp", "tmpfs", 0, 0);
	_exit(0);
}

/* Lets the child enter a harmless call and makes it another one on the way in. */
static long act_swap(void *arg)
{
	int status;
	long answer;
	pid_t pid = fork();

	(void)arg;
	if (pid == 0)
		traced_child();
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
	       (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	/* SIGSTOP's own delivery calls restart nothing: this stop is the entry of getppid */
	if (set_number(pid, SYS_mount) != 0)
		return -1;
	if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	answer = get_answer(pid);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (answer < 0) {
		errno = (int)-answer;
		return -1;
	}
	return 0;
}

/* Sibling of A030: the number is changed by a tracer after the call was entered. */
int attack_swap_number(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	attempt("swap", act_swap, NULL);
	return 0;
}

struct storm {
	unsigned seed;
	long *made; /* shared by all children */
};

/* Calls that would only end, stop or block the storm itself. */
static bool spoils_storm(long number)
{
	static const long skipped[] = { SYS_exit,
					SYS_exit_group,
					SYS_rt_sigsuspend,
					SYS_rt_sigreturn,
					SYS_wait4,
					SYS_waitid,
					SYS_rt_sigtimedwait,
					SYS_ppoll,
					SYS_pselect6,
					SYS_futex,
#ifdef __x86_64__
					SYS_pause,
					SYS_poll,
					SYS_select,
					SYS_vfork,
					SYS_fork,
#endif
					SYS_kill,
					SYS_rt_sigqueueinfo,
					SYS_rt_tgsigqueueinfo,
					SYS_pidfd_send_signal,
					SYS_ptrace,
					SYS_tkill,
					SYS_tgkill,
					SYS_clone,
					SYS_rt_sigaction,
					SYS_close_range,
					SYS_munmap,
					SYS_brk,
					SYS_setrlimit,
					SYS_prlimit64,
					SYS_rt_sigprocmask,
					SYS_nanosleep,
					SYS_clock_nanosleep,
					SYS_flock };

	for (size_t i = 0; i < COUNT(skipped); i++)
		if (skipped[i] == number)
			return true;
	return false;
}

static long storm_argument(unsigned *seed, void *scratch)
{
	switch (rand_r(seed) % 6) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		return rand_r(seed) % 64;
	case 3:
		return (long)(uintptr_t)scratch;
	case 4:
		return rand_r(seed);
	default:
		return (long)((unsigned long)rand_r(seed) << 32 | (unsigned)rand_r(seed));
	}
}

static void *storm_thread(void *arg)
{
	struct storm *storm = arg;
	char scratch[4096] = "/";

	for (int i = 0; i < 20000; i++) {
		long number = rand_r(&storm->seed) % 600;
		long a[6];

		for (size_t k = 0; k < COUNT(a); k++)
			a[k] = storm_argument(&storm->seed, scratch);
		if (spoils_storm(number))
			continue;
		__atomic_fetch_add(storm->made, 1, __ATOMIC_RELAXED);
		syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	return NULL;
}

static void storm_child(unsigned seed, long *made)
{
	pthread_t threads[8];
	struct storm storms[COUNT(threads)];

	for (size_t i = 0; i < COUNT(threads); i++) {
		storms[i] = (struct storm){ seed * 977 + (unsigned)i, made };
		if (pthread_create(&threads[i], NULL, storm_thread, &storms[i]) != 0)
			_exit(1);
	}
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* Waits for a child that may well be stuck in a call it made at random: two seconds, then it is ended. */
static void ended(pid_t pid)
{
	struct timespec pause = { .tv_nsec = 20000000 };

	for (int i = 0; i < 100; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A031: ARGV: the tripwire's four, calls, seconds. A child that hurts itself is replaced by the next. */
int attack_storm(int argc, char **argv)
{
	long *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned round = 0;
	long total = 0;
	time_t end;

	if (!tripwire_allows(argc, argv) || argc < 6 || made == MAP_FAILED)
		return 3;
	end = time(NULL) + atol(argv[5]);
	while (total < atol(argv[4]) && time(NULL) < end) {
		pid_t pid;

		/* the calls may well write over their own counter: believe it only within reason */
		*made = 0;
		pid = fork();
		round++;
		if (pid == 0)
			storm_child(round, made);
		if (pid > 0)
			ended(pid);
		if (*made > 0 && *made < 200000)
			total += *made;
	}
	report_text("storm", "%ld", total);
	report_text("rounds", "%u", round);
	return 0;
}
