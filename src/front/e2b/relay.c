/* SPDX-License-Identifier: Apache-2.0 */
/* Requests passed on to the agent of a sandbox, and its answers passed back, each within the other's credit. */
#include "base/core/own.h"
#include "base/text/json_write.h"
#include "front/e2b/e2b.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WHOLE_MAX ((size_t)64 << 20)
#define TYPE_MAX 128
#define METADATA_HEADER "X-Metadata-"

struct relay {
	struct relay *next;
	struct row *row;
	struct http_request *request;
	uint32_t channel;
	size_t body_credit; /* how much more of the body the agent takes */
	size_t unused;	    /* of the answer, without credit so far */
	unsigned status;    /* of an answer that comes as one body; 0: none, or a stream */
	char type[TYPE_MAX];
	struct str whole; /* of it */
	bool is_stream;
	struct e2b *e2b;
	bool is_held;	  /* the agent has nothing of it yet */
	struct str words; /* of the request, while it is held */
	struct str held;  /* of the body what the agent has not got yet */
	size_t held_at;
	bool sends_held; /* there is no more than that */
};

static void add_word(struct str *words, const char *name, const char *value)
{
	if (!value)
		return;
	str_addf(words, "%s=%s", name, value);
	str_add_char(words, '\0');
}

/* The account of "Basic USER:". */
static void add_user(struct str *words, const struct http_request *request)
{
	const char *given = http_header(request, "Authorization");
	const char *query = http_query(request, "username");
	owned(str_done) struct str user = STR_INIT;

	if (query) {
		add_word(words, "user", query);
	} else if (given && strncasecmp(given, "Basic ", 6) == 0 &&
		   base64_read(&user, given + 6, strlen(given + 6))) {
		str_truncate(&user, strcspn(str_cstr(&user), ":"));
		add_word(words, "user", str_cstr(&user));
	}
}

static void add_metadata(const char *name, const char *value, void *cookie)
{
	owned(str_done) struct str word = STR_INIT;

	if (strncasecmp(name, METADATA_HEADER, strlen(METADATA_HEADER)) != 0)
		return;
	str_add(&word, "metadata-");
	for (const char *at = name + strlen(METADATA_HEADER); *at; at++)
		str_add_char(&word, (char)tolower((unsigned char)*at));
	add_word(cookie, str_cstr(&word), value);
}

void relay_open(struct e2b *e2b, struct row *row, struct http_request *request)
{
	owned(str_done) struct str words = STR_INIT;
	struct relay *relay = xcalloc(1, sizeof(*relay));
	const char *path = http_path(request);

	*relay = (struct relay){ .next = row->relays,
				 .row = row,
				 .request = request,
				 .e2b = e2b,
				 .is_held = order_is(request),
				 .channel = ++e2b->last_channel,
				 .body_credit = LINK_WINDOW };
	row->relays = relay;
	http_set_mark(request, relay);
	str_add(&words, http_method(request));
	str_add_char(&words, '\0');
	str_add(&words, path + strspn(path, "/") - 1);
	str_add_char(&words, '\0');
	add_user(&words, request);
	add_word(&words, "path", http_query(request, "path"));
	add_word(&words, "type", http_header(request, "Content-Type"));
	add_word(&words, "encoding", http_header(request, "Content-Encoding"));
	add_word(&words, "timeout", http_header(request, "Connect-Timeout-Ms"));
	add_word(&words, "ping", http_header(request, "Keepalive-Ping-Interval"));
	http_each_header(request, add_metadata, &words);
	if (relay->is_held)
		str_add_bytes(&relay->words, words.data, words.len);
	else
		link_add(&row->link, LINK_OPEN, relay->channel, words.data, words.len);
}

static size_t send_part(struct relay *relay, const char *bytes, size_t len)
{
	size_t taken = 0;

	while (taken < len && relay->body_credit > 0) {
		size_t part = len - taken < relay->body_credit ? len - taken : relay->body_credit;

		part = part < LINK_DATA_MAX ? part : LINK_DATA_MAX;
		link_add(&relay->row->link, LINK_DATA, relay->channel, bytes + taken, part);
		relay->body_credit -= part;
		taken += part;
	}
	return taken;
}

static void send_held(struct relay *relay)
{
	size_t left = relay->held.len - relay->held_at;

	if (!relay->sends_held)
		return;
	str_pass(&relay->held, &relay->held_at,
		 send_part(relay, relay->held.data + relay->held_at, left));
	if (relay->held.len > relay->held_at)
		return;
	relay->sends_held = false;
	link_add(&relay->row->link, LINK_END, relay->channel, "", 0);
}

size_t relay_part(struct http_request *request, const char *bytes, size_t len)
{
	struct relay *relay = http_mark(request);

	/* What comes behind an answer is not looked at. */
	if (!relay)
		return len;
	if (!relay->is_held)
		return send_part(relay, bytes, len);
	if (relay->held.len + len > E2B_HELD_MAX) {
		relay_forget(request);
		api_refuse(request, 413, "the code is longer than %zu bytes", E2B_HELD_MAX);
		return len;
	}
	str_add_bytes(&relay->held, bytes, len);
	return len;
}

void relay_body_end(struct http_request *request)
{
	struct relay *relay = http_mark(request);

	if (relay && relay->is_held)
		order_begin(relay->e2b, relay->row, request, &relay->held, NULL);
	else if (relay)
		link_add(&relay->row->link, LINK_END, relay->channel, "", 0);
}

static void drop(struct relay *relay)
{
	struct relay **slot = &relay->row->relays;

	while (*slot && *slot != relay)
		slot = &(*slot)->next;
	if (*slot)
		*slot = relay->next;
	http_set_mark(relay->request, NULL);
	str_done(&relay->whole);
	str_done(&relay->words);
	str_done(&relay->held);
	free(relay);
}

const struct str *relay_held(const struct http_request *request)
{
	const struct relay *relay = http_mark(request);

	return relay && relay->is_held ? &relay->held : NULL;
}

uint32_t relay_pass(struct http_request *request, uint64_t limit_ms)
{
	struct relay *relay = http_mark(request);
	owned(free_ptr) char *limit = xasprintf("%llu", (unsigned long long)limit_ms);

	if (limit_ms)
		add_word(&relay->words, "limit", limit);
	link_add(&relay->row->link, LINK_OPEN, relay->channel, relay->words.data, relay->words.len);
	relay->is_held = false;
	relay->sends_held = true;
	send_held(relay);
	return relay->channel;
}

void relay_forget(struct http_request *request)
{
	struct relay *relay = http_mark(request);

	if (relay)
		drop(relay);
}

void relay_gone(struct http_request *request)
{
	struct relay *relay = http_mark(request);

	if (!relay)
		return;
	link_add(&relay->row->link, LINK_CANCEL, relay->channel, "", 0);
	/* The agent has not got enough to start it. */
	if (relay->sends_held)
		orders_end(relay->row, relay->channel);
	drop(relay);
}

/* Clients see a cut connection, and learn from the next request that the sandbox is gone: an end of the stream would be a lie. */
void relay_break_all(struct row *row)
{
	while (row->relays) {
		struct http_request *request = row->relays->request;
		bool is_stream = row->relays->is_stream;

		drop(row->relays);
		if (is_stream)
			http_stream_break(request);
		else
			api_refuse(request, 502, "sandbox %s was not found", row->id);
	}
}

static bool take_head(struct relay *relay, const struct link_frame *frame)
{
	const unsigned char *bytes = (const unsigned char *)frame->bytes;

	if (frame->len < 3 || frame->len - 3 >= TYPE_MAX || relay->status || relay->is_stream)
		return false;
	for (size_t i = 3; i < frame->len; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
		relay->type[i - 3] = (char)bytes[i];
	}
	unsigned status = bytes[0] | (unsigned)bytes[1] << 8;

	if (bytes[2] == 's') {
		relay->is_stream = true;
		http_stream(relay->request, relay->type);
		return true;
	}
	relay->status = status;
	return status >= 200 && status < 600;
}

static bool take_data(struct relay *relay, const struct link_frame *frame)
{
	relay->unused += frame->len;
	/* An honest agent keeps within its credit. */
	if (relay->unused > LINK_WINDOW || (!relay->is_stream && !relay->status))
		return false;
	if (relay->is_stream) {
		http_stream_add(relay->request, frame->bytes, frame->len);
		return true;
	}
	str_add_bytes(&relay->whole, frame->bytes, frame->len);
	return relay->whole.len <= WHOLE_MAX;
}

static bool take_end(struct relay *relay)
{
	struct http_request *request = relay->request;

	if (relay->is_stream)
		http_stream_end(request, NULL);
	else if (relay->status)
		http_reply(request, relay->status, relay->type, &relay->whole);
	else
		return false;
	drop(relay);
	/* The rest of its body has no reader any more. */
	http_resume_body(request);
	return true;
}

bool relay_frame(struct row *row, const struct link_frame *frame)
{
	struct relay *relay = row->relays;

	if (frame->kind == LINK_RUN)
		return order_ended(row, frame);
	while (relay && relay->channel != frame->channel)
		relay = relay->next;
	/* Its client has gone, which the agent did not know yet. */
	if (!relay)
		return true;
	switch (frame->kind) {
	case LINK_HEAD:
		return take_head(relay, frame);
	case LINK_DATA:
		return take_data(relay, frame);
	case LINK_END:
		return take_end(relay);
	case LINK_CREDIT:
		relay->body_credit += link_credit_of(frame);
		if (relay->body_credit > LINK_WINDOW)
			return false;
		send_held(relay);
		http_resume_body(relay->request);
		return true;
	case LINK_OPEN:
	case LINK_CANCEL:
	case LINK_RUN:
		break;
	}
	return false;
}

void relay_turn(struct row *row)
{
	for (struct relay *at = row->relays; at; at = at->next) {
		if (at->unused == 0 || (at->is_stream && !http_stream_has_room(at->request)))
			continue;
		link_add_credit(&row->link, at->channel, at->unused);
		at->unused = 0;
	}
}
