/* SPDX-License-Identifier: Apache-2.0 */
/* The filter in the running kernel: its answers, what the listener is told, its price. */
#include "tests/tap.h"
#include "tests/unit/net_calls.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "confine/notify.h"
#include "confine/seccomp/seccomp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One call in a child behind the filter: the errno it ended with, 0 for success. */
struct attempt {
	const char *name;
	long (*call)(void);
	int plain, with_splice;
};

static long try_getpid(void)
{
	return syscall(SYS_getppid);
}

static long try_mount(void)
{
	return syscall(SYS_mount, "none", "/nowhere", "tmpfs", 0, NULL);
}

static long try_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long try_unknown(void)
{
	return syscall(5000);
}

static long try_namespace(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
}

static long try_vsock(void)
{
	return socket(AF_VSOCK, SOCK_STREAM, 0);
}

static long try_raw(void)
{
	return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static long try_seqpacket(void)
{
	return socket(AF_INET, SOCK_SEQPACKET, 0);
}

static long try_mptcp(void)
{
	return socket(AF_INET, SOCK_STREAM, 262);
}

static long try_audit(void)
{
	return socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);
}

static long try_route(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

static long try_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static long try_tiocsti(void)
{
	return syscall(SYS_ioctl, -1, TIOCSTI | 1UL << 32, "x");
}

static long try_personality(void)
{
	return syscall(SYS_personality, PER_LINUX | READ_IMPLIES_EXEC);
}

static long try_device(void)
{
	return syscall(SYS_mknodat, AT_FDCWD, "/nowhere/null", S_IFCHR | 0600, 0x103);
}

static long try_fifo(void)
{
	return syscall(SYS_mknodat, AT_FDCWD, "/nowhere/fifo", S_IFIFO | 0600, 0);
}

/* Success that changed nothing. */
static long try_core(void)
{
	struct rlimit before, after;
	const struct rlimit zero = { 0, 0 };

	if (getrlimit(RLIMIT_CORE, &before) < 0 || setrlimit(RLIMIT_CORE, &zero) < 0 ||
	    getrlimit(RLIMIT_CORE, &after) < 0)
		return -1;
	errno = EBADMSG;
	return before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max ? 0 : -1;
}

static long try_sync(void)
{
	return syscall(SYS_sync);
}

static long try_splice(void)
{
	return splice(-1, NULL, -1, NULL, 1, 0);
}

static long try_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static const struct attempt attempts[] = {
	{ "getppid", try_getpid, 0, 0 },
	{ "mount", try_mount, EPERM, EPERM },
	{ "clone3", try_clone3, ENOSYS, ENOSYS },
	{ "number 5000", try_unknown, ENOSYS, ENOSYS },
	{ "clone with a new namespace", try_namespace, EPERM, EPERM },
	{ "AF_VSOCK", try_vsock, EAFNOSUPPORT, EAFNOSUPPORT },
	{ "raw socket", try_raw, EPERM, EPERM },
	{ "SEQPACKET over IP", try_seqpacket, ESOCKTNOSUPPORT, ESOCKTNOSUPPORT },
	{ "MPTCP", try_mptcp, EPROTONOSUPPORT, EPROTONOSUPPORT },
	{ "NETLINK_AUDIT", try_audit, EPROTONOSUPPORT, EPROTONOSUPPORT },
	{ "NETLINK_ROUTE", try_route, 0, 0 },
	{ "UDP socket", try_udp, 0, 0 },
	{ "TIOCSTI with bit 32", try_tiocsti, EPERM, EPERM },
	{ "READ_IMPLIES_EXEC", try_personality, EPERM, EPERM },
	{ "device node", try_device, EPERM, EPERM },
	{ "fifo", try_fifo, ENOENT, ENOENT },
	{ "core limit", try_core, 0, 0 },
	{ "sync", try_sync, 0, 0 },
	{ "splice", try_splice, EINVAL, EBADF },
	{ "io_uring", try_io_uring, ENOSYS, ENOSYS },
};

static void load_or_exit(unsigned variant, int *ret_listener)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    seccomp_load(seccomp_builtin(variant), variant & SECCOMP_VARIANT_NOTIFY, ret_listener) <
		    0)
		_exit(255);
}

/* Errno of the attempt, or -1. */
static int run_attempt(const struct attempt *attempt, bool splice)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		load_or_exit(splice ? SECCOMP_VARIANT_SPLICE : 0, NULL);
		_exit(attempt->call() < 0 ? errno : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void test_answers(void)
{
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *attempt = &attempts[i];

		tap_is_int(run_attempt(attempt, false), attempt->plain, "%s", attempt->name);
		if (attempt->plain != attempt->with_splice)
			tap_is_int(run_attempt(attempt, true), attempt->with_splice,
				   "%s where it is on", attempt->name);
	}
}

/*
 * Behind the filter with a listener; an empty network namespace stands in for the sandbox's. The
 * first step that went wrong, or 0.
 */
static int payload(void)
{
	const char *one[] = { "192.0.2.6", "192.0.2.7", "192.0.2.8" };
	bool steps[20];
	size_t count = 0;

	steps[count++] = try_mount() < 0 && errno == EPERM;
	steps[count++] = try_raw() < 0 && errno == EPERM;
	steps[count++] = try_vsock() < 0 && errno == EAFNOSUPPORT;
	steps[count++] = connect_to(AF_INET, SOCK_STREAM, "192.0.2.1", 443) == ENETUNREACH;
	steps[count++] = connect_to(AF_INET, SOCK_DGRAM, "192.0.2.2", 53) == ENETUNREACH;
	steps[count++] = connect_to(AF_INET, SOCK_DGRAM, "192.0.2.3", 0) == ENETUNREACH;
	steps[count++] = connect_to(AF_INET, SOCK_STREAM, "127.0.0.1", 9) != 0;
	steps[count++] = connect_to(AF_INET6, SOCK_STREAM, "::1", 9) != 0;
	steps[count++] = connect_to(AF_INET6, SOCK_STREAM, "2001:db8::1", 80) != EPERM;
	steps[count++] = connect_to(AF_INET6, SOCK_STREAM, "::ffff:192.0.2.4", 80) != EPERM;
	steps[count++] = send_to("192.0.2.5", 123) == ENETUNREACH;
	steps[count++] = send_messages(one, 1, 0, false) == ENETUNREACH;
	steps[count++] = send_messages(one + 1, 1, 0, true) == ENETUNREACH;
	steps[count++] = send_messages(one + 2, 1, MSG_FASTOPEN, false) != EPERM;
	steps[count++] = send_last("192.0.2.9") == 1;
	steps[count++] = sendmsg(-1, (void *)8, 0) < 0 && errno != EPERM;
	/* An address that cannot be read is the kernel's to refuse. */
	steps[count++] = connect(0, (void *)8, 16) < 0 && errno != EPERM;
	for (size_t i = 0; i < count; i++) {
		if (!steps[i])
			return (int)i + 1;
	}
	return 0;
}

static pid_t start_payload(int socket_fd)
{
	pid_t pid = fork();
	int listener = -1;

	if (pid != 0)
		return pid;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		_exit(77);
	load_or_exit(SECCOMP_VARIANT_NOTIFY, &listener);
	if (fd_send(socket_fd, "l", 1, &listener, 1) < 0)
		_exit(254);
	(void)close(listener);
	_exit(payload());
}

#define EVENTS_MAX 64

struct told {
	struct notify_event events[EVENTS_MAX];
	size_t count, silent;
	int end; /* errno of the last call */
};

static void watch(int listener, struct told *told)
{
	struct notify_event event;

	for (;;) {
		struct pollfd poll_fd = { .fd = listener, .events = POLLIN };

		(void)poll(&poll_fd, 1, 5000);
		if (notify_handle(listener, &(struct notify_rules){ 0 }, &event) < 0) {
			told->end = errno;
			return;
		}
		if (event.kind == NOTIFY_NET)
			(void)notify_answer(listener, event.id, 0);
		if (event.kind == NOTIFY_SILENT)
			told->silent++;
		else if (told->count < EVENTS_MAX)
			told->events[told->count++] = event;
	}
}

static void check_told(const struct told *told)
{
	const struct {
		const char *what, *rule, *hint;
	} want[] = {
		{ "mount(2)", "not permitted in a sandbox", "" },
		{ "socket(2)", "no raw sockets", "" },
		{ "connect 192.0.2.1:443", "default deny", "--allow 192.0.2.1:443" },
		{ "connect 192.0.2.2:53", "default deny", "" },
		{ "connect [2001:db8::1]:80", "default deny", "--allow '[2001:db8::1]:80'" },
		{ "connect 192.0.2.4:80", "default deny", "--allow 192.0.2.4:80" },
		{ "sendto udp:192.0.2.5:123", "default deny", "--allow udp:192.0.2.5:123" },
		{ "sendmsg udp:192.0.2.6:123", "default deny", "--allow udp:192.0.2.6:123" },
		{ "sendmmsg udp:192.0.2.7:123", "default deny", "--allow udp:192.0.2.7:123" },
		{ "sendmsg 192.0.2.8:123", "default deny", "--allow 192.0.2.8:123" },
		{ "sendmmsg udp:192.0.2.9:123", "default deny", "--allow udp:192.0.2.9:123" },
	};
	size_t expected = sizeof(want) / sizeof(want[0]);

	tap_is_int((long long)told->count, (long long)expected, "so much was told");
	for (size_t i = 0; i < expected; i++) {
		bool is_there = i < told->count;

		tap_is_str(is_there ? told->events[i].what : NULL, want[i].what, "what");
		tap_is_str(is_there ? told->events[i].rule : NULL, want[i].rule, "rule");
		tap_is_str(is_there ? told->events[i].hint : NULL, want[i].hint, "hint");
	}
	tap_is_int((long long)told->silent, 5, "loopback, port 0 and nonsense are not told");
	tap_is_int(told->end, ENOTCONN, "the end is seen");
}

static void test_listener(void)
{
	int pair[2];
	struct told told = { .count = 0 };
	size_t received = 0;
	int listener = -1;
	char byte;
	int status = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		tap_bail("no socket pair");
	pid_t pid = start_payload(pair[1]);
	(void)close(pair[1]);
	if (fd_receive(pair[0], &byte, 1, &listener, 1, &received) != 1 || received != 1) {
		(void)waitpid(pid, &status, 0);
		(void)close(pair[0]);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			tap_skip(1, "no user namespace for the payload");
		else
			tap_ok(false, "a listener came (status %x)", status);
		return;
	}
	(void)close(pair[0]);
	watch(listener, &told);
	(void)close(listener);
	(void)waitpid(pid, &status, 0);
	tap_is_int(status, 0, "the payload got the answers it should");
	check_told(&told);
}

/* Behind the variant that asks before renames. The first step that went wrong, or 0. */
static int asking_payload(void)
{
	if (rename("/nowhere/a", "/nowhere/b") == 0 || errno != ENOENT)
		return 1;
	if (renameat2(AT_FDCWD, "/nowhere/a", AT_FDCWD, "/nowhere/b", 0) == 0 || errno != ENOTEMPTY)
		return 2;
	return try_namespace() < 0 && errno == EPERM ? 0 : 3;
}

static pid_t start_asking(int socket_fd)
{
	pid_t pid = fork();
	int listener = -1;

	if (pid != 0)
		return pid;
	load_or_exit(SECCOMP_VARIANT_NOTIFY | SECCOMP_VARIANT_MOVES, &listener);
	if (fd_send(socket_fd, "l", 1, &listener, 1) < 0)
		_exit(254);
	(void)close(listener);
	_exit(asking_payload());
}

/* Lets the first rename pass and refuses the second; the kinds in order, as letters. */
static void answer_all(int listener, char *kinds, size_t size)
{
	unsigned moves = 0;
	struct notify_event event;
	size_t count = 0;

	for (;;) {
		struct pollfd poll_fd = { .fd = listener, .events = POLLIN };

		(void)poll(&poll_fd, 1, 5000);
		if (notify_handle(listener, &(struct notify_rules){ 0 }, &event) < 0)
			break;
		if (event.kind == NOTIFY_MOVE)
			(void)notify_answer(listener, event.id, moves++ ? ENOTEMPTY : 0);
		if (count + 1 < size)
			kinds[count++] = "-snM"[event.kind];
	}
	kinds[count] = '\0';
}

static void test_asking(void)
{
	int pair[2];
	char kinds[32];
	size_t received = 0;
	int listener = -1;
	char byte;
	int status = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		tap_bail("no socket pair");
	pid_t pid = start_asking(pair[1]);
	(void)close(pair[1]);
	if (fd_receive(pair[0], &byte, 1, &listener, 1, &received) != 1 || received != 1)
		tap_bail("no listener");
	(void)close(pair[0]);
	answer_all(listener, kinds, sizeof(kinds));
	(void)waitpid(pid, &status, 0);
	tap_is_int(status, 0, "renames are answered as the caller says");
	tap_is_str(kinds, "MMs", "and told from what is refused");
	tap_ok(notify_answer(listener, 1, 0) == 0, "an answer to nobody is no failure");
	(void)close(listener);
}

static void test_nothing_pending(void)
{
	struct notify_event event;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		tap_bail("no pipe");
	tap_ok(notify_handle(ends[0], &(struct notify_rules){ 0 }, &event) < 0 && errno == EAGAIN,
	       "nothing pending: EAGAIN");
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static double load_once_us(void)
{
	struct timespec start, end;
	int ends[2];
	double micros = -1;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		(void)clock_gettime(CLOCK_MONOTONIC, &start);
		int done = seccomp_load(seccomp_builtin(0), false, NULL);
		(void)clock_gettime(CLOCK_MONOTONIC, &end);
		micros = (double)(end.tv_sec - start.tv_sec) * 1e6 +
			 (double)(end.tv_nsec - start.tv_nsec) / 1e3;
		_exit(done == 0 && fd_write_all(ends[1], &micros, sizeof(micros)) == 0 ? 0 : 1);
	}
	(void)close(ends[1]);
	if (read(ends[0], &micros, sizeof(micros)) != sizeof(micros))
		micros = -1;
	(void)close(ends[0]);
	(void)waitpid(pid, NULL, 0);
	return micros;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Tells the price; only a failure to load is a failure, since the machine may be busy. */
static void test_price(void)
{
	double micros[41];
	size_t count = sizeof(micros) / sizeof(micros[0]);

	for (size_t i = 0; i < count; i++)
		micros[i] = load_once_us();
	qsort(micros, count, sizeof(micros[0]), by_value);
	tap_ok(micros[0] > 0, "%u instructions load in %.0f us (median; best %.0f)",
	       seccomp_builtin(0)->len, micros[count / 2], micros[0]);
}

int main(void)
{
	test_answers();
	test_listener();
	test_asking();
	test_nothing_pending();
	test_price();
	return tap_done();
}
