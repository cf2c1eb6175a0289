/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streamable HTTP: the same server for several clients on the loopback, each request with the token.
 *
 * A web page can reach the loopback, too: Host and Origin are looked at before anything else, and the token, which lies in
 * a file of the user's, is required with every request. A client that disconnects before the answer has cancelled.
 */
#include "base/file/fd.h"
#include "base/process/service_log.h"
#include "base/process/loopback.h"
#include "base/core/own.h"
#include "front/mcp/http.h"
#include "front/mcp/http_session.h"
#include "front/mcp/methods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PATH "/mcp"
#define MODERN "2026-07-28"

struct web {
	struct server *server;
	struct http *http;
	struct web_sessions sessions;
	char token[TOKEN_SIZE];
	char *token_path;
	int signal_fd;
};

/* NAME, or NAME:PORT, where name is one of the loopback's. */
static bool is_loopback(const char *text)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);

		if (strncasecmp(text, names[i], len) != 0)
			continue;
		text += len;
		return !*text ||
		       (*text == ':' && text[1] && !text[1 + strspn(text + 1, "0123456789")]);
	}
	return false;
}

static bool is_own_origin(const char *origin)
{
	return str_starts(origin, "http://") && is_loopback(origin + strlen("http://"));
}

static bool takes_events(const struct http_request *request)
{
	const char *accept = http_header(request, "Accept");

	return accept && strstr(accept, "text/event-stream");
}

/* GET is for streams, and only where there are sessions: it changes nothing. */
static bool is_served(const struct http_request *request, const char *method)
{
	const char *version = http_header(request, "MCP-Protocol-Version");

	if (strcmp(method, "GET") == 0)
		return takes_events(request) && !(version && strcmp(version, MODERN) == 0);
	return strcmp(method, "POST") == 0 || strcmp(method, "DELETE") == 0;
}

static unsigned check(struct http_request *request, void *cookie)
{
	const struct web *web = cookie;
	const char *host = http_header(request, "Host"), *origin = http_header(request, "Origin");
	const char *given = http_header(request, "Authorization");
	const char *type = http_header(request, "Content-Type");
	const char *method = http_method(request);

	if (!host || !is_loopback(host) || (origin && !is_own_origin(origin)))
		return 403;
	if (!given || strncasecmp(given, "Bearer ", 7) != 0 ||
	    !token_is_same(given + 7, web->token)) {
		http_add_header(request, "WWW-Authenticate", "Bearer");
		return 401;
	}
	if (strcmp(http_path(request), PATH) != 0)
		return 404;
	if (!is_served(request, method)) {
		http_add_header(request, "Allow", "GET, POST, DELETE");
		return 405;
	}
	if (http_is_full(request))
		return 503;
	if (strcmp(method, "POST") == 0 &&
	    (!type || strncasecmp(type, "application/json", strlen("application/json")) != 0))
		return 415;
	return 0;
}

/* Whether the one message in BODY is a request, and which; what cannot be read is a request to be refused. */
static bool is_request(const struct str *body, bool *ret_initializes)
{
	struct rpc_message message;
	struct rpc_fault fault;
	bool asks;

	*ret_initializes = false;
	if (rpc_read(str_cstr(body), body->len, &message, &fault) < 0) {
		rpc_fault_done(&fault);
		return true;
	}
	asks = message.kind == RPC_REQUEST;
	*ret_initializes = asks && strcmp(message.method, "initialize") == 0;
	rpc_message_done(&message);
	return asks;
}

/*
 * The answer goes where the question came from. What comes before it does, too, where the client takes a stream there; else
 * by a stream it listens to.
 */
static bool send_message(struct channel *channel, const struct str *message, bool is_last)
{
	struct exchange *exchange = (struct exchange *)channel;
	const struct exchange *stream = exchange->session ? exchange->session->streams : NULL;

	if (is_last && !exchange->is_started) {
		http_reply(exchange->request, 200, "application/json", message);
		return true;
	}
	if (!exchange->has_events)
		return stream && http_stream_event(stream->request, message);
	if (!exchange->is_started) {
		exchange->is_started = true;
		http_stream_events(exchange->request);
	}
	if (!is_last)
		return http_stream_event(exchange->request, message);
	http_stream_end(exchange->request, message);
	return true;
}

static void refuse(struct http_request *request, unsigned status, const char *why)
{
	owned(str_done) struct str body = STR_INIT;

	rpc_add_error(&body, NULL, RPC_INVALID_REQUEST, why, NULL);
	http_reply(request, status, "application/json", &body);
}

/* The session that was agreed on before; NULL when there is none, and that was answered. */
static struct web_session *session_named(struct web *web, struct http_request *request)
{
	const char *id = http_header(request, "Mcp-Session-Id");
	struct web_session *session = id ? web_session_find(&web->sessions, id) : NULL;

	if (!session)
		refuse(request, id ? 404 : 400,
		       id ? "no such session; initialize again" : "Mcp-Session-Id is missing");
	return session;
}

/* The session a message belongs to; NULL when that was answered. */
static struct web_session *session_of(struct web *web, struct exchange *exchange, bool initializes)
{
	struct http_request *request = exchange->request;
	const char *version = http_header(request, "MCP-Protocol-Version");
	struct web_session *session;

	if (version && !initializes && mcp_version_find(version) == MCP_NONE) {
		refuse(request, 400, "MCP-Protocol-Version: none that this server speaks");
		return NULL;
	}
	exchange->is_alone = !initializes && version && strcmp(version, MODERN) == 0;
	if (!initializes && !exchange->is_alone)
		return session_named(web, request);
	session = web_session_add(&web->sessions);
	if (!session)
		refuse(request, 500, "no session can be made");
	else if (initializes)
		http_add_header(request, "Mcp-Session-Id", session->id);
	return session;
}

static void handle_post(struct web *web, struct exchange *exchange)
{
	struct http_request *request = exchange->request;
	const struct str *body = http_body(request);
	bool initializes, asks = is_request(body, &initializes);
	struct web_session *session = session_of(web, exchange, initializes);

	if (!session)
		return;
	exchange_join(exchange, session);
	session_receive(&session->session, &exchange->channel, str_cstr(body), body->len);
	if (!asks)
		http_reply(request, 202, NULL, NULL);
}

/* The stream for notifications; it stays until either side ends it. */
static void handle_get(struct web *web, struct exchange *exchange)
{
	struct web_session *session = session_named(web, exchange->request);

	if (!session)
		return;
	exchange_join(exchange, session);
	if (!exchange_listen(exchange))
		refuse(exchange->request, 409, "this session has streams enough");
	else
		http_stream_events(exchange->request);
}

static void handle_delete(struct web *web, struct exchange *exchange)
{
	struct web_session *session = session_named(web, exchange->request);

	if (!session)
		return;
	web_session_end(&web->sessions, session);
	http_reply(exchange->request, 204, NULL, NULL);
}

static void handle(struct http_request *request, void *cookie)
{
	struct web *web = cookie;
	struct exchange *exchange = xcalloc(1, sizeof(*exchange));
	const char *method = http_method(request);

	*exchange = (struct exchange){ .channel = { .send = send_message },
				       .request = request,
				       .has_events = takes_events(request) };
	http_set_mark(request, exchange);
	if (strcmp(method, "POST") == 0)
		handle_post(web, exchange);
	else if (strcmp(method, "GET") == 0)
		handle_get(web, exchange);
	else
		handle_delete(web, exchange);
}

static void gone(struct http_request *request, void *cookie)
{
	struct web *web = cookie;
	struct exchange *exchange = http_mark(request);

	if (!exchange)
		return;
	calls_forget_channel(web->server, &exchange->channel);
	exchange_leave(&web->sessions, exchange);
	free(exchange);
}

static void announce(const struct web *web)
{
	owned(free_ptr) char *line = xasprintf("http://127.0.0.1:%u%s, token in %s",
					       http_port(web->http), PATH, web->token_path);

	service_log(SERVICE_NOTICE, line, NULL);
}

static bool turn(struct web *web)
{
	struct pollfd polls[2 + MCP_POLLS_MAX];
	int http_ms = http_timeout(web->http), calls_ms = calls_timeout(web->server);
	int timeout = http_ms < 0			   ? calls_ms
		      : calls_ms < 0 || http_ms < calls_ms ? http_ms
							   : calls_ms;

	polls[0] = (struct pollfd){ .fd = http_fd(web->http), .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = web->signal_fd, .events = POLLIN };
	size_t count = 2 + calls_polls(web->server, polls + 2, MCP_POLLS_MAX);

	if (poll(polls, (nfds_t)count, timeout) < 0)
		return errno == EINTR;
	if (polls[1].revents)
		return false;
	http_turn(web->http);
	calls_turn(web->server);
	http_turn(web->http);
	return true;
}

static void close_web(struct web *web)
{
	calls_end(web->server, 0);
	if (web->http)
		http_close(web->http);
	web_sessions_done(&web->sessions);
	if (web->token_path)
		(void)unlink(web->token_path);
	free(web->token_path);
	fd_close(&web->signal_fd);
}

int http_serve(struct server *server, const char *address, struct error *err)
{
	struct web web = { .server = server, .sessions = { .server = server }, .signal_fd = -1 };
	const struct http_handlers handlers = {
		.check = check, .handle = handle, .gone = gone, .cookie = &web
	};
	owned(fd_close) int listen_fd = -1;
	int status = -1;

	if (server_watch_signals(server, &web.signal_fd, err) == 0 &&
	    token_make(web.token, err) == 0 &&
	    loopback_listen("--http", address, &listen_fd, err) == 0 &&
	    http_open(&listen_fd, RPC_MESSAGE_MAX, &handlers, &web.http, err) == 0 &&
	    token_leave(web.token, http_port(web.http), server->environ, &web.token_path, err) ==
		    0) {
		announce(&web);
		while (turn(&web))
			;
		status = 0;
	}
	close_web(&web);
	return status;
}
