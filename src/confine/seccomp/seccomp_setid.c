/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter beside the payload's own, for sandboxes that write through to the host: no set-id bit may be set.
 *
 * Inside, a set-id program is powerless (nosuid); on the host, in a directory that root shares with the sandbox, it would
 * be root's. So every call that takes a mode is refused when the mode has such a bit; openat2, whose mode lies in memory,
 * is answered as unknown, and libraries fall back.
 */
#include "confine/seccomp/seccomp.h"

#include "base/process/seccomp_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define SET_ID (S_ISUID | S_ISGID)
/* O_TMPFILE without the directory bit it carries. */
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* A call whose argument N is a mode. */
#define WITH_MODE(call, n) IS(call, 4), LOOK_AT(args[n]), HAS_ANY(SET_ID, 1), REFUSED, ALLOWED

/* A call whose argument N has flags and whose next one is a mode if they create. */
#define WITH_FLAGS(call, n)                                                         \
	IS(call, 6), LOOK_AT(args[n]), HAS_ANY(CREATES, 3), LOOK_AT(args[(n) + 1]), \
		HAS_ANY(SET_ID, 1), REFUSED, ALLOWED

const struct sock_fprog *seccomp_no_set_id(void)
{
	static struct sock_filter code[] = {
		LIST_BEGIN_BESIDE,
		WITH_MODE(SYS_fchmod, 1),
		WITH_MODE(SYS_fchmodat, 2),
		WITH_MODE(SYS_fchmodat2, 2),
		WITH_MODE(SYS_mkdirat, 2),
		WITH_MODE(SYS_mknodat, 2),
		WITH_FLAGS(SYS_openat, 2),
#ifdef SYS_chmod
		WITH_MODE(SYS_chmod, 1),
		WITH_MODE(SYS_mkdir, 1),
		WITH_MODE(SYS_mknod, 1),
		WITH_MODE(SYS_creat, 1),
		WITH_FLAGS(SYS_open, 1),
#endif
		REFUSE_WITH(SYS_openat2, ENOSYS),
		ALLOWED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return &program;
}
