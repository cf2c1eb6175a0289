/* What the parser's process can still ask of the kernel: memory, time, and bytes through the descriptor it has. */
#include "scan/parser.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "which architecture is this?"
#endif

#define PERMIT(nr)                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int parser_seal(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		PERMIT(SYS_read),
		PERMIT(SYS_write),
		PERMIT(SYS_clock_gettime),
		PERMIT(SYS_setitimer),
		PERMIT(SYS_brk),
		PERMIT(SYS_mmap),
		PERMIT(SYS_munmap),
		PERMIT(SYS_mremap),
		PERMIT(SYS_mprotect),
		PERMIT(SYS_madvise),
		PERMIT(SYS_futex),
		PERMIT(SYS_getrandom),
		PERMIT(SYS_rt_sigprocmask),
		PERMIT(SYS_rt_sigreturn),
		PERMIT(SYS_restart_syscall),
		PERMIT(SYS_exit),
		PERMIT(SYS_exit_group),
		/* Also what stands behind the numbers of x32: none of these. */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
