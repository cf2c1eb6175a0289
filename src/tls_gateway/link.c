/* SPDX-License-Identifier: Apache-2.0 */
/* One connection that was handed over. */
#include "tls_gateway/link.h"

#include "base/core/own.h"
#include "net/gateway/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
#define LINKS_MAX 1024
#define HANDSHAKE_NS (60 * SECOND_NS)
#define HEAD_NS (60 * SECOND_NS)
#define CLOSE_NS (2 * SECOND_NS)
#define IDLE_NS (7200 * SECOND_NS)
#define STUCK_NS (300 * SECOND_NS)
#define PIECE 16384
#define PIECES_PER_ROUND 16
/* Of a next request that came before its turn. */
#define AHEAD_MAX HTTP_HEAD_MAX

static void side_done(struct side *side, bool reset)
{
	const struct linger linger = { 1, 0 };

	tls_close(side->tls);
	side->tls = NULL;
	if (side->fd >= 0 && reset)
		(void)setsockopt(side->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	fd_close(&side->fd);
	for (size_t i = 0; i < 2; i++) {
		struct str *text = i ? &side->in : &side->out;

		/* Secrets may be in it. */
		if (text->data)
			explicit_bzero(text->data, text->cap);
		str_done(text);
	}
}

/* What was counted reaches the gateway before the client sees the end. */
static void end(struct link *link, bool reset)
{
	if (link->is_dead)
		return;
	(void)send(link->tls_gateway->control_fd, &link->counts, sizeof(link->counts),
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	side_done(&link->server, reset);
	side_done(&link->client, reset);
	exchange_done(&link->exchange);
	link->is_dead = true;
}

static ssize_t side_read(struct side *side, char *buffer, size_t size)
{
	uint32_t events = EPOLLIN;
	ssize_t got;

	if (side->tls) {
		got = tls_read(side->tls, buffer, size, &events);
	} else {
		got = recv(side->fd, buffer, size, MSG_DONTWAIT);
		if (got < 0)
			got = errno == EAGAIN || errno == EINTR ? -1 : -2;
	}
	if (got == -1)
		side->waits |= events;
	return got;
}

/* Writes what is pending. 1 when all is gone, 0 when not, -1 when it is broken. */
static int side_flush(struct link *link, struct side *side, uint64_t *counter)
{
	while (side->out_at < side->out.len) {
		const char *bytes = side->out.data + side->out_at;
		size_t len = side->out.len - side->out_at;
		uint32_t events = EPOLLOUT;
		ssize_t put;

		if (side->tls) {
			put = tls_write(side->tls, bytes, len, &events);
		} else {
			put = send(side->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (put < 0)
				put = errno == EAGAIN || errno == EINTR ? -1 : -2;
		}
		if (put == -1)
			side->waits |= events;
		if (put < 0)
			return put == -1 ? 0 : -1;
		side->out_at += (size_t)put;
		*counter += (uint64_t)put;
		link->active_ns = link->tls_gateway->now_ns;
	}
	if (side->out.data)
		explicit_bzero(side->out.data, side->out.len);
	/* Idle connections keep no buffers. */
	str_done(&side->out);
	side->out_at = 0;
	return 1;
}

static void close_slowly(struct link *link)
{
	link->phase = LINK_CLOSING;
	link->deadline_ns = link->tls_gateway->now_ns + CLOSE_NS;
	side_done(&link->server, false);
}

/* What is refused is reported; the client reads why where nothing of another answer has gone out. */
static void refuse(struct link *link, bool is_answer)
{
	const struct exchange *exchange = &link->exchange;
	bool can_say = (exchange->down == DOWN_IDLE && !is_answer) ||
		       (exchange->down == DOWN_HEAD && !exchange->has_answered);

	if (is_answer)
		link_report(link, NET_LAYER_UPSTREAM, exchange->why,
			    "the server answers what aisbx does not pass on");
	else
		link_report_request(link);
	/* Bytes behind an answer: the client gets that answer, and the end. */
	if (is_answer && exchange->down == DOWN_IDLE && link->client.out.len > 0) {
		close_slowly(link);
		return;
	}
	if (!can_say) {
		end(link, true);
		return;
	}
	str_addf(&link->client.out,
		 "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
		 "Connection: close\r\n\r\naisbx: %s\n",
		 exchange->status, strlen(exchange->why) + 8, exchange->why);
	close_slowly(link);
}

/* One piece from client to server. Whether something moved. */
static bool move_up(struct link *link)
{
	struct side *client = &link->client, *server = &link->server;
	char piece[PIECE];
	ssize_t got = 0;
	int flushed = side_flush(link, server, &link->counts.sent_bytes);

	if (flushed < 0) {
		end(link, true);
		return false;
	}
	if (flushed == 0 || client->has_ended || client->in.len >= AHEAD_MAX)
		return false;
	got = side_read(client, piece, sizeof(piece));
	if (got == -2) {
		if (client->tls && tls_is_distrusted(client->tls))
			link_report_distrust(link);
		end(link, true);
		return false;
	}
	client->has_ended = got == 0;
	if (got > 0) {
		str_add_bytes(&client->in, piece, (size_t)got);
		link->active_ns = link->tls_gateway->now_ns;
	}
	return got >= 0;
}

static bool move_down(struct link *link)
{
	struct side *client = &link->client, *server = &link->server;
	char piece[PIECE];
	ssize_t got;
	int flushed = side_flush(link, client, &link->counts.received_bytes);

	if (flushed < 0) {
		end(link, true);
		return false;
	}
	if (flushed == 0 || server->has_ended)
		return false;
	got = side_read(server, piece, sizeof(piece));
	if (got == -1)
		return false;
	/* Servers that end without TLS's own end: what that cuts off is for the client to see. */
	server->has_ended = got <= 0;
	if (got > 0) {
		str_add_bytes(&server->in, piece, (size_t)got);
		link->active_ns = link->tls_gateway->now_ns;
	}
	if (exchange_response(&link->exchange, &server->in, server->has_ended, &client->out) < 0) {
		refuse(link, true);
		return false;
	}
	return true;
}

/* Requests that have come; the answer to the last may have made room for one. Whether something is to be sent now. */
static bool take_requests(struct link *link)
{
	struct side *client = &link->client;
	struct exchange *exchange = &link->exchange;
	bool is_head;

	if (client->in.len > 0 && link->server.out.len == 0 &&
	    exchange_request(exchange, &client->in, &link->server.out) < 0) {
		refuse(link, false);
		return false;
	}
	is_head = exchange_is_idle(exchange) && client->in.len > 0;
	if (!is_head)
		link->deadline_ns = 0;
	else if (!link->deadline_ns)
		link->deadline_ns = link->tls_gateway->now_ns + HEAD_NS;
	return link->server.out.len > 0 && link->server.out_at == 0;
}

/* Whether both directions are through. */
static bool is_over(const struct link *link)
{
	const struct exchange *exchange = &link->exchange;
	bool is_flushed = link->client.out.len == 0;

	if (link->server.has_ended)
		return is_flushed;
	if (!link->client.has_ended || link->server.out.len > 0)
		return false;
	return exchange->up != UP_HEAD || (exchange->down == DOWN_IDLE && is_flushed);
}

static void relay(struct link *link)
{
	bool has_moved = true;

	for (int i = 0; i < PIECES_PER_ROUND && has_moved; i++) {
		has_moved = move_up(link);
		if (link->is_dead)
			return;
		has_moved |= take_requests(link);
		if (link->phase == LINK_OPEN && !link->is_dead)
			has_moved |= move_down(link);
		if (link->is_dead || link->phase != LINK_OPEN)
			return;
	}
	link->is_busy = has_moved;
	if (!is_over(link))
		return;
	if (link->client.tls)
		tls_finish(link->client.tls);
	(void)shutdown(link->client.fd, SHUT_WR);
	close_slowly(link);
}

/* The rest of what the client was to read, then what it still sends, thrown away: a close would take the first with it. */
static void close_client(struct link *link)
{
	char piece[PIECE];
	ssize_t got;

	if (link->client.out.len > 0) {
		int flushed = side_flush(link, &link->client, &link->counts.received_bytes);

		if (flushed <= 0) {
			if (flushed < 0)
				end(link, true);
			return;
		}
		if (link->client.tls)
			tls_finish(link->client.tls);
		(void)shutdown(link->client.fd, SHUT_WR);
	}
	while ((got = recv(link->client.fd, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
		;
	if (got == 0 || (errno != EAGAIN && errno != EINTR))
		end(link, false);
	else
		link->client.waits |= EPOLLIN;
}

/* The real server first: its certificate decides which alert the client gets. */
static void shake_server(struct link *link)
{
	int done = tls_handshake(link->server.tls, &link->server.waits);
	const char *why = tls_distrust(link->server.tls);

	if (done == 0)
		return;
	link->phase = LINK_TO_CLIENT;
	link->is_busy = true;
	if (done > 0 && !why)
		return;
	link_report(link, NET_LAYER_UPSTREAM, why ? why : "the server ends the TLS handshake",
		    why ? "the server's certificate is not accepted: nothing was sent"
			: "permitted, but not reached");
	tls_pass_distrust(link->client.tls, link->server.tls);
}

static void shake_client(struct link *link)
{
	int done = tls_handshake(link->client.tls, &link->client.waits);

	if (done == 0)
		return;
	if (done < 0) {
		if (tls_is_distrusted(link->client.tls))
			link_report_distrust(link);
		(void)shutdown(link->client.fd, SHUT_WR);
		close_slowly(link);
		return;
	}
	link->phase = LINK_OPEN;
	link->deadline_ns = 0;
	link->is_busy = true;
}

static int watch(const struct link *link, struct side *side)
{
	/* Reported once where nothing is waited for: an end that cannot be taken yet would be reported for ever. */
	struct epoll_event event = { .events = side->waits ? side->waits : EPOLLET,
				     .data.ptr = (void *)(uintptr_t)link };
	int how = side->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (side->fd < 0 || event.events == side->watched)
		return 0;
	side->watched = event.events;
	return epoll_ctl(link->tls_gateway->epoll_fd, how, side->fd, &event);
}

void link_step(struct link *link)
{
	link->client.waits = link->server.waits = 0;
	do {
		enum link_phase before = link->phase;

		link->is_busy = false;
		switch (link->phase) {
		case LINK_TO_SERVER:
			shake_server(link);
			break;
		case LINK_TO_CLIENT:
			shake_client(link);
			break;
		case LINK_OPEN:
			relay(link);
			break;
		case LINK_CLOSING:
			close_client(link);
			break;
		}
		if (link->is_dead || link->phase == before)
			break;
	} while (true);
	if (!link->is_dead && (watch(link, &link->client) < 0 || watch(link, &link->server) < 0))
		end(link, true);
}

/* The gateway has refused it already. */
static bool takes_plain(const struct link *link)
{
	const struct tls_gateway_conf *conf = &link->tls_gateway->conf;

	for (size_t i = 0; i < conf->count; i++) {
		const struct inject *inject = &conf->entries[i].inject;

		if (inject->is_plain && inject->port == link->exchange.port &&
		    strcmp(inject->host, link->host) == 0)
			return true;
	}
	return false;
}

void link_begin(struct tls_gateway *tls_gateway, const struct tls_gateway_order *order,
		const int fds[static 2])
{
	struct link *link = xcalloc(1, sizeof(*link));

	link->tls_gateway = tls_gateway;
	link->client.fd = fds[0];
	link->server.fd = fds[1];
	memcpy(link->host, order->name, sizeof(link->host));
	exchange_init(&link->exchange, &tls_gateway->conf);
	link->exchange.host = link->host;
	link->exchange.port = order->port;
	link->exchange.is_tls = order->is_tls;
	link->exchange.address = order->address;
	link->phase = order->is_tls ? LINK_TO_SERVER : LINK_OPEN;
	link->deadline_ns = order->is_tls ? tls_gateway->now_ns + HANDSHAKE_NS : 0;
	link->active_ns = tls_gateway->now_ns;
	link->next = tls_gateway->links;
	tls_gateway->links = link;
	if (tls_gateway->link_count++ >= LINKS_MAX) {
		link_report(link, NET_LAYER, "too many connections at a time", NULL);
		end(link, true);
		return;
	}
	if (!order->is_tls && !takes_plain(link)) {
		link_report(link, NET_LAYER, "plain HTTP, where a secret is sent by TLS alone",
			    NULL);
		end(link, true);
		return;
	}
	if (order->is_tls) {
		link->server.tls = tls_to_server(tls_gateway->tls, link->host, link->server.fd);
		link->client.tls = tls_to_client(tls_gateway->tls, link->host, link->client.fd);
	}
	if (order->is_tls && (!link->server.tls || !link->client.tls))
		end(link, true);
	else
		link_step(link);
}

void link_expire(struct tls_gateway *tls_gateway)
{
	for (struct link *link = tls_gateway->links; link; link = link->next) {
		bool is_stuck = link->client.out.len + link->server.out.len > 0;
		uint64_t quiet_ns = tls_gateway->now_ns - link->active_ns;

		if (link->is_dead)
			continue;
		if (link->deadline_ns && tls_gateway->now_ns >= link->deadline_ns &&
		    link->phase == LINK_OPEN) {
			link->exchange.status = "408 Request Timeout";
			link->exchange.why = "it did not come in time";
			link->exchange.is_silent = false;
			refuse(link, false);
			if (!link->is_dead)
				link_step(link);
		} else if ((link->deadline_ns && tls_gateway->now_ns >= link->deadline_ns) ||
			   quiet_ns >= (is_stuck ? STUCK_NS : IDLE_NS)) {
			end(link, true);
		}
	}
}

void link_end_all(struct tls_gateway *tls_gateway)
{
	for (struct link *link = tls_gateway->links; link; link = link->next) {
		if (link->is_dead)
			continue;
		link_report(link, NET_LAYER, "the rules have changed", NULL);
		end(link, true);
	}
}

bool link_sweep(struct tls_gateway *tls_gateway)
{
	bool is_busy = false;

	for (struct link **at = &tls_gateway->links; *at;) {
		struct link *link = *at;

		is_busy |= !link->is_dead && link->is_busy;
		if (!link->is_dead) {
			at = &link->next;
			continue;
		}
		*at = link->next;
		tls_gateway->link_count--;
		free(link);
	}
	return is_busy;
}
