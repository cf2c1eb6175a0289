/* The filter of an init that does nothing but wait and report: a few calls, so that loading it costs next to nothing. */
#include "confine/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#define ALLOW(call)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

const struct sock_fprog *seccomp_reaper(void)
{
	/* A foreign ABI kills, as in the payload's filter; everything not listed is refused. */
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_wait4),
		ALLOW(SYS_sendmsg),
		ALLOW(SYS_getrusage),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_futex),
		/* A sanitizer asks for it on the way to whatever does not return. */
		ALLOW(SYS_sigaltstack),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return &program;
}
