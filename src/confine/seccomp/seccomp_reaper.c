/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of an init that does nothing but wait, report and pass signals on: a few calls, so that loading it costs next to nothing. */
#include "confine/seccomp/seccomp.h"

#include "base/process/seccomp_list.h"

#include <sys/syscall.h>

const struct sock_fprog *seccomp_reaper(void)
{
	static struct sock_filter code[] = {
		LIST_BEGIN,
		ALLOW(SYS_wait4),
		/* To let go of the last that is not its own, once the command runs. */
		ALLOW(SYS_read),
		ALLOW(SYS_close),
		ALLOW(SYS_sendmsg),
		ALLOW(SYS_getrusage),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_restart_syscall),
		/* To pass the supervisor's signals on to the command. */
		ALLOW(SYS_kill),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_futex),
		/* A sanitizer asks for it on the way to whatever does not return. */
		ALLOW(SYS_sigaltstack),
		REFUSED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return &program;
}
