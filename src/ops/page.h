/* SPDX-License-Identifier: Apache-2.0 */
/* The page: what the verb `ui` hands to the face that serves it, and which calls that face takes. */
#ifndef OPS_PAGE_H
#define OPS_PAGE_H

#include "ops/op.h"

struct page_setup {
	int listen_fd; /* on the loopback */
	int door_fd; /* a local socket: a process that connects is given an address with a single-use token */
	bool (*is_welcome)(
		int fd); /* whether the process at the other end of a connection to the door may have one */
	char *program; /* performs the calls */
	const char *const *environ;
};

/* Serves until a signal ends it. Only in aisbx-http: weak elsewhere. Takes both sockets over. */
int page_serve(struct page_setup *setup, struct error *err);

/*
 * The words of a command line for a call of OP that the page asked for, {"words":[TEXT...],"flags":{NAME:TEXT|true|[TEXT...]}}:
 * what the row's `page` offers, and nothing else. ASKED may have neither key.
 */
int page_words(const struct op *op, const struct value *asked, struct strv *ret_words,
	       struct error *err);

#endif
