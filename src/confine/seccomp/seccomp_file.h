/* SPDX-License-Identifier: Apache-2.0 */
/* A user's own system call filters: an OCI profile in a file, the `syscalls:` of a profile. */
#ifndef CONFINE_SECCOMP_FILE_H
#define CONFINE_SECCOMP_FILE_H

#include "base/core/error.h"
#include "confine/seccomp/seccomp_set.h"

#include <linux/filter.h>

/*
 * Reads and compiles the OCI profile PATH; errors name the file. ret->filter is heap and the caller's. Only aisbx-full
 * can: it needs the JSON reader. In the hot program this is always an error.
 */
int seccomp_file_compile(const char *path, struct sock_fprog *ret, struct error *err);

/*
 * The set of NAMES and what is needed in any case, and its program for seccomp_load_narrowed(), which is heap and the
 * caller's. STAYS as in seccomp_set_add_needed(). As above, only aisbx-full can.
 */
int seccomp_names_compile(const struct strv *names, bool stays, struct seccomp_set *ret_set,
			  struct sock_fprog *ret, struct error *err);

#endif
