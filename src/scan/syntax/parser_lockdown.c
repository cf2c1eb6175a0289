/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser's process can still ask of the kernel: memory, time, and bytes through the descriptor it has. */
#include "scan/syntax/parser.h"

#include "base/process/seccomp_list.h"

#include <sys/syscall.h>

int parser_lockdown(void)
{
	static struct sock_filter code[] = {
		LIST_BEGIN,
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_setitimer),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		ALLOW(SYS_futex),
		ALLOW(SYS_getrandom),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		/* Also what stands behind the numbers of x32: none of these. */
		REFUSED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return seccomp_list_load(&program);
}
