/*
 * A filter beside the payload's own, for sandboxes that write through to the host: no set-id bit may be set.
 *
 * Inside, a set-id program is powerless (nosuid); on the host, in a directory that root shares with the sandbox, it would
 * be root's. So every call that takes a mode is refused when the mode has such a bit; openat2, whose mode lies in memory,
 * is answered as unknown, and libraries fall back.
 */
#include "confine/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define SET_ID (S_ISUID | S_ISGID)
/* O_TMPFILE without the directory bit it carries. */
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define LOW_WORD(n) (offsetof(struct seccomp_data, args) + 8 * (n))

#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define PASS BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Call NR whose argument N is a mode. */
#define WITH_MODE(nr, n)                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 4),         \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_WORD(n)), \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SET_ID, 0, 1), REFUSE, PASS

/* Call NR whose argument N has flags and whose next one is a mode if they create. */
#define WITH_FLAGS(nr, n)                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 6),               \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_WORD(n)),       \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CREATES, 0, 3),   \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_WORD((n) + 1)), \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SET_ID, 0, 1), REFUSE, PASS

const struct sock_fprog *seccomp_no_set_id(void)
{
	/* The architecture is checked by the filter this one stands beside. */
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
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
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		PASS,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return &program;
}
