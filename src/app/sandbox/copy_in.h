/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of the host's copied into a sandbox.
 *
 * It is packed outside, by a process of its own that follows no link, and unpacked inside by a command like any other:
 * with the sandbox's rights, within its limits, and wherever a planted link leads, it stays inside.
 */
#ifndef APP_COPY_IN_H
#define APP_COPY_IN_H

#include "base/core/error.h"

#include <stdint.h>

struct app_copy_in {
	const char *sandbox;
	const char *from; /* a directory */
	const char *
		to; /* in the sandbox: made, or when it is a directory already, the copy lies in it */
	const char *const *environ;
};

struct copied {
	uint64_t files, directories, links, bytes;
	uint64_t left_out; /* sockets, pipes, devices */
};

/* Refused before anything is written when something cannot be read. */
int app_copy_in(const struct app_copy_in *copy, struct copied *ret_copied, struct error *err);

#endif
