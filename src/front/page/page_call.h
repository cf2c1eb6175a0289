/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the page: each a process of its own that performs one verb with --json and whose output is the answer, line by line,
 * ended by {"end":{"exit":N,"cut":BOOL,"notes":TEXT}}. A reader that leaves ends a call that changes nothing; any other goes on to its end.
 */
#ifndef FRONT_PAGE_CALL_H
#define FRONT_PAGE_CALL_H

#include "front/rpc/http.h"
#include "ops/page.h"

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE_CALLS_MAX 32

struct page_call {
	struct http_request *request; /* NULL: gone */
	pid_t pid;		      /* 0: the place is free */
	int fd;			      /* its output */
	int notes_fd;		      /* what it writes to stderr */
	uint64_t end_ns;	      /* when it is ended */
	size_t bytes;		      /* of output so far */
	bool is_read_only, is_cut;
};

struct page_calls {
	struct page_call items[PAGE_CALLS_MAX];
};

/* Starts one, whose answer goes to REQUEST. */
int page_call_start(struct page_calls *calls, struct http_request *request, const struct op *op,
		    const struct value *asked, const struct page_setup *setup, struct error *err);
/* REQUEST is over. */
void page_calls_forget(struct page_calls *calls, const struct http_request *request);
/* Fills POLLS, of PAGE_CALLS_MAX, one for each place; those with nothing to wait for have -1. */
void page_calls_polls(const struct page_calls *calls, struct pollfd *polls);
void page_calls_turn(struct page_calls *calls);
/* Ends all of them. */
void page_calls_done(struct page_calls *calls);

#endif
