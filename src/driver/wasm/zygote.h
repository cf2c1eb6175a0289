/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zygotes: an engine with its module, or an interpreter that is started already, forked for each snippet.
 *
 *   the run            zygote pool (P)            keeper (K)            zygote, in its sandbox       its child
 *   -------            -----------            ----------            ----------------------       ---------
 *   key, spec, words,
 *   streams ---------> finds or makes a
 *                      keeper for the key --> has a fresh view of the
 *                                             workspace made (view.h)
 *      <------------------------------------- STARTED, the layer
 *                                             RUN, all of it ------> fork ----------------------> takes streams, words and
 *      <- - - - - - - - - - - - - - - - - - - - - - - - - - - - - -  - - - - - - report.h - - - -  view; the guest; end
 *                                                           <------- ENDED
 *      <------------------------------------- USAGE, ENDED
 *
 * Everything that differs from run to run travels with the run; everything else is in the key, so two runs share a zygote
 * only where a sandbox made for one would be the sandbox of the other to the letter. A zygote does one run at a time. A
 * zygote pool belongs to one process, which forks it, and dies with it; so do its keepers, and with them the sandboxes.
 *
 * One message each on SOCK_SEQPACKET, descriptors in the order of the enums.
 */
#ifndef DRIVER_WASM_ZYGOTE_H
#define DRIVER_WASM_ZYGOTE_H

#include "base/process/process.h"
#include "base/hash/sha256.h"
#include "driver/driver.h"

#include <stdint.h>

enum zygote_kind {
	ZYGOTE_READY = 1, /* zygote to keeper, keeper to zygote pool: the next one may come */
	ZYGOTE_RUN,
	ZYGOTE_KILL,	/* keeper to zygote */
	ZYGOTE_STARTED, /* keeper to run */
	ZYGOTE_USAGE,	/* keeper to run, now and then */
	ZYGOTE_ENDED,	/* zygote to keeper to run */
	ZYGOTE_REFUSED, /* zygote pool or keeper to run: nothing ran, do it without a zygote */
};

/* Of a RUN on its way to the keeper. */
enum zygote_ask_fd {
	ASK_FD_REPLY, /* a socket; its end is the end of the run */
	ASK_FD_SPEC,  /* as JSON; read for a new keeper only */
	ASK_FD_WORDS, /* arguments, then variables behind WASM_ENV_MARK; each ended by NUL */
	ASK_FD_IN,
	ASK_FD_OUT,
	ASK_FD_ERR,
	ASK_FD_REPORT,
	ASK_FD_COUNT
};

/* Of a RUN from there to the zygote. */
enum zygote_run_fd {
	RUN_FD_WORDS,
	RUN_FD_IN,
	RUN_FD_OUT,
	RUN_FD_ERR,
	RUN_FD_REPORT,
	RUN_FD_WORKSPACE,
	RUN_FD_CWD,
	RUN_FD_COUNT
};

#define ZYGOTE_FDS_MAX 8

struct zygote_message {
	uint32_t kind;
	struct spec_ids ids;	/* RUN: for a new keeper; where root asks, every run has others */
	bool is_started;	/* RUN: by an interpreter that is started already */
	uint32_t argc;		/* RUN: how many of the words are arguments */
	uint64_t fuel, time_ms; /* RUN: its budgets */
	char key[SHA256_HEX_SIZE]; /* RUN to the zygote pool */
	char module_key
		[SHA256_HEX_SIZE]; /* RUN: for a new keeper, which looks the module up again */
	int wait_status;	   /* ENDED */
	uint64_t began_ns, ended_ns;
	struct process_used used; /* ENDED */
	struct task_usage usage;  /* USAGE, ENDED; of this run alone */
	uint32_t missing;	  /* STARTED: layers that do not hold */
};

/* The words of a run, as they stand in their file. */
#define ZYGOTE_WORDS_MAX ((size_t)8 << 20)

#endif
