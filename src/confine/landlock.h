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

/* The ABI of this kernel, 0 when it has none. */
int landlock_abi(void);

/*
 * Restricts this process; needs no_new_privs. ABI from landlock_abi(). 0, or -1 with errno. No heap. EXECUTES_OUTSIDE: what it
 * executes next was handed to it as a descriptor, and lies nowhere below its root.
 */
int landlock_apply(int abi, bool executes_outside);

#endif
