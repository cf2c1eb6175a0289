/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: seccomp profiles as JSON. What compiles must be a program the kernel would take. */
#include "tests/unit/bpf_run.h"

#include "confine/seccomp/oci_seccomp.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sock_fprog prog;
	struct error err;

	if (oci_seccomp_compile((const char *)data, size, &prog, &err) < 0)
		return 0;
	if (!bpf_is_valid(prog.filter, prog.len))
		abort();
	free(prog.filter);
	return 0;
}
