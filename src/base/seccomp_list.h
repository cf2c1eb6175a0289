/* What the short filters that are written out by hand share: a few calls allowed, all others refused. */
#ifndef BASE_SECCOMP_LIST_H
#define BASE_SECCOMP_LIST_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/* How each begins: a foreign ABI kills, as in the payload's filter; then the number of the call is at hand. */
#define LIST_BEGIN                                                               \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),          \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),             \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

#define ALLOW(call)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* How each ends: what was not listed is refused. */
#define LIST_END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

#endif
