/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter of a sandbox: programs compiled in at build time, loading them, names for
 * what was refused.
 */
#ifndef CONFINE_SECCOMP_H
#define CONFINE_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>

enum seccomp_class {
	SECCOMP_CLASS_ALLOW,
	SECCOMP_CLASS_EPERM,  /* privileged or dangerous; reported as a denial */
	SECCOMP_CLASS_ENOSYS, /* optional or unknown: programs fall back */
	SECCOMP_CLASS_ARGS,   /* depends on the arguments */
};

/* Variants of the filter, as bits. */
enum seccomp_variant {
	/* What EPERM would answer and what is only watched goes to a listener. */
	SECCOMP_VARIANT_NOTIFY = 1,
	SECCOMP_VARIANT_SPLICE = 2, /* splice and tee are permitted */
	/* With NOTIFY: renames go to the listener too, which makes those of directories possible. */
	SECCOMP_VARIANT_MOVES = 4,
};

#define SECCOMP_VARIANTS 8

/*
 * The filter for this architecture. Load one with NOTIFY with a listener, or the calls meant for it
 * end in ENOSYS.
 */
const struct sock_fprog *seccomp_builtin(unsigned variant);

/* Beside the filter above, where something of the host is written through: refuses to set set-id bits. */
const struct sock_fprog *seccomp_no_set_id(void);

/* For an init that only waits and reports; a tenth of the payload's filter in size and price. */
const struct sock_fprog *seccomp_reaper(void);

/* For the network gateway: sockets of the internet's families, pipes and time; no file, no process. */
const struct sock_fprog *seccomp_gateway(void);
/* For aisbx-gateway, which is handed its connections: no socket of its own, no file, no process. */
const struct sock_fprog *seccomp_tls_gateway(void);

/*
 * Loads a filter into the calling thread, which has no_new_privs set. With LISTENER, *ret_listener
 * is the supervisor's descriptor (close-on-exec, owned by the caller). 0, or -1 with errno. No
 * heap.
 */
int seccomp_load(const struct sock_fprog *prog, bool listener, int *ret_listener);

/*
 * Loads CALLS (seccomp_set.h) and the filter of VARIANT as one: what the first permits goes on to the second. Without a
 * listener the rest is answered EPERM. As seccomp_load.
 */
int seccomp_load_narrowed(const struct sock_fprog *calls, unsigned variant, bool listener,
			  int *ret_listener);

/* "mount", or NULL for a number not in the table. */
const char *seccomp_syscall_name(int nr);
/* Number of a name on this architecture, or -1. */
int seccomp_syscall_number(const char *name);
/* Whether the name is a system call of some other architecture only. */
bool seccomp_is_elsewhere(const char *name);

enum seccomp_class seccomp_classify(int nr);

/* Observed but permitted: connect, sendmsg, sendmmsg, and sendto with an address. */
bool seccomp_is_observed(int nr);

#endif
