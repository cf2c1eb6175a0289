/* SPDX-License-Identifier: Apache-2.0 */
/* The hot program's answer to filters that a user gives; aisbx-full links the other one, which wins. */
#include "confine/seccomp/seccomp_file.h"

__attribute__((weak)) int seccomp_file_compile(const char *path, struct sock_fprog *ret,
					       struct error *err)
{
	(void)ret;
	return error_set(err, ERROR_INTERNAL, "%s: this program reads no seccomp profiles", path);
}

__attribute__((weak)) int seccomp_names_compile(const struct strv *names, bool stays,
						struct seccomp_set *ret_set, struct sock_fprog *ret,
						struct error *err)
{
	(void)names;
	(void)stays;
	(void)ret_set;
	(void)ret;
	return error_set(err, ERROR_INTERNAL, "syscalls: this program makes no filters");
}
