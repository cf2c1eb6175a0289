/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of the network gateway: it moves bytes between sockets it was given or dials, and can do nothing else. */
#include "confine/seccomp/seccomp.h"

#include "base/process/seccomp_list.h"

#include <sys/socket.h>
#include <sys/syscall.h>

const struct sock_fprog *seccomp_gateway(void)
{
	/* The first ones are those of every byte. */
	static struct sock_filter code[] = {
		LIST_BEGIN,
		ALLOW(SYS_splice),
#ifdef SYS_epoll_wait
		ALLOW(SYS_epoll_wait),
#endif
		ALLOW(SYS_epoll_pwait),
		ALLOW(SYS_epoll_ctl),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_recvfrom),
		ALLOW(SYS_sendto),
		ALLOW(SYS_recvmsg),
		ALLOW(SYS_sendmsg),
		ALLOW(SYS_accept4),
		ALLOW(SYS_connect),
		ALLOW(SYS_shutdown),
		ALLOW(SYS_close),
		ALLOW(SYS_getsockname),
		ALLOW(SYS_setsockopt),
		ALLOW(SYS_getsockopt),
		ALLOW(SYS_pipe2),
		ALLOW(SYS_fcntl),
		ALLOW(SYS_getrandom),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_madvise),
		ALLOW(SYS_futex),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_rt_sigreturn),
		/* A sanitizer asks for it on the way to whatever does not return. */
		ALLOW(SYS_sigaltstack),
		IS(SYS_socket, 5),
		LOOK_AT(args[0]),
		ALLOW(AF_INET),
		ALLOW(AF_INET6),
		REFUSED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return &program;
}

const struct sock_fprog *seccomp_tls_gateway(void)
{
	static struct sock_filter code[] = {
		LIST_BEGIN,
		ALLOW(SYS_read),
		ALLOW(SYS_write),
#ifdef SYS_epoll_wait
		ALLOW(SYS_epoll_wait),
#endif
		ALLOW(SYS_epoll_pwait),
		ALLOW(SYS_epoll_ctl),
		ALLOW(SYS_recvfrom),
		ALLOW(SYS_sendto),
		ALLOW(SYS_recvmsg),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_shutdown),
		ALLOW(SYS_close),
		ALLOW(SYS_setsockopt),
		ALLOW(SYS_getrandom),
		/* How OpenSSL's generator notices a fork. */
		ALLOW(SYS_getpid),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_madvise),
		ALLOW(SYS_futex),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_sigaltstack),
		REFUSED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return &program;
}
