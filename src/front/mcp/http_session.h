/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the server over HTTP: their sessions, and the streams they listen to. */
#ifndef FRONT_MCP_HTTP_SESSION_H
#define FRONT_MCP_HTTP_SESSION_H

#include "front/mcp/http_token.h"
#include "front/mcp/server.h"
#include "front/rpc/http.h"

/* Of one session at a time. */
#define STREAMS_MAX 8

/* One HTTP request under way, as a channel: a message of the client's, or (GET) a stream it listens to. */
struct exchange {
	struct channel channel;
	struct http_request *request;
	struct web_session *session; /* NULL: refused */
	struct exchange *next;	     /* of the session's streams */
	bool has_events;	     /* the client takes a stream as the answer */
	bool is_started;	     /* and that has begun */
	bool is_listening;	     /* GET */
	bool is_alone;		     /* its session is its own (2026-07-28), and ends with it */
};

struct web_session {
	struct session session; /* first: a call's session is this one */
	struct web_session *next;
	struct exchange *streams; /* newest first */
	unsigned users;		  /* exchanges that refer to it */
	char id[TOKEN_SIZE];	  /* "": ended, and found by no request any more */
};

struct web_sessions {
	struct server *server;
	struct web_session *first; /* newest first */
};

/* NULL when there is none of that name. */
struct web_session *web_session_find(const struct web_sessions *all, const char *id);
/* A new one; the oldest idle one goes when there are too many. NULL: all are in use. */
struct web_session *web_session_add(struct web_sessions *all);
/* Ends its calls and streams; it goes when the last of them has. */
void web_session_end(struct web_sessions *all, struct web_session *session);
void web_sessions_done(struct web_sessions *all);

void exchange_join(struct exchange *exchange, struct web_session *session);
/* False when the session has streams enough. */
bool exchange_listen(struct exchange *exchange);
/* Over: the session forgets it. */
void exchange_leave(struct web_sessions *all, struct exchange *exchange);

#endif
