/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of system calls: the `syscalls:` of a profile, as a program that stands in front of the filter built in.
 *
 * The set only takes away: what is in it goes on to the filter built in, with all its checks; what is not is refused by
 * the listener, which reports it, or by EPERM where there is none.
 */
#ifndef CONFINE_SECCOMP_SET_H
#define CONFINE_SECCOMP_SET_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "confine/seccomp/seccomp_emit.h"

/* By number on this architecture. */
struct seccomp_set {
	bool has[SECCOMP_ENTRIES_MAX];
};

/* An unknown name is an error with the nearest one; one of another architecture is passed over. */
int seccomp_set_add(struct seccomp_set *set, const char *name, struct error *err);

/*
 * What a process needs to become a command, and every C library to start and to end; with STAYS also what an init
 * needs that starts commands.
 */
void seccomp_set_add_needed(struct seccomp_set *set, bool stays);

/* The names of a set and of whatever another C library may call in their place, sorted, of every architecture. */
void seccomp_set_names(const struct seccomp_set *set, struct strv *ret_names);

/* Answers ALLOW for what is in the set or refused by the filter built in, USER_NOTIF for the rest. Heap, the caller's. */
int seccomp_set_compile(const struct seccomp_set *set, struct sock_fprog *ret, struct error *err);

#endif
