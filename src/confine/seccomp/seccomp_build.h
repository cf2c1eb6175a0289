/* SPDX-License-Identifier: Apache-2.0 */
/* What gen_seccomp writes for one architecture: the programs and the names behind the numbers. */
#ifndef CONFINE_SECCOMP_BUILD_H
#define CONFINE_SECCOMP_BUILD_H

#include "confine/seccomp/seccomp.h"

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* Names are stored in place: pointers would have to be relocated at every start. */
struct seccomp_name {
	int16_t nr;
	uint8_t class_of; /* enum seccomp_class */
	char name[29];
};

struct seccomp_build {
	uint32_t arch;
	struct sock_fprog programs[SECCOMP_VARIANTS];
	const struct seccomp_name *names; /* by rising number */
	size_t name_count;
	const struct seccomp_name *elsewhere; /* names without a number here */
	size_t elsewhere_count;
};

extern const struct seccomp_build seccomp_build_x86_64;
extern const struct seccomp_build seccomp_build_aarch64;

#endif
