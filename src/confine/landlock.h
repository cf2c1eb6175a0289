/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: the second, independent lock.
 *
 * It cannot subtract below a granted directory, so over a writable copy-on-write root it denies the making of device
 * nodes, the execution of what lies outside of that root, everything the kernel implies for a landlocked process
 * (mounting, tracing outside the domain), and, from ABI 6 on, signals and abstract sockets that leave the sandbox. Applied
 * by the payload only: init stays outside the domain and can therefore not be traced from inside.
 */
#ifndef CONFINE_LANDLOCK_H
#define CONFINE_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The ABI of this kernel, 0 when it has none. */
int landlock_abi(void);

/*
 * Restricts this process; needs no_new_privs. ABI from landlock_abi(). 0, or -1 with errno. No heap. EXECUTES_OUTSIDE: what it
 * executes next was handed to it as a descriptor, and lies nowhere below its root.
 */
int landlock_apply(int abi, bool executes_outside);

/*
 * For a payload that has nothing else: everything that ABI 6 knows is denied, but for what rules allow. The descriptor is the
 * caller's; or -1 with errno.
 */
int landlock_ruleset(void);

/* Rights of a rule. */
#define LANDLOCK_READS ((1ull << 0) | (1ull << 2) | (1ull << 3))   /* execute, read, list */
#define LANDLOCK_DEVICE ((1ull << 1) | (1ull << 2) | (1ull << 15)) /* write, read, control */
/* All, but devices and sockets: a directory of the payload's own. */
#define LANDLOCK_OWN (0xffffull & ~((1ull << 6) | (1ull << 9) | (1ull << 11) | (1ull << 15)))

/* Allows ACCESS at and below FD, which may be a file; a file has fewer rights. 0, or -1 with errno. */
int landlock_allow(int ruleset_fd, int fd, uint64_t access);
/* Restricts this process, which has no_new_privs. 0, or -1 with errno. */
int landlock_restrict(int ruleset_fd);

#endif
