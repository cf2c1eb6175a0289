/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seccomp profile of Docker or OCI as a second filter. Loaded on top of ours it can only take
 * away: the kernel obeys the stricter of two answers.
 */
#ifndef CONFINE_OCI_SECCOMP_H
#define CONFINE_OCI_SECCOMP_H

#include "base/core/error.h"

#include <linux/filter.h>
#include <stddef.h>

/*
 * Compiles the JSON text for this architecture, kernel and a payload without capabilities.
 * ret->filter is heap and the caller's. Errors name the place ("syscalls[3].action").
 */
int oci_seccomp_compile(const char *bytes, size_t len, struct sock_fprog *ret, struct error *err);

#endif
