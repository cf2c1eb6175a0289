/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter of a sandbox: programs compiled in at build time, loading them, names for
 * what was refused.
 */
#include "confine/seccomp/seccomp.h"

#include "confine/seccomp/seccomp_build.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE seccomp_build_x86_64
#elif defined(__aarch64__)
#define NATIVE seccomp_build_aarch64
#else
#error "no system call table for this architecture"
#endif

/* Since Linux 5.19; older headers lack it. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

const struct sock_fprog *seccomp_builtin(unsigned variant)
{
	return &NATIVE.programs[variant % SECCOMP_VARIANTS];
}

static long load(const struct sock_fprog *prog, unsigned long flags)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, prog);
}

int seccomp_load(const struct sock_fprog *prog, bool listener, int *ret_listener)
{
	if (!listener)
		return load(prog, 0) < 0 ? -1 : 0;

	/*
	 * Killable: a signal handler of the payload must not make a call that waits for us run
	 * twice.
	 */
	long fd = load(prog,
		       SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (fd < 0 && errno == EINVAL)
		fd = load(prog, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (fd < 0)
		return -1;
	*ret_listener = (int)fd;
	return 0;
}

int seccomp_load_narrowed(const struct sock_fprog *calls, unsigned variant, bool listener,
			  int *ret_listener)
{
	const struct sock_fprog *rest = seccomp_builtin(variant);
	struct sock_filter whole[BPF_MAXINSNS];
	const struct sock_fprog prog = { (unsigned short)(calls->len + rest->len), whole };

	if (calls->len + rest->len > BPF_MAXINSNS) {
		errno = E2BIG;
		return -1;
	}
	for (unsigned short i = 0; i < calls->len; i++) {
		whole[i] = calls->filter[i];
		if (whole[i].code != (BPF_RET | BPF_K))
			continue;
		if (whole[i].k == SECCOMP_RET_ALLOW)
			whole[i] =
				(struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, calls->len - i - 1U);
		else if (!listener)
			whole[i].k = SECCOMP_RET_ERRNO | EPERM;
	}
	memcpy(whole + calls->len, rest->filter, rest->len * sizeof(*whole));
	return seccomp_load(&prog, listener, ret_listener);
}

static const struct seccomp_name *find(int nr)
{
	size_t low = 0;
	size_t high = NATIVE.name_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct seccomp_name *entry = &NATIVE.names[middle];

		if (entry->nr == nr)
			return entry;
		if (entry->nr < nr)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *seccomp_syscall_name(int nr)
{
	const struct seccomp_name *entry = find(nr);

	return entry ? entry->name : NULL;
}

int seccomp_syscall_number(const char *name)
{
	for (size_t i = 0; i < NATIVE.name_count; i++) {
		if (strcmp(NATIVE.names[i].name, name) == 0)
			return NATIVE.names[i].nr;
	}
	return -1;
}

bool seccomp_is_elsewhere(const char *name)
{
	for (size_t i = 0; i < NATIVE.elsewhere_count; i++) {
		if (strcmp(NATIVE.elsewhere[i].name, name) == 0)
			return true;
	}
	return false;
}

enum seccomp_class seccomp_classify(int nr)
{
	const struct seccomp_name *entry = find(nr);

	return entry ? (enum seccomp_class)entry->class_of : SECCOMP_CLASS_ENOSYS;
}

bool seccomp_is_observed(int nr)
{
	return nr == SYS_connect || nr == SYS_sendto || nr == SYS_sendmsg || nr == SYS_sendmmsg;
}
