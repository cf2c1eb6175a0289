/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: static files for every visitor, and calls for one that has a token.
 *
 * Each program and each web page on this machine can reach the loopback. So Host is looked at first (a name that was made to
 * lead here is another Host), then Origin and Sec-Fetch-Site (another page), then the token: it is in no cookie, so nothing
 * sends it by itself. `aisbx ui` is given a single-use token at the door, the page exchanges it for one that it keeps in its
 * memory.
 */
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "front/cli/render.h"
#include "front/mcp/http_token.h"
#include "front/page/page_call.h"
#include "front/page/page_files.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define API "/api/"
#define SESSION API "session"
#define BODY_MAX ((size_t)1 << 20)
/* Without a token, so that a crowd of strangers takes no memory: room for a single-use token and what is around it. */
#define STRANGER_BODY_MAX 256
#define DOOR_MAX 16
/* Single-use tokens that wait, and pages that are open; the oldest gives way. */
#define TOKENS_MAX 32
#define TICKET_NS (UINT64_C(120) * 1000000000)

struct token {
	char text[TOKEN_SIZE]; /* "": none */
	uint64_t since_ns;
};

struct page {
	const struct page_setup *setup;
	struct http *http;
	struct page_calls calls;
	struct token tickets[TOKENS_MAX], bearers[TOKENS_MAX];
	char hosts[2][64]; /* as the Host of a request names this server */
	int signal_fd;
};

/* One more, in the place of the oldest. NULL when there is no randomness. */
static const char *token_add(struct token *tokens)
{
	struct token *oldest = tokens, new = { .since_ns = clock_now_ns() };
	struct error ignored;

	if (token_make(new.text, &ignored) < 0)
		return NULL;
	for (size_t i = 1; i < TOKENS_MAX; i++) {
		if (tokens[i].since_ns < oldest->since_ns)
			oldest = &tokens[i];
	}
	*oldest = new;
	return oldest->text;
}

static struct token *token_find(struct token *tokens, const char *text)
{
	for (size_t i = 0; i < TOKENS_MAX; i++) {
		if (tokens[i].text[0] && token_is_same(text, tokens[i].text))
			return &tokens[i];
	}
	return NULL;
}

static void add_headers(struct http_request *request)
{
	http_add_header(request, "Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
			"'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
			"frame-ancestors 'none'; require-trusted-types-for 'script'; "
			"trusted-types 'none'");
	http_add_header(request, "X-Frame-Options", "DENY");
	http_add_header(request, "Referrer-Policy", "no-referrer");
	http_add_header(request, "Cross-Origin-Opener-Policy", "same-origin");
	http_add_header(request, "Cross-Origin-Resource-Policy", "same-origin");
	http_add_header(request, "Permissions-Policy",
			"camera=(), microphone=(), geolocation=(), clipboard-read=()");
}

static unsigned check_api(struct page *page, struct http_request *request)
{
	const char *given = http_header(request, "Authorization");
	const char *type = http_header(request, "Content-Type");
	struct token *bearer = given && strncasecmp(given, "Bearer ", 7) == 0
				       ? token_find(page->bearers, given + 7)
				       : NULL;

	if (strcmp(http_path(request), SESSION) != 0 && !bearer) {
		http_add_header(request, "WWW-Authenticate", "Bearer");
		return 401;
	}
	if (bearer)
		bearer->since_ns = clock_now_ns();
	else
		http_is_stranger(request, STRANGER_BODY_MAX);
	if (strcmp(http_method(request), "POST") != 0) {
		http_add_header(request, "Allow", "POST");
		return 405;
	}
	/* What a form of another page cannot send. */
	if (!type || strcasecmp(type, "application/json") != 0)
		return 415;
	return http_is_full(request) ? 503 : 0;
}

static const struct page_file *file_find(const char *path)
{
	for (const struct page_file *at = page_files; at->path; at++) {
		if (strcmp(at->path, path) == 0)
			return at;
	}
	return NULL;
}

static unsigned check(struct http_request *request, void *cookie)
{
	const struct page *page = cookie;
	unsigned status = http_check_source(request, page->hosts);

	add_headers(request);
	if (status)
		return status;
	if (str_starts(http_path(request), API))
		return check_api(cookie, request);
	if (!file_find(http_path(request)))
		return 404;
	if (strcmp(http_method(request), "GET") != 0) {
		http_add_header(request, "Allow", "GET");
		return 405;
	}
	http_is_stranger(request, STRANGER_BODY_MAX);
	return 0;
}

static void refuse(struct http_request *request, unsigned status, const struct error *err)
{
	owned(str_done) struct str body = STR_INIT;

	render_error_json(NULL, err, &body);
	http_reply(request, status, "application/json", &body);
}

/* A single-use token for one that lasts as long as this server, or the page. */
static void exchange(struct page *page, struct http_request *request, const struct value *asked)
{
	const char *text = value_get_text(asked, "token"), *bearer = NULL;
	struct token *ticket = text ? token_find(page->tickets, text) : NULL;
	owned(str_done) struct str body = STR_INIT;
	struct error err;

	if (ticket && clock_now_ns() - ticket->since_ns < TICKET_NS)
		bearer = token_add(page->bearers);
	if (ticket)
		*ticket = (struct token){ .since_ns = 0 };
	if (!bearer) {
		error_set(&err, ERROR_DENIED,
			  "this address was used already, or is too old: call "
			  "aisbx ui again");
		refuse(request, 401, &err);
		return;
	}
	str_addf(&body, "{\"bearer\":\"%s\"}", bearer);
	http_reply(request, 200, "application/json", &body);
}

static void handle_api(struct page *page, struct http_request *request)
{
	const struct json_limits limits = { .bytes = BODY_MAX, .depth = 8, .values = 4096 };
	const struct str *body = http_body(request);
	const struct op *op = op_find(http_path(request) + strlen(API));
	owned(value_release) struct value *asked = NULL;
	struct error err;

	if (json_read(str_cstr(body), body->len, &limits, &asked, &err) < 0 ||
	    asked->kind != VALUE_MAP) {
		error_set(&err, ERROR_USAGE, "the body is no JSON object");
		refuse(request, 400, &err);
	} else if (strcmp(http_path(request), SESSION) == 0) {
		exchange(page, request, asked);
	} else if (!op || !op->page) {
		error_set(&err, ERROR_NOT_FOUND, "no such call");
		refuse(request, 404, &err);
	} else if (page_call_start(&page->calls, request, op, asked, page->setup, &err) < 0) {
		refuse(request, err.code == ERROR_USAGE ? 400 : 503, &err);
	}
}

static void handle(struct http_request *request, void *cookie)
{
	const struct page_file *file = file_find(http_path(request));

	if (!file) {
		handle_api(cookie, request);
		return;
	}
	owned(str_done) struct str body = STR_INIT;

	str_add_bytes(&body, file->bytes, file->len);
	http_reply(request, 200, file->type, &body);
}

static void gone(struct http_request *request, void *cookie)
{
	struct page *page = cookie;

	page_calls_forget(&page->calls, request);
}

/* An address with a token for each process that may have one; the others are left without a word. */
static void answer_door(struct page *page)
{
	for (unsigned i = 0; i < DOOR_MAX; i++) {
		owned(fd_close) int fd =
			accept4(page->setup->door_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		owned(str_done) struct str address = STR_INIT;
		const char *ticket;

		if (fd < 0)
			return;
		if (!page->setup->is_welcome(fd) || !(ticket = token_add(page->tickets)))
			continue;
		str_addf(&address, "http://%s/#%s", page->hosts[0], ticket);
		(void)send(fd, address.data, address.len, MSG_NOSIGNAL);
	}
}

static bool turn(struct page *page)
{
	struct pollfd polls[3 + PAGE_CALLS_MAX];

	polls[0] = (struct pollfd){ .fd = page->signal_fd, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = http_fd(page->http), .events = POLLIN };
	polls[2] = (struct pollfd){ .fd = page->setup->door_fd, .events = POLLIN };
	page_calls_polls(&page->calls, polls + 3);
	if (poll(polls, 3 + PAGE_CALLS_MAX, http_timeout(page->http)) < 0)
		return errno == EINTR;
	if (polls[0].revents)
		return false;
	if (polls[2].revents)
		answer_door(page);
	http_turn(page->http);
	page_calls_turn(&page->calls);
	http_turn(page->http);
	return true;
}

static int watch_signals(int *ret_fd, struct error *err)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ||
	    (*ret_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		return error_errno(err, ERROR_HOST, "signals");
	return 0;
}

int page_serve(struct page_setup *setup, struct error *err)
{
	struct page page = { .setup = setup, .signal_fd = -1 };
	const struct http_handlers handlers = {
		.check = check, .handle = handle, .gone = gone, .cookie = &page
	};

	http_hosts(setup->listen_fd, page.hosts);
	if (watch_signals(&page.signal_fd, err) < 0 ||
	    http_open(&setup->listen_fd, BODY_MAX, &handlers, &page.http, err) < 0)
		return -1;
	while (turn(&page))
		;
	page_calls_done(&page.calls);
	http_close(page.http);
	fd_close(&page.signal_fd);
	return 0;
}
