/* SPDX-License-Identifier: Apache-2.0 */
/* Long text through the person's pager: $PAGER, else `less -FRX`, which ends by itself when it fits the screen. */
#ifndef FRONT_CLI_PAGER_H
#define FRONT_CLI_PAGER_H

#include "base/core/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pager {
	pid_t pid; /* 0: none */
	int fd;	   /* what it reads */
	struct sigaction old_interrupt, old_pipe;
};

/*
 * Starts one; false when there is none to start (not installed, PAGER empty or cat, TERM dumb): write to stdout then.
 * Only for a terminal. Until pager_finish an interrupt is the pager's, not ours.
 */
bool pager_start(struct pager *pager, const char *const *env);

/* 0, or -1 with errno; EPIPE: the person has seen enough, which is no failure. */
int pager_write(struct pager *pager, const void *bytes, size_t len);

/* Waits until the user leaves it. -1 when it could not be run: the text was not shown. */
int pager_finish(struct pager *pager, struct error *err);

#endif
