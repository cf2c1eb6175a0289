/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: each head judged and rewritten, its body passed on as it is. */
#include "tls_gateway/head.h"

#include "base/core/own.h"
#include "net/rule/judge.h"

#include <stdio.h>
#include <string.h>

static int refuse(struct exchange *exchange, const char *status, const char *why)
{
	exchange->status = status;
	exchange->why = why;
	return -1;
}

static bool is_method(const struct http_head *head, const char *method)
{
	return head->method_len == strlen(method) &&
	       memcmp(head->method, method, head->method_len) == 0;
}

/* A query may hold secrets: reports have the path alone. */
static void note_what(struct exchange *exchange, const struct http_head *head)
{
	size_t len = strcspn(head->path, "? ");

	len = len < head->path_len ? len : head->path_len;
	len = len < 40 ? len : 40;
	(void)snprintf(exchange->what, sizeof(exchange->what), "%.*s %.*s of",
		       (int)head->method_len, head->method, (int)len, head->path);
}

/* Host, the name of the connection and the rule must agree for each request of it. */
static int judge(struct exchange *exchange, const struct http_head *head)
{
	const struct judge_place place = {
		.policy = &exchange->conf->rules.policy,
		.name = exchange->host,
		.address = &exchange->address,
		.port = { .number = exchange->port },
		.is_right = head->has_host && strcmp(head->name, exchange->host) == 0,
		.adds_secret = head_gets_secret(exchange),
	};
	struct judge_verdict verdict;

	note_what(exchange, head);
	judge_request(head, &place, &verdict);
	exchange->is_silent = !verdict.passes && !verdict.rule;
	return verdict.passes ? 0
			      : refuse(exchange, verdict.status,
				       verdict.rule ? verdict.rule : "no rule permits it");
}

/* What goes on behind an upgrade is no request any more, and would not be judged. */
static bool may_upgrade(const struct exchange *exchange)
{
	const struct net_request request = { .name = exchange->host,
					     .address = &exchange->address,
					     .port = { .number = exchange->port } };

	return !net_policy_judges_requests(&exchange->conf->rules.policy, &request);
}

/* 1 when a head has gone on, 0 when more must come, -1. */
static int step_head(struct exchange *exchange, const char *bytes, size_t len, size_t *used,
		     struct str *out)
{
	struct http_head head;

	exchange->what[0] = '\0';
	exchange->is_silent = false;
	switch (http_read(bytes, len, &head)) {
	case HTTP_MORE:
		return 0;
	case HTTP_TOO_LARGE:
		return refuse(exchange, "431 Request Header Fields Too Large",
			      "its head is too large");
	case HTTP_BAD:
		return refuse(exchange, "400 Bad Request", head.why);
	case HTTP_WHOLE:
		break;
	}
	if (judge(exchange, &head) < 0)
		return -1;
	exchange->asks_upgrade = head.upgrades && head.body == HTTP_NO_BODY &&
				 head_asks_upgrade(bytes, &head) && may_upgrade(exchange);
	head_write(exchange, bytes, &head, out);
	*used += head.len;
	exchange->is_headless = is_method(&head, "HEAD");
	exchange->up_left = head.body == HTTP_LENGTH ? head.body_len : 0;
	exchange->up = head.body == HTTP_CHUNKED ? UP_CHUNK
		       : exchange->up_left	 ? UP_LENGTH
						 : UP_HEAD;
	exchange->down = DOWN_HEAD;
	exchange->has_answered = false;
	return 1;
}

/* The line in front of a chunk, or the end of one behind it. */
static int step_line(struct exchange *exchange, const char *bytes, size_t len, size_t *used,
		     struct str *out)
{
	uint64_t size = 0;
	size_t line = 2;
	enum http_state state = HTTP_WHOLE;

	if (exchange->up == UP_CHUNK)
		state = http_read_chunk(bytes, len, &size, &line);
	else if (memcmp(bytes, "\r\n", len < 2 ? len : 2) != 0)
		state = HTTP_BAD;
	else if (len < 2)
		state = HTTP_MORE;
	if (state == HTTP_MORE)
		return 0;
	if (state != HTTP_WHOLE)
		return refuse(exchange, "400 Bad Request",
			      "a chunk that is none, or has more than a size");
	str_add_bytes(out, bytes, line);
	*used += line;
	exchange->up_left = size;
	if (exchange->up == UP_CHUNK)
		exchange->up = size ? UP_CHUNK_END : UP_BODY_END;
	else
		exchange->up = exchange->up == UP_CHUNK_END ? UP_CHUNK : UP_HEAD;
	return 1;
}

static int step(struct exchange *exchange, const struct str *in, size_t *used, struct str *out)
{
	const char *bytes = in->data + *used;
	size_t len = in->len - *used, most = len;

	if (len == 0)
		return 0;
	if (exchange->up == UP_HEAD)
		return exchange->down == DOWN_IDLE ? step_head(exchange, bytes, len, used, out) : 0;
	if (exchange->up != UP_TUNNEL && exchange->up_left == 0)
		return step_line(exchange, bytes, len, used, out);
	if (exchange->up != UP_TUNNEL) {
		most = exchange->up_left < len ? (size_t)exchange->up_left : len;
		exchange->up_left -= most;
	}
	str_add_bytes(out, bytes, most);
	*used += most;
	if (exchange->up == UP_LENGTH && exchange->up_left == 0)
		exchange->up = UP_HEAD;
	return 1;
}

int exchange_request(struct exchange *exchange, struct str *in, struct str *out)
{
	size_t used = 0;
	int status;

	do
		status = step(exchange, in, &used, out);
	while (status > 0);
	str_drop_front(in, used);
	return status;
}
