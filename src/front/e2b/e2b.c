/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server for E2B's clients: who may ask for what.
 *
 * Host, Origin and Sec-Fetch-Site are looked at first, as for the page: another web page reaches the loopback, too. The API
 * needs the server's key. What goes to a sandbox needs the token that its maker got, or, for one file, a signature made with it.
 */
#include "front/e2b/errand.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/hash/sha256.h"
#include "base/process/child.h"
#include "base/process/loopback.h"
#include "base/process/process.h"
#include "base/text/json_write.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BODY_MAX ((size_t)1 << 20)
#define AGENT_PORT "49983"
#define INTERPRETER_PORT "49999"

/* In E2B's shape, and with a status that its libraries do not try again on. */
static unsigned refuse(struct http_request *request, unsigned status, const char *text)
{
	owned(str_done) struct str body = STR_INIT;

	api_error(&body, status, text);
	http_add_header(request, "Should-Retry", "false");
	return http_refuse(request, status, "application/json", &body);
}

static unsigned refuse_gone(struct http_request *request)
{
	return refuse(request, 502, "the sandbox was not found");
}

static bool is_for_sandbox(const struct http_request *request)
{
	static const char *const paths[] = { "files", "health", "metrics", "envs", "init" };
	const char *path = http_path(request);

	if (http_header(request, "E2b-Sandbox-Id") || strstr(path, ".Process/") ||
	    strstr(path, ".Filesystem/"))
		return true;
	path += strspn(path, "/");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (strcmp(path, paths[i]) == 0)
			return true;
	}
	return false;
}

static bool is_files(const struct http_request *request)
{
	const char *path = http_path(request);

	return strcmp(path + strspn(path, "/"), "files") == 0;
}

/* v1_ and the digest of PATH:OPERATION:USER:TOKEN[:EXPIRY], in base64 without padding. */
static void sign(const struct http_request *request, const char *token, struct str *ret_text)
{
	const char *path = http_query(request, "path"), *user = http_query(request, "username");
	const char *expiry = http_query(request, "signature_expiration");
	bool reads = strcmp(http_method(request), "GET") == 0;
	owned(free_ptr) char *text =
		xasprintf("%s:%s:%s:%s%s%s", path ? path : "", reads ? "read" : "write",
			  user ? user : "", token, expiry ? ":" : "", expiry ? expiry : "");
	char hex[SHA256_HEX_SIZE];
	unsigned char digest[32];

	sha256_hex(text, strlen(text), hex);
	for (size_t i = 0; i < sizeof(digest); i++) {
		const char pair[3] = { hex[2 * i], hex[2 * i + 1] };

		digest[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	str_add(ret_text, "v1_");
	base64_add(ret_text, digest, sizeof(digest));
	while (ret_text->len > 0 && ret_text->data[ret_text->len - 1] == '=')
		str_truncate(ret_text, ret_text->len - 1);
}

static bool is_expired(const struct http_request *request)
{
	const char *expiry = http_query(request, "signature_expiration");

	return expiry && strtoull(expiry, NULL, 10) < clock_epoch_ms() / 1000;
}

/* Whether it is still valid or not. */
static bool is_signed_for(const struct http_request *request, const struct row *row)
{
	const char *given = http_query(request, "signature");
	owned(str_done) struct str wanted = STR_INIT;

	if (!given || !is_files(request))
		return false;
	sign(request, row->token, &wanted);
	return token_is_same(given, str_cstr(&wanted));
}

/* The sandbox a request is for: by its name, else by its signature. */
static struct row *row_for(const struct e2b *e2b, const struct http_request *request)
{
	const char *id = http_header(request, "E2b-Sandbox-Id");
	struct row *row = e2b->rows;

	if (id)
		return row_find(e2b, id);
	while (row && !is_signed_for(request, row))
		row = row->next;
	return row;
}

static unsigned check_sandbox(const struct e2b *e2b, struct http_request *request)
{
	const char *token = http_header(request, "X-Access-Token");
	const char *port = http_header(request, "E2b-Sandbox-Port");
	const struct row *row = row_for(e2b, request);
	bool is_named = http_header(request, "E2b-Sandbox-Id");
	bool is_interpreter = port && strcmp(port, INTERPRETER_PORT) == 0;

	/* E2B's libraries send only this one with what they ask about contexts. */
	if (is_interpreter && !token)
		token = http_header(request, "E2B-Traffic-Access-Token");
	if (!row && !is_named)
		return refuse(request, 401, "E2b-Sandbox-Id and X-Access-Token are missing");
	if (!row)
		return refuse_gone(request);
	bool has_token = token && token_is_same(token, row->token);

	if (!has_token && !is_signed_for(request, row))
		return refuse(request, 401, "the access token of the sandbox is missing or wrong");
	if (!has_token && is_expired(request))
		return refuse(request, 401, "signature is already expired");
	if (row->state != ROW_RUNNING && row->state != ROW_PAUSING)
		return refuse_gone(request);
	if (port && !is_interpreter && strcmp(port, AGENT_PORT) != 0)
		return refuse(request, 502,
			      "the port is not open: only E2B's agent and code interpreter are "
			      "served here");
	http_take_parts(request);
	return 0;
}

static unsigned check(struct http_request *request, void *cookie)
{
	const struct e2b *e2b = cookie;
	const char *key = http_header(request, "X-API-KEY");
	unsigned status = http_check_source(request, e2b->hosts);

	if (status)
		return refuse(request, status, "another host or another web page asks");
	if (http_path(request)[0] != '/')
		return refuse(request, 400, "no path");
	if (http_is_full(request))
		return refuse(request, 503, "too much waits to be read by slow clients");
	if (is_for_sandbox(request))
		return check_sandbox(e2b, request);
	if (!key || !token_is_same(key, e2b->key))
		return refuse(request, 401, "the API key is missing or wrong: E2B_API_KEY");
	return 0;
}

static void open_relay(struct e2b *e2b, struct http_request *request)
{
	struct row *row = row_for(e2b, request);

	if (row && row->state == ROW_RUNNING)
		relay_open(e2b, row, request);
	else
		api_refuse(request, 502, "the sandbox was not found");
}

static size_t part(struct http_request *request, const char *bytes, size_t len, void *cookie)
{
	if (!http_mark(request))
		open_relay(cookie, request);
	return relay_part(request, bytes, len);
}

static void handle(struct http_request *request, void *cookie)
{
	const char *path = http_path(request);

	if (!is_for_sandbox(request)) {
		api_handle(cookie, request);
		return;
	}
	if (strcmp(path + strspn(path, "/"), "health") == 0) {
		http_reply(request, 204, NULL, NULL);
		return;
	}
	if (!http_mark(request))
		open_relay(cookie, request);
	relay_body_end(request);
}

static void gone(struct http_request *request, void *cookie)
{
	relay_gone(request);
	errands_forget(cookie, request, NULL);
}

static int sooner(int one_ms, int other_ms)
{
	return one_ms < 0 ? other_ms : other_ms < 0 || one_ms < other_ms ? one_ms : other_ms;
}

static bool turn(struct e2b *e2b)
{
	int ms = sooner(rows_expire(e2b), http_timeout(e2b->http));
	owned(free_ptr) struct pollfd *polls =
		xcalloc(2 + errands_count(e2b) + 3 * rows_count(e2b), sizeof(*polls));
	size_t count = 2;

	polls[0] = (struct pollfd){ .fd = e2b->signal_fd, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = http_fd(e2b->http), .events = POLLIN };
	count += errands_polls(e2b, polls + count);
	count += rows_polls(e2b, polls + count);
	if (poll(polls, (nfds_t)count, ms) < 0)
		return errno == EINTR;
	if (polls[0].revents)
		return false;
	http_turn(e2b->http);
	errands_turn(e2b);
	rows_turn(e2b);
	http_turn(e2b->http);
	rows_turn(e2b);
	return true;
}

/* A process that outlives this one by as long as it takes to remove what it made, however it ends. */
static pid_t start_guard(const struct e2b *e2b, int *ret_fd, struct error *err)
{
	const char *owner = e2b->setup->plan.owner;
	int fd = -1;
	char byte;
	pid_t pid = child_fork(CHILD_READS, 0, &fd, err);

	if (pid == 0) {
		if (process_detach(&fd, 1, "aisbx-e2b-guard") < 0)
			_exit(1);
		while (read(fd, &byte, 1) < 0 && errno == EINTR)
			;
		served_remove_all(owner);
		_exit(0);
	}
	*ret_fd = fd;
	return pid;
}

static int watch_signals(int *ret_fd, struct error *err)
{
	(void)signal(SIGPIPE, SIG_IGN);
	*ret_fd = process_watch_end(NULL);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "signals") : 0;
}

int e2b_serve(struct serve_setup *setup, struct error *err)
{
	struct e2b e2b = { .setup = setup, .signal_fd = -1, .started_ms = clock_epoch_ms() };
	const struct http_handlers handlers = {
		.check = check, .part = part, .handle = handle, .gone = gone, .cookie = &e2b
	};
	owned(fd_close) int guard_fd = -1, held_fd = -1;
	pid_t guard;

	(void)snprintf(e2b.key, sizeof(e2b.key), "%s", setup->key);
	http_hosts(setup->listen_fd, e2b.hosts);
	if (served_hold(setup->plan.owner, &held_fd, err) < 0)
		return -1;
	guard = start_guard(&e2b, &guard_fd, err);
	if (guard < 0 || watch_signals(&e2b.signal_fd, err) < 0 ||
	    http_open(&setup->listen_fd, BODY_MAX, &handlers, &e2b.http, err) < 0)
		return -1;
	setup->is_ready(setup);
	while (turn(&e2b))
		;
	rows_done(&e2b);
	http_close(e2b.http);
	fd_close(&e2b.signal_fd);
	fd_close(&guard_fd);
	(void)child_wait(guard);
	return 0;
}
