/* SPDX-License-Identifier: Apache-2.0 */
/* A user's own system call filters: an OCI profile in a file, the `syscalls:` of a profile. */
#include "confine/seccomp/seccomp_file.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "confine/seccomp/oci_seccomp.h"

#include <fcntl.h>

#define BYTES_MAX ((size_t)1 << 20)

int seccomp_file_compile(const char *path, struct sock_fprog *ret, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (file_read(AT_FDCWD, path, BYTES_MAX, &text, err) < 0)
		return error_context(err, "seccomp profile");
	if (oci_seccomp_compile(str_cstr(&text), text.len, ret, err) < 0)
		return error_context(err, "%s", path);
	return 0;
}

int seccomp_names_compile(const struct strv *names, bool stays, struct seccomp_set *ret_set,
			  struct sock_fprog *ret, struct error *err)
{
	struct seccomp_set set = { .has = { false } };

	for (size_t i = 0; i < names->count; i++) {
		if (seccomp_set_add(&set, names->items[i], err) < 0)
			return -1;
	}
	seccomp_set_add_needed(&set, stays);
	if (seccomp_set_compile(&set, ret, err) < 0)
		return -1;
	*ret_set = set;
	return 0;
}
