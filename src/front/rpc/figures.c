/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: figures for a program that watches, on a port of their own; counts only, for every user of the machine. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "front/rpc/http.h"
#include "ops/figures.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define BODY_MAX 1024

/* A name that leads here by a resolver's lie is refused: a page in a browser has no business with it. */
static bool is_local(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(host, names[i], len) == 0 && (!host[len] || host[len] == ':'))
			return true;
	}
	return false;
}

static unsigned check(struct http_request *request, void *cookie)
{
	(void)cookie;
	if (!is_local(http_header(request, "Host")) || http_header(request, "Origin"))
		return 403;
	if (strcmp(http_path(request), "/metrics") != 0)
		return 404;
	return strcmp(http_method(request), "GET") == 0 ? 0 : 405;
}

static void handle(struct http_request *request, void *cookie)
{
	const struct figures_setup *setup = cookie;
	const struct str *text;
	struct error err = { .code = ERROR_NONE };

	/* Why is for the user's own eyes: it may hold a path. */
	if (http_is_full(request) || setup->text(setup->cookie, &text, &err) < 0)
		http_reply(request, 503, NULL, NULL);
	else
		http_reply(request, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

static void gone(struct http_request *request, void *cookie)
{
	(void)request;
	(void)cookie;
}

int figures_serve(const struct figures_setup *setup, struct error *err)
{
	const struct http_handlers handlers = {
		.check = check, .handle = handle, .gone = gone, .cookie = (void *)(uintptr_t)setup
	};
	struct http *http = NULL;

	if (http_open(setup->listen_fd, BODY_MAX, &handlers, &http, err) < 0)
		return -1;
	for (;;) {
		struct pollfd ready = { .fd = http_fd(http), .events = POLLIN };

		if (poll(&ready, 1, http_timeout(http)) < 0 && errno != EINTR)
			break;
		http_turn(http);
	}
	http_close(http);
	return error_errno(err, ERROR_HOST, "poll");
}
