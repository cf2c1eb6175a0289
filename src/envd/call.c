/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of clients: read, handed to their routes, answered within the client's credit. */
#include "envd/call.h"

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/core/own.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "envd/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TYPE "application/json"
#define STREAM_TYPE "application/connect+json"
#define ENVELOPE 5
#define ENVELOPE_END 2
#define PING_NS_MIN UINT64_C(1000000000)

const char *call_word(const struct call *call, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 2; i < call->words.count; i++) {
		const char *word = call->words.items[i];

		if (strncmp(word, name, len) == 0 && word[len] == '=')
			return word + len + 1;
	}
	return NULL;
}

static void send_head(struct call *call, unsigned status, char kind, const char *type)
{
	owned(str_done) struct str head = STR_INIT;

	if (call->has_head)
		return;
	call->has_head = true;
	str_add_char(&head, (char)(status & 0xff));
	str_add_char(&head, (char)(status >> 8));
	str_add_char(&head, kind);
	str_add(&head, type);
	link_add(&call->agent->link, LINK_HEAD, call->channel, head.data, head.len);
}

void call_add(struct call *call, const void *bytes, size_t len)
{
	if (!call->is_ended)
		str_add_bytes(&call->out, bytes, len);
}

void call_end(struct call *call)
{
	call->is_ended = true;
}

void call_reply(struct call *call, unsigned status, const char *type, const char *bytes, size_t len)
{
	send_head(call, status, 'w', type);
	call_add(call, bytes, len);
	call_end(call);
}

void call_stream(struct call *call, const char *type)
{
	send_head(call, 200, 's', type);
}

bool call_has_room(const struct call *call)
{
	return call->out.len == call->out_at && call->credit > 0;
}

void call_refuse(struct call *call, unsigned status, const char *format, ...)
{
	owned(str_done) struct str body = STR_INIT;
	va_list args;

	va_start(args, format);
	owned(free_ptr) char *text = xvasprintf(format, args);

	va_end(args);
	str_addf(&body, "{\"code\":%u,\"message\":", status);
	struct json json;

	json_init(&json, &body);
	json_text(&json, text);
	str_add_char(&body, '}');
	call_reply(call, status, JSON_TYPE, body.data, body.len);
}

static void add_envelope(struct call *call, char flags, const struct str *json)
{
	size_t len = json->len;
	const char head[ENVELOPE] = { flags, (char)(len >> 24), (char)(len >> 16), (char)(len >> 8),
				      (char)len };

	call_stream(call, STREAM_TYPE);
	call_add(call, head, sizeof(head));
	call_add(call, json->data, len);
}

static bool is_stream(const struct call *call)
{
	return call->route && call->route->kind != ROUTE_UNARY && call->route->kind != ROUTE_PLAIN;
}

void call_message(struct call *call, const struct str *json)
{
	if (is_stream(call))
		add_envelope(call, 0, json);
	else
		call_reply(call, 200, JSON_TYPE, json->data, json->len);
}

void call_finish(struct call *call)
{
	owned(str_done) struct str json = STR_INIT;

	str_add(&json, "{}");
	add_envelope(call, ENVELOPE_END, &json);
	call_end(call);
}

/* The statuses of Connect's codes, as far as they are used here. */
static unsigned status_of(const char *code)
{
	static const struct {
		const char *code;
		unsigned status;
	} rows[] = {
		{ "invalid_argument", 400 },  { "unauthenticated", 401 },
		{ "permission_denied", 403 }, { "not_found", 404 },
		{ "already_exists", 409 },    { "resource_exhausted", 429 },
		{ "unimplemented", 501 },     { "failed_precondition", 400 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].code, code) == 0)
			return rows[i].status;
	}
	return 500;
}

void call_fail(struct call *call, const char *code, const char *format, ...)
{
	owned(str_done) struct str body = STR_INIT;
	struct json json;
	va_list args;

	va_start(args, format);
	owned(free_ptr) char *text = xvasprintf(format, args);

	va_end(args);
	if (is_stream(call))
		str_add(&body, "{\"error\":");
	str_addf(&body, "{\"code\":\"%s\",\"message\":", code);
	json_init(&json, &body);
	json_text(&json, text);
	str_add(&body, is_stream(call) ? "}}" : "}");
	if (is_stream(call)) {
		add_envelope(call, ENVELOPE_END, &body);
		call_end(call);
	} else {
		call_reply(call, status_of(code), JSON_TYPE, body.data, body.len);
	}
}

void call_fail_errno(struct call *call, int errnum, const char *what)
{
	const char *code = errnum == ENOENT			  ? "not_found"
			   : errnum == EEXIST			  ? "already_exists"
			   : errnum == EACCES || errnum == EPERM  ? "permission_denied"
			   : errnum == ENOSPC || errnum == EDQUOT ? "resource_exhausted"
			   : errnum == ENOTDIR || errnum == EISDIR || errnum == ENAMETOOLONG ||
					   errnum == ELOOP || errnum == EINVAL ||
					   errnum == ENOTEMPTY
				   ? "invalid_argument"
				   : "internal";

	call_fail(call, code, "%s: %s", what, error_words(errnum));
}

static struct call **find(struct agent *agent, uint32_t channel)
{
	struct call **slot = &agent->calls;

	while (*slot && (*slot)->channel != channel)
		slot = &(*slot)->next;
	return slot;
}

static void drop(struct call **slot)
{
	struct call *call = *slot;

	*slot = call->next;
	if (call->route && call->route->done)
		call->route->done(call);
	strv_done(&call->words);
	str_done(&call->body);
	str_done(&call->out);
	free(call);
}

/* One message of JSON to its route. */
static void take_message(struct call *call, const char *bytes, size_t len)
{
	const struct json_limits limits = {
		.bytes = CALL_BODY_MAX, .depth = 16, .values = 65536, .nul = true
	};
	owned(value_release) struct value *message = NULL;
	struct error err;

	if (json_read(bytes, len, &limits, &message, &err) < 0 || message->kind != VALUE_MAP)
		call_fail(call, "invalid_argument", "the message is no JSON object");
	else
		call->route->take(call, message);
}

/* Whole envelopes in the body, each handed over and dropped. */
static void take_envelopes(struct call *call)
{
	while (!call->is_ended && call->body.len >= ENVELOPE) {
		const unsigned char *head = (const unsigned char *)call->body.data;
		size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 |
			     head[4];

		if (head[0] & 1 || len > CALL_BODY_MAX) {
			call_fail(call, "invalid_argument",
				  "an envelope is compressed or too long");
			return;
		}
		if (call->body.len < ENVELOPE + len)
			return;
		if (!(head[0] & ENVELOPE_END))
			take_message(call, call->body.data + ENVELOPE, len);
		str_drop_front(&call->body, ENVELOPE + len);
		/* A second message to a stream that takes one would start it twice. */
		if (call->route->kind == ROUTE_STREAM)
			return;
	}
}

static void take_body(struct call *call, const char *bytes, size_t len)
{
	if (!call->route || call->is_ended)
		return;
	if (call->route->kind == ROUTE_PLAIN) {
		if (call->route->body)
			call->route->body(call, bytes, len);
		return;
	}
	if (call->body.len + len > CALL_BODY_MAX) {
		call_fail(call, "resource_exhausted", "a message is longer than %zu bytes",
			  CALL_BODY_MAX);
		return;
	}
	str_add_bytes(&call->body, bytes, len);
	if (call->route->kind == ROUTE_FEED)
		take_envelopes(call);
}

static void end_body(struct call *call)
{
	const struct route *route = call->route;

	if (!route || call->is_ended)
		return;
	if (route->kind == ROUTE_UNARY)
		take_message(call, str_cstr(&call->body), call->body.len);
	else if (route->kind == ROUTE_STREAM)
		take_envelopes(call);
	else if (route->body)
		route->body(call, NULL, 0);
	if (route->kind == ROUTE_STREAM && !call->has_head)
		call_fail(call, "invalid_argument", "the message is missing");
	str_done(&call->body);
}

static const struct route *route_of(const char *method, const char *path)
{
	for (const struct route *at = routes; at->method; at++) {
		size_t len = strlen(at->path);

		if (strcmp(at->method, method) == 0 && strncmp(at->path, path, len) == 0 &&
		    (!path[len] || (len > 1 && at->path[len - 1] == '/')))
			return at;
	}
	return NULL;
}

/* Pings and a deadline are those of Connect's streams: its other answers come at once, and no other route has them. */
static void set_times(struct call *call)
{
	const char *ping = call_word(call, "ping"), *limit = call_word(call, "timeout");

	if (!is_stream(call))
		return;
	call->ping_ns = ping ? strtoull(ping, NULL, 10) * 1000000000u : 0;
	if (call->ping_ns && call->ping_ns < PING_NS_MIN)
		call->ping_ns = PING_NS_MIN;
	call->next_ping_ns = clock_now_ns() + call->ping_ns;
	if (limit && strtoull(limit, NULL, 10) > 0)
		call->deadline_ns = clock_now_ns() + strtoull(limit, NULL, 10) * 1000000u;
}

static void open_call(struct agent *agent, const struct link_frame *frame)
{
	struct call *call = xcalloc(1, sizeof(*call));

	call->agent = agent;
	call->channel = frame->channel;
	call->credit = LINK_WINDOW;
	for (size_t at = 0; at < frame->len;) {
		size_t len = strnlen(frame->bytes + at, frame->len - at);

		strv_take(&call->words, xstrndup(frame->bytes + at, len));
		at += len + 1;
	}
	call->next = agent->calls;
	agent->calls = call;
	if (call->words.count < 2) {
		call_refuse(call, 400, "no request");
		return;
	}
	const char *path = call->words.items[1];

	call->route = route_of(call->words.items[0], path);
	set_times(call);
	if (!call->route && strchr(path, '.'))
		call_fail(call, "unimplemented", "%s is not served here", path);
	else if (!call->route)
		call_refuse(call, 501, "%s %s is not served here", call->words.items[0], path);
	else if (call->route->kind == ROUTE_PLAIN)
		call->route->take(call, NULL);
}

void calls_frame(struct agent *agent, const struct link_frame *frame)
{
	struct call **slot = find(agent, frame->channel), *call = *slot;

	if (frame->kind == LINK_OPEN && !call) {
		open_call(agent, frame);
	} else if (call && frame->kind == LINK_DATA) {
		link_add_credit(&agent->link, call->channel, frame->len);
		take_body(call, frame->bytes, frame->len);
	} else if (call && frame->kind == LINK_END) {
		end_body(call);
	} else if (call && frame->kind == LINK_CREDIT) {
		call->credit += link_credit_of(frame);
	} else if (call && frame->kind == LINK_CANCEL) {
		drop(slot);
	}
}

static void send_out(struct call *call)
{
	struct link *link = &call->agent->link;

	for (;;) {
		size_t len = call->out.len - call->out_at;

		len = len < call->credit ? len : call->credit;
		len = len < LINK_DATA_MAX ? len : LINK_DATA_MAX;
		if (len == 0)
			return;
		link_add(link, LINK_DATA, call->channel, call->out.data + call->out_at, len);
		call->credit -= len;
		str_pass(&call->out, &call->out_at, len);
	}
}

static void ping(struct call *call, uint64_t now_ns)
{
	owned(str_done) struct str json = STR_INIT;

	if (!call->ping_ns || now_ns < call->next_ping_ns || !call->has_head || call->is_ended)
		return;
	call->next_ping_ns = now_ns + call->ping_ns;
	str_add(&json, str_starts(call->route->path, "/process.") ? "{\"event\":{\"keepalive\":{}}}"
								  : "{\"keepalive\":{}}");
	call_message(call, &json);
}

static void check_deadline(struct call *call, uint64_t now_ns)
{
	if (!call->deadline_ns || now_ns < call->deadline_ns || call->is_ended)
		return;
	call->is_late = true;
	if (is_stream(call))
		call_fail(call, "deadline_exceeded", "the time of this call is over");
	if (call->route->done)
		call->route->done(call);
}

static void answer(struct call *call)
{
	send_out(call);
	while (!call->is_ended && call->route && call->route->more && call_has_room(call) &&
	       call->route->more(call))
		send_out(call);
	send_out(call);
}

static uint64_t next_look_ns(const struct call *call)
{
	uint64_t next_ns = UINT64_MAX;

	if (call->is_ended)
		return next_ns;
	if (call->ping_ns)
		next_ns = call->next_ping_ns;
	return call->deadline_ns && call->deadline_ns < next_ns ? call->deadline_ns : next_ns;
}

int calls_turn(struct agent *agent)
{
	uint64_t now_ns = clock_now_ns(), next_ns = UINT64_MAX;

	for (struct call **slot = &agent->calls; *slot;) {
		struct call *call = *slot;

		check_deadline(call, now_ns);
		ping(call, now_ns);
		answer(call);
		if (next_look_ns(call) < next_ns)
			next_ns = next_look_ns(call);
		if (call->is_ended && call->out.len == call->out_at) {
			link_add(&agent->link, LINK_END, call->channel, "", 0);
			drop(slot);
		} else {
			slot = &call->next;
		}
	}
	return next_ns == UINT64_MAX ? -1
	       : next_ns <= now_ns   ? 0
				     : (int)((next_ns - now_ns) / 1000000) + 1;
}
