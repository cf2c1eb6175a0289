/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter beside the usual one, for payloads that share the host's processes, network and file owners.
 *
 * Landlock knows paths that are opened, made and removed. It does not know datagrams, sockets by their path, shared memory by
 * key, other processes' priorities, watches on directories, and attributes of files: those are refused here, or the supervisor is
 * asked (ask_attributes). Attributes by name are refused: an overlay's marks are such.
 */
#include "driver/copied.h"

#include "base/process/seccomp_list.h"
#include "confine/seccomp/seccomp.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define SETFLAGS 0x40086602
#define FSSETXATTR 0x401c5820
#define ENABLE_VERITY 0x40806685
#define TYPE_MASK 0xf

#define ASKED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
#define ASK(call) IS(call, 1), ASKED
/* Only about the calling thread itself. */
#define OWN_ONLY(call, arg) IS(call, 4), LOOK_AT(args[arg]), IS(0, 1), ALLOWED, REFUSED
#define NO_ATTRIBUTE(call) REFUSE_WITH(call, EOPNOTSUPP)

static const struct sock_filter closed[] = {
	LIST_BEGIN,
	REFUSE(SYS_connect),
	REFUSE(SYS_bind),
	REFUSE(SYS_listen),
	REFUSE(SYS_accept),
	REFUSE(SYS_accept4),
	/* A datagram socket takes an address with every message, also one of a pair; for the kernel a raw one is such, too. */
	IS(SYS_socketpair, 7),
	LOOK_AT(args[1]),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK),
	IS(SOCK_STREAM, 1),
	ALLOWED,
	IS(SOCK_SEQPACKET, 1),
	ALLOWED,
	REFUSED,
	REFUSE(SYS_shmget),
	REFUSE(SYS_shmat),
	REFUSE(SYS_shmctl),
	REFUSE(SYS_semget),
	REFUSE(SYS_semctl),
	REFUSE(SYS_semop),
	REFUSE(SYS_semtimedop),
	REFUSE(SYS_msgget),
	REFUSE(SYS_msgsnd),
	REFUSE(SYS_msgrcv),
	REFUSE(SYS_msgctl),
	REFUSE(SYS_mq_open),
	REFUSE(SYS_mq_unlink),
	REFUSE_WITH(SYS_inotify_add_watch, ENOSPC),
	OWN_ONLY(SYS_prlimit64, 0),
	OWN_ONLY(SYS_sched_setparam, 0),
	OWN_ONLY(SYS_sched_setscheduler, 0),
	OWN_ONLY(SYS_sched_setaffinity, 0),
	OWN_ONLY(SYS_sched_setattr, 0),
	OWN_ONLY(SYS_setpriority, 1),
	OWN_ONLY(SYS_ioprio_set, 1),
	IS(SYS_ioctl, 8),
	LOOK_AT(args[1]),
	IS(SETFLAGS, 1),
	REFUSED,
	IS(FSSETXATTR, 1),
	REFUSED,
	IS(ENABLE_VERITY, 1),
	REFUSED,
	ALLOWED,
	NO_ATTRIBUTE(SYS_setxattr),
	NO_ATTRIBUTE(SYS_lsetxattr),
	NO_ATTRIBUTE(SYS_fsetxattr),
	NO_ATTRIBUTE(SYS_removexattr),
	NO_ATTRIBUTE(SYS_lremovexattr),
	NO_ATTRIBUTE(SYS_fremovexattr),
	/* setxattrat and removexattrat, which older headers lack. */
	REFUSE_WITH(463, ENOSYS),
	REFUSE_WITH(466, ENOSYS),
};

static const struct sock_filter asked[] = {
	ASK(SYS_socket),
	ASK(SYS_fchmod),
	ASK(SYS_fchmodat),
	/* fchmodat2, likewise. */
	ASK(452),
	ASK(SYS_fchown),
	ASK(SYS_fchownat),
	ASK(SYS_utimensat),
#ifdef SYS_chmod
	ASK(SYS_chmod),
	ASK(SYS_chown),
	ASK(SYS_lchown),
	ASK(SYS_utime),
	ASK(SYS_utimes),
	ASK(SYS_futimesat),
#endif
	ALLOWED,
};

/* Without a supervisor that answers: every file that can be reached for writing is of the copy. */
static const struct sock_filter unasked[] = { REFUSE(SYS_socket), ALLOWED };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

size_t copied_filter_program(bool asks, struct sock_filter *ret_code)
{
	_Static_assert(COUNT(closed) + COUNT(asked) <= COPIED_FILTER_MAX, "room for both parts");
	const struct sock_filter *rest = asks ? asked : unasked;
	size_t count = asks ? COUNT(asked) : COUNT(unasked);

	memcpy(ret_code, closed, sizeof(closed));
	memcpy(ret_code + COUNT(closed), rest, count * sizeof(*rest));
	return COUNT(closed) + count;
}

int copied_filter(const struct copied_task *task, int *ret_listener_fd, struct error *err)
{
	static struct sock_filter code[COPIED_FILTER_MAX];
	unsigned variant = task->spec->splice ? SECCOMP_VARIANT_SPLICE : 0;
	bool asks = task->wall->handle_events != NULL;
	const struct sock_fprog program = { (unsigned short)copied_filter_program(asks, code),
					    code };

	if (seccomp_load(seccomp_builtin(variant), false, NULL) < 0 ||
	    seccomp_load(&program, asks, ret_listener_fd) < 0)
		return error_errno(err, ERROR_DENIED, "cannot load the system call filter");
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		return error_set(err, ERROR_INTERNAL, "the system call filter is not in force");
	return 0;
}
