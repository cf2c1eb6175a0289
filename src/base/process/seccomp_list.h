/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters short enough to be written out by hand: a list of calls, each with its answer, and one answer for all others.
 *
 * A list begins with LIST_BEGIN, or with LIST_BEGIN_BESIDE where a filter that checks the ABI is in force already. Its last
 * line, ALLOWED or REFUSED, is for what was not listed.
 */
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
#else
#error "no short filters for this architecture"
#endif

/* Answers. */
#define ALLOWED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSED_WITH(number) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))
#define REFUSED REFUSED_WITH(EPERM)

/* What of the call is looked at from here on. */
#define LOOK_AT(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* Goes on if that is so, else skips as many lines. */
#define IS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))
#define HAS_ANY(bits, skipped) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (skipped))

/* A foreign ABI kills, as in the payload's filter: it has other numbers. */
#define LIST_BEGIN                                                             \
	LOOK_AT(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), LIST_BEGIN_BESIDE
#define LIST_BEGIN_BESIDE LOOK_AT(nr)

#define ALLOW(call) IS(call, 1), ALLOWED
#define REFUSE(call) IS(call, 1), REFUSED
#define REFUSE_WITH(call, number) IS(call, 1), REFUSED_WITH(number)

/* Loads one into the calling thread, which gets no new privileges from then on. 0, or -1 with errno. */
int seccomp_list_load(const struct sock_fprog *program);

#endif
