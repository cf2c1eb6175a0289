/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the HTTP server share: the library's side (http.c) and the answers (http_answer.c). */
#ifndef FRONT_RPC_HTTP_PARTS_H
#define FRONT_RPC_HTTP_PARTS_H

#include "front/rpc/http.h"
#include "front/rpc/http_peers.h"

struct MHD_Connection;
struct MHD_Daemon;

struct http {
	struct MHD_Daemon *daemon;
	struct http_request *requests; /* under way */
	struct peers peers;
	struct http_handlers handlers;
	size_t body_max;
	unsigned port;
	bool has_sleepers;
	int expire_ms; /* until an idle peer's time is over; -1: there is none */
};

struct http_request {
	struct http *http;
	struct http_request *next;
	struct MHD_Connection *connection;
	struct peer *peer;
	char *method, *path;
	struct str body;
	size_t body_max;
	void *mark;
	struct strv headers; /* of the answer: name, value, ... */
	unsigned status;     /* of the answer; 0: none yet */
	char *type;
	struct str out; /* the answer, or what of a stream was not sent yet */
	size_t out_at;	/* before it is sent */
	bool is_stranger, is_handled, is_too_large, is_stream, is_ended, is_queued, is_suspended;
	bool has_parts,
		is_broken; /* the body is handed over as it comes; the answer is cut short */
};

/* Has the library look at a connection that sleeps. */
void http_wake(struct http_request *request);

#endif
