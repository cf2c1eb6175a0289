/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP on the loopback, the one door to the library that speaks it: requests in, replies and event streams out.
 *
 * Single-threaded: the caller polls http_fd() beside its own descriptors and calls http_turn().
 */
#ifndef FRONT_RPC_HTTP_H
#define FRONT_RPC_HTTP_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>

struct http;
struct http_request;

struct http_handlers {
	/* Headers are there, the body is not: 0 to go on, or a status to refuse with at once. */
	unsigned (*check)(struct http_request *request, void *cookie);
	/* A part of a body of http_take_parts(): how much of it was taken. The rest comes again after http_resume_body(). May be NULL. */
	size_t (*part)(struct http_request *request, const char *bytes, size_t len, void *cookie);
	/* All of it is there. To be answered now or later, once. */
	void (*handle)(struct http_request *request, void *cookie);
	/* Over: answered, or the client is gone. The request is freed afterwards. */
	void (*gone)(struct http_request *request, void *cookie);
	void *cookie;
};

/* Serves on LISTEN_FD, of loopback_listen, which is taken over. */
int http_open(int *listen_fd, size_t body_max, const struct http_handlers *handlers,
	      struct http **ret_http, struct error *err);
void http_close(struct http *http);

int http_fd(const struct http *http);
unsigned http_port(const struct http *http);
/* Milliseconds until http_turn has to be called; -1: never. */
int http_timeout(const struct http *http);
void http_turn(struct http *http);

const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request);
/* NULL when there is none; the first when there are several. */
const char *http_header(const struct http_request *request, const char *name);
void http_each_header(const struct http_request *request,
		      void (*each)(const char *name, const char *value, void *cookie),
		      void *cookie);
/* What the URL says by NAME behind its '?', decoded; NULL when there is none. */
const char *http_query(const struct http_request *request, const char *name);
const struct str *http_body(const struct http_request *request);
/* How the Host of a request may name the server on LISTEN_FD. */
void http_hosts(int listen_fd, char ret_hosts[2][64]);
/* 0 when it comes from this server's own page, or from none; else a status to refuse with. */
unsigned http_check_source(const struct http_request *request, const char hosts[2][64]);
/* During the check: with a body beside the status that is returned. */
unsigned http_refuse(struct http_request *request, unsigned status, const char *type,
		     const struct str *body);
/* During the check: the body is handed over as it comes, of any length. */
void http_take_parts(struct http_request *request);
void http_resume_body(struct http_request *request);
/* During the check, of a request without a token: its body is at most MAX long, and its connection does not become known. */
void http_is_stranger(struct http_request *request, size_t max);
/* What the handlers keep with it. */
void http_set_mark(struct http_request *request, void *mark);
void *http_mark(const struct http_request *request);

/* A header of the answer; before it. */
void http_add_header(struct http_request *request, const char *name, const char *value);
/* The whole answer; BODY may be NULL. */
void http_reply(struct http_request *request, unsigned status, const char *type,
		const struct str *body);
/* Whether so much waits to be read by slow clients that no more should be begun. */
bool http_is_full(const struct http_request *request);
/* An answer in parts: bytes of TYPE, which the caller adds as long as there is room. */
void http_stream(struct http_request *request, const char *type);
bool http_stream_has_room(const struct http_request *request);
void http_stream_add(struct http_request *request, const char *bytes, size_t len);
/* The connection is cut, so that a client does not take what it has for the whole. */
void http_stream_break(struct http_request *request);
/* An answer in parts, of events. */
void http_stream_events(struct http_request *request);
/* One of them; false when it cannot be had: the stream is over, or too much of it was not read yet. */
bool http_stream_event(struct http_request *request, const struct str *data);
/* The end, with a LAST event (NULL: none), however much waits. */
void http_stream_end(struct http_request *request, const struct str *last);

#endif
