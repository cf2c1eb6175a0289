/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a short filter. */
#include "base/process/seccomp_list.h"

#include <sys/prctl.h>

int seccomp_list_load(const struct sock_fprog *program)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
}
