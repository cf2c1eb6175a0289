/* SPDX-License-Identifier: Apache-2.0 */
/* A user's own system call filter, read from a file. */
#ifndef CONFINE_SECCOMP_FILE_H
#define CONFINE_SECCOMP_FILE_H

#include "base/core/error.h"

#include <linux/filter.h>

/*
 * Reads and compiles the OCI profile PATH; errors name the file. ret->filter is heap and the caller's. Only aisbx-full
 * can: it needs the JSON reader. In the hot program this is always an error.
 */
int seccomp_file_compile(const char *path, struct sock_fprog *ret, struct error *err);

#endif
