/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --protect-base: what a sandbox's changes started from is kept, whoever edits it when.
 *
 * Without it, bases are written down after each command, and the content of small ones is kept then: what the host edits in
 * place while a command runs is lost, and what is too large is lost when the host edits it later. A process beside the
 * sandbox's keeper closes both gaps. It watches the writable top, and writes down at once what was copied up. Large bases
 * it marks: the kernel then asks before anybody opens or changes such a file, and is answered when the content is kept.
 * Files without a mark cost nothing. Root only: it takes CAP_SYS_ADMIN to be asked.
 */
#ifndef ENGINE_PROTECT_H
#define ENGINE_PROTECT_H

#include "base/error.h"
#include "spec/settings.h"
#include "workspace/store/sandbox.h"

#include <sys/types.h>

/* Refuses what SETTINGS ask for where it cannot be had. */
int protect_check(const struct settings *settings, struct error *err);

/* Forks the process for SANDBOX when SETTINGS ask for it; it ends after process HOLDER, or with the sandbox. */
int protect_start(const struct settings *settings, const struct sandbox *sandbox, pid_t holder,
		  struct error *err);

#endif
