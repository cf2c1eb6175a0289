/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as handlers see them, and their answers, whole or in parts. */
#include "base/process/loopback.h"
#include "front/rpc/http_parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What clients may leave unread: of one stream before its answer, and of all together. */
#define STREAM_MAX ((size_t)256 << 10)
#define WAITING_MAX ((size_t)64 << 20)

const char *http_method(const struct http_request *request)
{
	return request->method;
}

const char *http_path(const struct http_request *request)
{
	return request->path;
}

void http_hosts(int listen_fd, char ret_hosts[2][64])
{
	loopback_name(listen_fd, ret_hosts[0], sizeof(ret_hosts[0]));
	(void)snprintf(ret_hosts[1], sizeof(ret_hosts[1]), "localhost:%u",
		       loopback_port(listen_fd));
}

unsigned http_check_source(const struct http_request *request, const char hosts[2][64])
{
	const char *host = http_header(request, "Host"), *origin = http_header(request, "Origin");
	const char *site = http_header(request, "Sec-Fetch-Site");

	if (!host || (strcasecmp(host, hosts[0]) != 0 && strcasecmp(host, hosts[1]) != 0))
		return 421;
	if (origin && (!str_starts(origin, "http://") || strcasecmp(origin + 7, host) != 0))
		return 403;
	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return 403;
	return 0;
}

unsigned http_refuse(struct http_request *request, unsigned status, const char *type,
		     const struct str *body)
{
	request->type = xstrdup(type);
	str_add_bytes(&request->out, body->data, body->len);
	return status;
}

void http_take_parts(struct http_request *request)
{
	request->has_parts = true;
}

void http_resume_body(struct http_request *request)
{
	if (request->has_parts && !request->is_handled)
		http_wake(request);
}

const struct str *http_body(const struct http_request *request)
{
	return &request->body;
}

void http_is_stranger(struct http_request *request, size_t max)
{
	request->is_stranger = true;
	request->body_max = max;
}

void http_set_mark(struct http_request *request, void *mark)
{
	request->mark = mark;
}

void *http_mark(const struct http_request *request)
{
	return request->mark;
}

void http_add_header(struct http_request *request, const char *name, const char *value)
{
	strv_add(&request->headers, name);
	strv_add(&request->headers, value);
}

void http_reply(struct http_request *request, unsigned status, const char *type,
		const struct str *body)
{
	if (request->status)
		return;
	request->status = status;
	request->type = type ? xstrdup(type) : NULL;
	if (body)
		str_add_bytes(&request->out, body->data, body->len);
	http_wake(request);
}

bool http_is_full(const struct http_request *request)
{
	size_t waiting = 0;

	for (const struct http_request *at = request->http->requests; at; at = at->next)
		waiting += at->out.len - at->out_at;
	return waiting > WAITING_MAX;
}

void http_stream(struct http_request *request, const char *type)
{
	if (request->status)
		return;
	request->status = 200;
	request->type = xstrdup(type);
	request->is_stream = true;
	http_wake(request);
}

bool http_stream_has_room(const struct http_request *request)
{
	return request->is_stream && !request->is_ended &&
	       request->out.len - request->out_at <= STREAM_MAX;
}

void http_stream_add(struct http_request *request, const char *bytes, size_t len)
{
	str_add_bytes(&request->out, bytes, len);
	http_wake(request);
}

void http_stream_break(struct http_request *request)
{
	request->is_broken = request->is_ended = true;
	http_wake(request);
}

static void add_event(struct http_request *request, const struct str *data)
{
	str_add(&request->out, "event: message\ndata: ");
	str_add_bytes(&request->out, data->data, data->len);
	http_stream_add(request, "\n\n", 2);
}

void http_stream_events(struct http_request *request)
{
	if (request->status)
		return;
	http_stream(request, "text/event-stream");
	/* A comment: with the first bytes of the body the headers go out as well. */
	http_stream_add(request, ":\n\n", 3);
}

bool http_stream_event(struct http_request *request, const struct str *data)
{
	if (!http_stream_has_room(request))
		return false;
	add_event(request, data);
	return true;
}

void http_stream_end(struct http_request *request, const struct str *last)
{
	if (last && !request->is_ended)
		add_event(request, last);
	request->is_ended = true;
	http_wake(request);
}
