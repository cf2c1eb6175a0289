/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP on the loopback, by the library. */
#include "front/rpc/http.h"

#include "base/core/clock.h"
#include "base/process/loopback.h"
#include "base/core/own.h"
#include "front/rpc/http_parts.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The library's limit is that much above ours: it takes new connections while those that gave way are being closed. */
#define CONNECTIONS_SPARE 64u
/* Without a byte sent or read, also of a client that does not read its answer. */
#define IDLE_S 120u
/* How often those that wait for an answer are asked whether they are still there. */
#define LOOK_MS 500
#define HEADER_BYTES ((size_t)32 << 10)

static void request_free(struct http_request *request)
{
	free(request->method);
	free(request->path);
	free(request->type);
	str_done(&request->body);
	str_done(&request->out);
	strv_done(&request->headers);
	free(request);
}

void http_wake(struct http_request *request)
{
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	MHD_resume_connection(request->connection);
}

static void suspend(struct http_request *request)
{
	if (request->is_suspended)
		return;
	request->is_suspended = true;
	MHD_suspend_connection(request->connection);
}

/* The next part of a stream. Without one the connection sleeps until there is. */
static ssize_t read_stream(void *cookie, uint64_t position, char *buffer, size_t max)
{
	struct http_request *request = cookie;
	size_t left = request->out.len - request->out_at, len = left < max ? left : max;

	(void)position;
	if (request->is_broken)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (len == 0 && request->is_ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (len == 0) {
		suspend(request);
		return 0;
	}
	memcpy(buffer, request->out.data + request->out_at, len);
	str_pass(&request->out, &request->out_at, len);
	return (ssize_t)len;
}

static enum MHD_Result queue(struct http_request *request)
{
	struct MHD_Response *response;
	enum MHD_Result done;

	if (request->is_stream)
		response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_stream,
							     request, NULL);
	else
		/* It stays as it is until the request has gone. */
		response = MHD_create_response_from_buffer(request->out.len, request->out.data,
							   MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	for (size_t i = 0; i + 1 < request->headers.count; i += 2)
		(void)MHD_add_response_header(response, request->headers.items[i],
					      request->headers.items[i + 1]);
	if (request->type)
		(void)MHD_add_response_header(response, "Content-Type", request->type);
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	request->is_queued = true;
	done = MHD_queue_response(request->connection, request->status, response);
	MHD_destroy_response(response);
	return done;
}

static void take_body(struct http_request *request, const char *bytes, size_t len)
{
	if (request->body.len + len > request->body_max)
		request->is_too_large = true;
	if (!request->is_too_large)
		str_add_bytes(&request->body, bytes, len);
}

/* As much as the handler takes; the connection sleeps until it takes more. What comes behind an answer is not looked at. */
static void take_part(struct http_request *request, const char *bytes, size_t *len)
{
	struct http *http = request->http;

	if (!request->peer->is_busy)
		peer_set_busy(&http->peers, request->peer, true, clock_now_ns());
	*len -= request->status ? *len
				: http->handlers.part(request, bytes, *len, http->handlers.cookie);
	if (*len > 0)
		suspend(request);
}

/* The library calls this when it has accepted a connection, and before it closes the descriptor. */
static void connection_changed(void *cookie, struct MHD_Connection *connection, void **slot,
			       enum MHD_ConnectionNotificationCode what)
{
	struct http *http = cookie;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (what == MHD_CONNECTION_NOTIFY_STARTED && info) {
		*slot = peers_add(&http->peers, info->connect_fd, clock_now_ns());
	} else if (what == MHD_CONNECTION_NOTIFY_CLOSED && *slot) {
		peers_remove(&http->peers, *slot);
		*slot = NULL;
	}
}

static struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static struct http_request *begin(struct http *http, struct MHD_Connection *connection,
				  const char *path, const char *method)
{
	struct http_request *request = xcalloc(1, sizeof(*request));

	*request = (struct http_request){ .http = http,
					  .connection = connection,
					  .peer = peer_of(connection),
					  .method = xstrdup(method),
					  .path = xstrdup(path),
					  .body_max = http->body_max,
					  .next = http->requests };
	http->requests = request;
	return request;
}

static enum MHD_Result refuse_request(struct http_request *request, unsigned status)
{
	request->status = status;
	request->is_handled = true;
	return queue(request);
}

/* The library calls this with the headers, with each part of the body, at its end, and when a sleeping one wakes. */
/* NOLINTNEXTLINE(readability-function-size): the library's type has that many parameters */
static enum MHD_Result serve(void *cookie, struct MHD_Connection *connection, const char *path,
			     const char *method, const char *version, const char *bytes,
			     size_t *len, void **slot)
{
	struct http *http = cookie;
	struct http_request *request = *slot;
	unsigned status;

	(void)version;
	if (!request) {
		*slot = request = begin(http, connection, path, method);
		status = http->handlers.check(request, http->handlers.cookie);
		if (status)
			return refuse_request(request, status);
		if (!request->is_stranger)
			peer_is_known(&http->peers, request->peer, clock_now_ns());
		return MHD_YES;
	}
	if (*len > 0 && request->has_parts) {
		take_part(request, bytes, len);
		return MHD_YES;
	}
	if (*len > 0) {
		take_body(request, bytes, *len);
		*len = 0;
		return MHD_YES;
	}
	if (request->is_queued)
		return MHD_YES;
	if (request->is_too_large)
		return refuse_request(request, MHD_HTTP_CONTENT_TOO_LARGE);
	if (!request->is_handled && !request->status) {
		request->is_handled = true;
		peer_set_busy(&http->peers, request->peer, true, clock_now_ns());
		http->handlers.handle(request, http->handlers.cookie);
	}
	if (request->status)
		return queue(request);
	suspend(request);
	return MHD_YES;
}

static void forget(struct http *http, const struct http_request *request)
{
	struct http_request **slot = &http->requests;

	while (*slot && *slot != request)
		slot = &(*slot)->next;
	if (*slot)
		*slot = request->next;
}

static void completed(void *cookie, struct MHD_Connection *connection, void **slot,
		      enum MHD_RequestTerminationCode how)
{
	struct http *http = cookie;
	struct http_request *request = *slot;

	(void)connection;
	(void)how;
	if (!request)
		return;
	http->handlers.gone(request, http->handlers.cookie);
	peer_set_busy(&http->peers, request->peer, false, clock_now_ns());
	forget(http, request);
	request_free(request);
	*slot = NULL;
}

int http_open(int *listen_fd, size_t body_max, const struct http_handlers *handlers,
	      struct http **ret_http, struct error *err)
{
	struct http *http = xcalloc(1, sizeof(*http));

	http->handlers = *handlers;
	http->body_max = body_max;
	http->peers.most = peers_limit() - CONNECTIONS_SPARE;
	http->port = loopback_port(*listen_fd);
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, serve, http,
		MHD_OPTION_LISTEN_SOCKET, *listen_fd, MHD_OPTION_NOTIFY_COMPLETED, completed, http,
		MHD_OPTION_NOTIFY_CONNECTION, connection_changed, http,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_LIMIT,
		http->peers.most + CONNECTIONS_SPARE, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		HEADER_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!http->daemon) {
		free(http);
		return error_errno(err, ERROR_HOST, "--http: the server");
	}
	/* The library closes it from here on. */
	*listen_fd = -1;
	*ret_http = http;
	return 0;
}

/* Wakes the connection for its end: the library sees that the client is gone, or the client that this is all. */
static void give_up(struct http_request *request)
{
	request->is_ended = true;
	if (!request->status)
		request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
	http_wake(request);
}

/* The library does not look at connections that sleep. */
static bool is_hung_up(const struct http_request *request)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	char byte;
	ssize_t got = info ? recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 1;

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static bool look_after_sleepers(struct http *http)
{
	bool has_sleepers = false;

	for (struct http_request *at = http->requests; at; at = at->next) {
		if (at->is_suspended && is_hung_up(at))
			give_up(at);
		has_sleepers |= at->is_suspended;
	}
	return has_sleepers;
}

void http_close(struct http *http)
{
	for (struct http_request *at = http->requests; at; at = at->next)
		give_up(at);
	(void)MHD_run(http->daemon);
	MHD_stop_daemon(http->daemon);
	free(http);
}

int http_fd(const struct http *http)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	return info ? info->epoll_fd : -1;
}

unsigned http_port(const struct http *http)
{
	return http->port;
}

int http_timeout(const struct http *http)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int most = http->expire_ms;

	if (http->has_sleepers && (most < 0 || most > LOOK_MS))
		most = LOOK_MS;
	if (MHD_get_timeout(http->daemon, &ms) != MHD_YES)
		return most;
	if (most >= 0 && ms > (unsigned)most)
		return most;
	return ms > 60000 ? 60000 : (int)ms;
}

void http_turn(struct http *http)
{
	(void)MHD_run(http->daemon);
	http->expire_ms = peers_expire(&http->peers, clock_now_ns());
	http->has_sleepers = look_after_sleepers(http);
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct each {
	void (*call)(const char *name, const char *value, void *cookie);
	void *cookie;
};

static enum MHD_Result pass_header(void *cookie, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	const struct each *each = cookie;

	(void)kind;
	if (value)
		each->call(name, value, each->cookie);
	return MHD_YES;
}

void http_each_header(const struct http_request *request,
		      void (*each)(const char *name, const char *value, void *cookie), void *cookie)
{
	struct each all = { .call = each, .cookie = cookie };

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, pass_header, &all);
}

const char *http_query(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}
