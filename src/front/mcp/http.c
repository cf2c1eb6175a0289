/*
 * Streamable HTTP: the same server for several clients on the loopback, each request with the token.
 *
 * A web page can reach the loopback, too: Host and Origin are looked at before anything else, and the token, which lies in
 * a file of the user's, is asked for with every request. Whoever goes away before the answer has cancelled.
 */
#include "base/fd.h"
#include "base/own.h"
#include "front/mcp/http.h"
#include "front/rpc/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH "/mcp"
#define SESSIONS_MAX 256
#define TOKEN_BYTES 32
#define TOKEN_SIZE (TOKEN_BYTES * 2 + 1)
#define GRACE_MS 1000
#define MODERN "2026-07-28"

struct web_session {
	struct session session; /* first: a call's session is this one */
	struct web_session *next;
	char id[TOKEN_SIZE];
};

/* One request under way, as a channel. */
struct post {
	struct channel channel;
	struct http_request *request;
	struct web_session *own; /* of a request without a handshake: ends with it */
	bool has_events, is_started;
};

struct web {
	struct server *server;
	struct http *http;
	struct web_session *sessions; /* newest first */
	char token[TOKEN_SIZE];
	char *token_path;
	int signal_fd;
};

static int random_hex(char ret_text[static TOKEN_SIZE], struct error *err)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(err, ERROR_HOST, "no randomness for a token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* As long for the first wrong letter as for the last. */
static bool is_same(const char *given, const char *token)
{
	size_t len = strlen(token);
	unsigned char differs = 0;

	if (strlen(given) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(given[i] ^ token[i]);
	return differs == 0;
}

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

static unsigned check(struct http_request *request, void *cookie)
{
	const struct web *web = cookie;
	const char *host = http_header(request, "Host"), *origin = http_header(request, "Origin");
	const char *given = http_header(request, "Authorization");
	const char *type = http_header(request, "Content-Type");
	const char *method = http_method(request);

	if (!host || !is_loopback(host) || (origin && !is_own_origin(origin)))
		return 403;
	if (!given || strncasecmp(given, "Bearer ", 7) != 0 || !is_same(given + 7, web->token)) {
		http_add_header(request, "WWW-Authenticate", "Bearer");
		return 401;
	}
	if (strcmp(http_path(request), PATH) != 0)
		return 404;
	if (strcmp(method, "POST") != 0 && strcmp(method, "DELETE") != 0) {
		http_add_header(request, "Allow", "POST, DELETE");
		return 405;
	}
	if (strcmp(method, "POST") == 0 &&
	    (!type || strncasecmp(type, "application/json", strlen("application/json")) != 0))
		return 415;
	return 0;
}

static struct web_session *find_session(const struct web *web, const char *id)
{
	struct web_session *at = web->sessions;

	while (at && !is_same(id, at->id))
		at = at->next;
	return at;
}

static bool has_calls(const struct web *web, const struct web_session *session)
{
	for (const struct call *call = web->server->calls; call; call = call->next) {
		if (call->session == &session->session)
			return true;
	}
	return false;
}

/* The oldest that nobody waits for goes when there are too many. */
static void make_room(struct web *web)
{
	struct web_session **slot = &web->sessions, **oldest = NULL;
	size_t count = 0;

	for (; *slot; slot = &(*slot)->next) {
		count++;
		if (!has_calls(web, *slot))
			oldest = slot;
	}
	if (count >= SESSIONS_MAX && oldest) {
		struct web_session *gone = *oldest;

		*oldest = gone->next;
		free(gone);
	}
}

static struct web_session *add_session(struct web *web)
{
	struct web_session *session = xcalloc(1, sizeof(*session));
	struct error ignored;

	make_room(web);
	session_init(&session->session, web->server);
	if (random_hex(session->id, &ignored) < 0) {
		free(session);
		return NULL;
	}
	session->next = web->sessions;
	web->sessions = session;
	return session;
}

static void end_session(struct web *web, struct web_session *session)
{
	for (struct call *call = web->server->calls; call; call = call->next) {
		if (call->session == &session->session)
			call_cancel(call);
	}
	/* Calls still end in it; nobody can find it any more. */
	session->id[0] = '\0';
}

static void send_message(struct channel *channel, const struct str *message, bool is_last)
{
	struct post *post = (struct post *)channel;

	if (is_last && !post->is_started) {
		http_reply(post->request, 200, "application/json", message);
		return;
	}
	if (!post->has_events)
		return;
	if (!post->is_started) {
		post->is_started = true;
		http_stream(post->request);
	}
	http_stream_event(post->request, message);
	if (is_last)
		http_stream_end(post->request);
}

static void refuse(struct http_request *request, unsigned status, const char *why)
{
	owned(str_done) struct str body = STR_INIT;

	rpc_add_error(&body, NULL, RPC_INVALID_REQUEST, why, NULL);
	http_reply(request, status, "application/json", &body);
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

/* The session a request belongs to; NULL when that was answered. */
static struct web_session *session_of(struct web *web, struct http_request *request,
				      struct post *post, bool initializes)
{
	const char *id = http_header(request, "Mcp-Session-Id");
	const char *version = http_header(request, "MCP-Protocol-Version");
	struct web_session *session;

	if (version && !initializes && mcp_version_find(version) == MCP_NONE) {
		refuse(request, 400, "MCP-Protocol-Version: none that this server speaks");
		return NULL;
	}
	if (initializes || (version && strcmp(version, MODERN) == 0)) {
		session = add_session(web);
		if (!session)
			refuse(request, 500, "no session can be made");
		else if (initializes)
			http_add_header(request, "Mcp-Session-Id", session->id);
		else
			post->own = session;
		return session;
	}
	session = id ? find_session(web, id) : NULL;
	if (!session)
		refuse(request, id ? 404 : 400,
		       id ? "no such session; initialize again" : "Mcp-Session-Id is missing");
	return session;
}

static void handle_post(struct web *web, struct http_request *request)
{
	const char *accept = http_header(request, "Accept");
	const struct str *body = http_body(request);
	struct post *post = xcalloc(1, sizeof(*post));
	struct web_session *session;
	bool initializes, asks = is_request(body, &initializes);

	*post = (struct post){ .channel = { .send = send_message },
			       .request = request,
			       .has_events = accept && strstr(accept, "text/event-stream") };
	http_set_mark(request, post);
	session = session_of(web, request, post, initializes);
	if (!session)
		return;
	session_receive(&session->session, &post->channel, str_cstr(body), body->len);
	if (!asks)
		http_reply(request, 202, NULL, NULL);
}

static void handle(struct http_request *request, void *cookie)
{
	struct web *web = cookie;
	const char *id = http_header(request, "Mcp-Session-Id");
	struct web_session *session = id ? find_session(web, id) : NULL;

	if (strcmp(http_method(request), "POST") == 0) {
		handle_post(web, request);
		return;
	}
	if (session)
		end_session(web, session);
	http_reply(request, session ? 204 : 404, NULL, NULL);
}

static void gone(struct http_request *request, void *cookie)
{
	struct web *web = cookie;
	struct post *post = http_mark(request);

	if (!post)
		return;
	calls_forget_channel(web->server, &post->channel);
	if (post->own)
		end_session(web, post->own);
	free(post);
}

/* The file that whoever may use the server reads the token from; a new one with each start. */
static int write_token(struct web *web, const char *const *env, struct error *err)
{
	const char *base = NULL;
	owned(free_ptr) char *dir = NULL;

	for (; env && *env; env++) {
		if (str_starts(*env, "XDG_RUNTIME_DIR=/"))
			base = *env + strlen("XDG_RUNTIME_DIR=");
		else if (!base && str_starts(*env, "HOME=/"))
			base = *env + strlen("HOME=");
	}
	if (!base)
		return error_set(err, ERROR_HOST, "no XDG_RUNTIME_DIR and no HOME for the token");
	dir = xasprintf("%s/.aisbx-mcp", base);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "%s", dir);
	web->token_path = xasprintf("%s/%u.token", dir, http_port(web->http));
	(void)unlink(web->token_path);
	owned(fd_close) int fd =
		open(web->token_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, web->token, TOKEN_SIZE - 1) < 0)
		return error_errno(err, ERROR_HOST, "%s", web->token_path);
	return 0;
}

static void announce(const struct web *web)
{
	owned(str_done) struct str line = STR_INIT;

	str_addf(&line, "aisbx: http://127.0.0.1:%u%s, token in %s\n", http_port(web->http), PATH,
		 web->token_path);
	(void)fd_write_all(STDERR_FILENO, line.data, line.len);
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
	while (web->sessions) {
		struct web_session *next = web->sessions->next;

		free(web->sessions);
		web->sessions = next;
	}
	if (web->token_path)
		(void)unlink(web->token_path);
	free(web->token_path);
	fd_close(&web->signal_fd);
}

int http_serve(struct server *server, const char *address, struct error *err)
{
	struct web web = { .server = server, .signal_fd = -1 };
	const struct http_handlers handlers = {
		.check = check, .handle = handle, .gone = gone, .cookie = &web
	};
	int status = -1;

	if (server_watch_signals(server, &web.signal_fd, err) == 0 &&
	    random_hex(web.token, err) == 0 &&
	    http_open(address, RPC_MESSAGE_MAX, &handlers, &web.http, err) == 0 &&
	    write_token(&web, server->environ, err) == 0) {
		announce(&web);
		while (turn(&web))
			;
		status = 0;
	}
	close_web(&web);
	return status;
}
