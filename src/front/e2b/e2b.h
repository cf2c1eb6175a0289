/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server for E2B's clients: its sandboxes, the requests that are passed on to their agents, the work that children do.
 *
 *   client ──HTTP──> e2b.c: who asks? ──> api.c: sandboxes made, listed, ended ──> errand.c: a child does the slow part
 *                                    └──> relay.c: the request as frames ──> the agent in the sandbox (envd/)
 *                                           order.c: what it starts: may it? on record, and until when
 *
 * One process serves all. What an agent sends is as little trusted as what a client sends: a sandbox can speak for its agent.
 */
#ifndef FRONT_E2B_E2B_H
#define FRONT_E2B_E2B_H

#include "base/core/value.h"
#include "base/text/json_write.h"
#include "envd/link.h"
#include "front/e2b/made.h"
#include "front/mcp/http_token.h"
#include "front/rpc/http.h"
#include "ops/serve.h"

#include <poll.h>

/* What the clients' libraries take for the version of the agent: it has all that they ask one of this version for. */
#define ENVD_VERSION "0.6.13"
#define E2B_TIMEOUT_S 300
#define E2B_TIMEOUT_MAX_S (24 * 3600)
/* Of a body that is read before the agent gets it. */
#define E2B_HELD_MAX ((size_t)8 << 20)

enum row_state { ROW_STARTING, ROW_RUNNING, ROW_PAUSING, ROW_PAUSED, ROW_RESUMING };

/* One sandbox. */
struct row {
	struct row *next; /* the newest first */
	char id[E2B_ID_SIZE];
	char token[TOKEN_SIZE];
	struct made made;
	struct value *metadata; /* of texts */
	enum row_state state;
	bool pauses;	  /* instead of ending when its time is over */
	bool pauses_cold; /* and its processes end then */
	bool is_cold;	  /* paused so */
	uint64_t number, started_ms, end_ms;
	struct served served;
	struct served_facts facts;
	uint64_t cpu_us, cpu_at_ns; /* when its figures were last asked for */
	int freeze_fd;		    /* open while it is paused */
	struct link link;
	struct relay *relays;
	struct order *orders; /* that run */
};

struct e2b {
	const struct serve_setup *setup;
	struct http *http;
	struct row *rows;
	struct saved *saved;
	struct errand *errands;
	char hosts[2][64]; /* as the Host of a request names this server */
	char key[TOKEN_SIZE + 8];
	uint64_t last_number, started_ms;
	uint32_t last_channel;
	int signal_fd;
};

/* rows.c */
/* An id as E2B's are: LETTER and twenty characters. */
int e2b_id(char letter, char ret_id[static E2B_ID_SIZE], struct error *err);
struct row *row_find(const struct e2b *e2b, const char *id);
struct row *row_add(struct e2b *e2b, struct error *err);
/* Breaks off its requests, ends its processes, and has what is left of it removed; REQUEST is answered then (NULL: none). */
void row_end(struct e2b *e2b, struct row *row, struct http_request *request);
/* Halts it, with its processes or without them; REQUEST is answered then (NULL: none). False when too much is under way. */
bool row_pause(struct e2b *e2b, struct row *row, bool cold, struct http_request *request);
/* Ends or pauses those whose time is over. Milliseconds until the next one's; -1: none. */
int rows_expire(struct e2b *e2b);
/* Takes what agents and supervisors sent, sends what waits. */
void rows_turn(struct e2b *e2b);
size_t rows_polls(const struct e2b *e2b, struct pollfd *polls);
size_t rows_count(const struct e2b *e2b);
void rows_done(struct e2b *e2b);

/* api.c: what E2B calls its API. */
void api_handle(struct e2b *e2b, struct http_request *request);
/* An answer of the API, and an error in its shape. */
void api_reply(struct http_request *request, unsigned status, const struct str *json);
void api_refuse(struct http_request *request, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* {"code": STATUS, "message": TEXT} */
void api_error(struct str *json, unsigned status, const char *text);
void api_sandbox(struct json *json, const struct row *row);
/* The JSON object of a body, an empty one for none; NULL: it was answered. */
struct value *api_body(struct http_request *request);
/* Seconds from ASKED, E2B's number where it has none; false when it was answered. */
bool api_timeout(struct http_request *request, const struct value *asked, int64_t *ret_s);

/* relay.c: requests for an agent. */
void relay_open(struct e2b *e2b, struct row *row, struct http_request *request);
size_t relay_part(struct http_request *request, const char *bytes, size_t len);
void relay_body_end(struct http_request *request);
void relay_gone(struct http_request *request);
/* A frame of ROW's agent; false when it is none that an honest one sends. */
bool relay_frame(struct row *row, const struct link_frame *frame);
/* Gives credit for what clients have read. */
void relay_turn(struct row *row);
void relay_break_all(struct row *row);
/* A body that is held back (order_is()): NULL when there is none any more. */
const struct str *relay_held(const struct http_request *request);
/* Passes it on, with a time limit unless that is 0; by which channel. */
uint32_t relay_pass(struct http_request *request, uint64_t limit_ms);
/* It is answered here and never passed on to the agent. */
void relay_forget(struct http_request *request);

/* order.c: commands and code that clients start. */
bool order_is(const struct http_request *request);
/* BODY is all of it. LIMIT_MS: it was asked about already, and that is its time; else NULL. */
void order_begin(struct e2b *e2b, struct row *row, struct http_request *request,
		 const struct str *body, const uint64_t *limit_ms);
void order_judged(struct e2b *e2b, struct row *row, struct http_request *request,
		  const struct error *err, uint64_t limit_ms);
/* The agent's LINK_RUN; false when it is none that an honest one sends. */
bool order_ended(struct row *row, const struct link_frame *frame);
/* They end with their client (CHANNEL), or all with the sandbox (0). */
void orders_end(struct row *row, uint32_t channel);
/* When the first one is so late that the sandbox has to end; UINT64_MAX: never. */
uint64_t orders_late_ms(const struct row *row);
void orders_resumed(struct row *row);

#endif
