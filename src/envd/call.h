/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of a client, as the agent sees it: its words, its body, and the answer, whole or in parts.
 *
 * The routes that answer are rows of a table (routes.c). Those of Connect take and give JSON: one message, or streams of
 * messages in envelopes of five bytes.
 */
#ifndef ENVD_CALL_H
#define ENVD_CALL_H

#include "base/core/str.h"
#include "base/core/value.h"
#include "envd/agent.h"

#include <stdbool.h>
#include <stdint.h>

#define CALL_BODY_MAX ((size_t)8 << 20)

struct call;

enum route_kind {
	ROUTE_UNARY,  /* Connect: one message each way */
	ROUTE_STREAM, /* Connect: one message in, a stream out */
	ROUTE_FEED,   /* Connect: a stream in, and what is in it as it comes */
	ROUTE_PLAIN,  /* no Connect: the body as it comes */
};

struct route {
	const char *method, *path; /* a path that ends in / is that of everything below */
	enum route_kind kind;
	/* A message has come (ROUTE_PLAIN: the words of the request have). */
	void (*take)(struct call *call, const struct value *message);
	/* ROUTE_PLAIN: a part of the body. ROUTE_PLAIN, ROUTE_FEED: its end, as no BYTES. */
	void (*body)(struct call *call, const char *bytes, size_t len);
	/* There is room for more of the answer, of which nothing waits: whether some was added. May be NULL. */
	bool (*more)(struct call *call);
	/* Over, by the client, the clock or us: lets go of what `own` holds; may be NULL. */
	void (*done)(struct call *call);
};

extern const struct route routes[]; /* ended by one without a method */

struct call {
	struct call *next;
	struct agent *agent;
	uint32_t channel;
	const struct route
		*route;	   /* NULL: answered already, the rest of the body is not looked at */
	struct strv words; /* method, path, name=value... */
	struct str body;   /* as far as it is not used yet */
	struct str out;	   /* of the answer, what waits for credit */
	size_t out_at, credit;
	bool has_head, is_ended;	/* of the answer */
	bool is_late;			/* its deadline has passed */
	bool is_noted;			/* the server knows how what it started has ended */
	void *own;			/* the route's */
	uint64_t ping_ns, next_ping_ns; /* how often a stream shows that it lives; 0: never */
	uint64_t deadline_ns;		/* 0: none */
};

/* What a request says by NAME: a query, a header that the server passes on; NULL: nothing. */
const char *call_word(const struct call *call, const char *name);

/* A whole answer. */
void call_reply(struct call *call, unsigned status, const char *type, const char *bytes,
		size_t len);
/* Of /files: {"code": STATUS, "message": TEXT}. */
void call_refuse(struct call *call, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An answer in parts. */
void call_stream(struct call *call, const char *type);
void call_add(struct call *call, const void *bytes, size_t len);
void call_end(struct call *call);
/* Whether everything added so far was taken by the client's credit. */
bool call_has_room(const struct call *call);

/* Connect: the only or the next message of the answer; the end of a stream. */
void call_message(struct call *call, const struct str *json);
void call_finish(struct call *call);
/* {"code": CODE, "message": TEXT}, in the way that the route's kind asks for. */
void call_fail(struct call *call, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for errno; the text begins with WHAT. */
void call_fail_errno(struct call *call, int errnum, const char *what);

/* The calls under way: the agent's loop hands frames over. */
void calls_frame(struct agent *agent, const struct link_frame *frame);
/* Sends what credit allows, pings that are due. Milliseconds until the next one; -1: none. */
int calls_turn(struct agent *agent);

#endif
