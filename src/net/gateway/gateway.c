/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's set-up and its loop. */
#include "net/gateway/gateway.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "net/gateway/connection.h"
#include "net/inside/inside.h"
#include "net/gateway/lookup.h"
#include "net/rule/own_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)
#define EVENTS_MAX 64
#define CONNECTIONS_MAX 4096
/* Two sockets, and while bytes are on their way two pipes. */
#define DESCRIPTORS_EACH 3
/* With peers that take nothing on both sides. */
#define DESCRIPTORS_EACH_MOST 6
#define DESCRIPTORS_OTHERS 900
#define TICK_MS 500

int source_watch(struct gateway *gateway, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };
	int how = source->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (events == source->events)
		return 0;
	/* Removed, not only without events: an end that cannot be taken yet would be reported for ever. */
	if (events == 0)
		how = EPOLL_CTL_DEL;
	if (epoll_ctl(gateway->epoll_fd, how, source->fd, &event) < 0)
		return -1;
	source->events = events;
	return 0;
}

void source_close(struct gateway *gateway, struct source *source)
{
	(void)source_watch(gateway, source, 0);
	fd_close(&source->fd);
}

/*
 * With no descriptor left a waiting connection could neither be accepted nor refused, and would be reported for ever. So
 * one is kept in reserve.
 */
int source_accept(struct gateway *gateway, const struct source *listener)
{
	const struct linger linger = { 1, 0 };
	int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return fd;
	fd_close(&gateway->spare_fd);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		close(fd);
	}
	gateway->spare_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return -1;
}

static bool can_reach_v6(void)
{
	/* Connecting a datagram socket sends nothing; it shows whether there is a route. */
	owned(fd_close) int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage to;
	struct net_address outside;
	socklen_t len;

	if (fd < 0 || !net_address_parse("2000::1", &outside))
		return false;
	len = net_address_to(&outside, 53, &to);
	return connect(fd, (struct sockaddr *)&to, len) == 0;
}

/* The file is visible inside, too: names in it are never asked for there. */
static void pin_hosts(struct gateway *gateway)
{
	for (size_t i = 0; i < gateway->hosts.entry_count; i++) {
		const struct host_entry *entry = &gateway->hosts.entries[i];

		if (!net_address_special(&entry->address) &&
		    net_policy_lists(gateway->policy, entry->name))
			(void)pins_add(&gateway->pins, &entry->address, entry->name, UINT64_MAX);
	}
}

/* A missing file is empty. */
static void read_names(struct gateway *gateway)
{
	owned(str_done) struct str resolv = STR_INIT;
	owned(str_done) struct str hosts = STR_INIT;
	struct error ignored;

	(void)file_read(AT_FDCWD, "/etc/resolv.conf", FILE_MAX, &resolv, &ignored);
	(void)file_read(AT_FDCWD, "/etc/hosts", FILE_MAX, &hosts, &ignored);
	net_hosts_parse(str_cstr(&resolv), str_cstr(&hosts), &gateway->hosts);
	pin_hosts(gateway);
	decide_pin_localhost(gateway);
}

static void count_descriptors(struct gateway *gateway)
{
	const rlim_t most = DESCRIPTORS_OTHERS + DESCRIPTORS_EACH_MOST * CONNECTIONS_MAX;
	struct rlimit limit;

	gateway->connection_max = CONNECTIONS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	/* A session's usual limit is meant for programs that wait by select, which this one does not. */
	if (limit.rlim_cur < most) {
		limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < DESCRIPTORS_OTHERS + DESCRIPTORS_EACH * CONNECTIONS_MAX)
		gateway->connection_max =
			limit.rlim_cur > DESCRIPTORS_OTHERS
				? (limit.rlim_cur - DESCRIPTORS_OTHERS) / DESCRIPTORS_EACH
				: 32;
}

static struct source *add_source(struct gateway *gateway, enum source_kind kind, int fd,
				 uint16_t port)
{
	struct source *source = xcalloc(1, sizeof(*source));

	*source = (struct source){ .kind = kind, .fd = fd, .port = port };
	(void)source_watch(gateway, source, EPOLLIN);
	return source;
}

/* On the host's loopback only. */
static int publish(struct gateway *gateway, const char *pair, struct error *err)
{
	unsigned long outside = strtoul(pair, NULL, 10);
	unsigned long inside = strtoul(strchr(pair, ':') + 1, NULL, 10);
	owned(fd_close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage where;
	struct net_address loopback;
	int on = 1;

	(void)net_address_parse("127.0.0.1", &loopback);
	socklen_t len = net_address_to(&loopback, (uint16_t)outside, &where);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&where, len) < 0 || listen(fd, 128) < 0)
		return error_errno(err, ERROR_DENIED, "--publish %s: port %lu of this machine",
				   pair, outside);
	(void)add_source(gateway, SOURCE_PUBLISHED, fd_take(&fd), (uint16_t)inside);
	return 0;
}

static int read_secrets(struct gateway *gateway, const struct strv *texts, struct error *err)
{
	gateway->secrets = xcalloc(texts->count + 1, sizeof(*gateway->secrets));
	for (size_t i = 0; i < texts->count; i++) {
		struct secret *secret = &gateway->secrets[gateway->secret_count++];

		if (secret_parse(texts->items[i], gateway->policy, secret, err) < 0 ||
		    secret_read(secret, err) < 0)
			return -1;
	}
	return 0;
}

int gateway_open(const struct gateway_options *options, struct gateway **ret_gateway,
		 struct error *err)
{
	struct gateway *gateway = xcalloc(1, sizeof(*gateway));

	*ret_gateway = gateway;
	gateway->options = *options;
	if (rule_set_make(options->allow, options->deny, &gateway->rules, err) < 0)
		return -1;
	gateway->policy = &gateway->rules.policy;
	if (read_secrets(gateway, options->secret_header, err) < 0)
		return -1;
	gateway->now_ns = clock_now_ns();
	gateway->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (hand_over_open(gateway, err) < 0)
		return -1;
	gateway->spare_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	gateway->routes_fd = own_address_open();
	gateway->report = (struct source){ .kind = SOURCE_REPORT, .fd = options->report_fd };
	gateway->inside = (struct source){ .kind = SOURCE_INSIDE, .fd = options->inside_fd };
	read_names(gateway);
	if (!options->is_refusing)
		proxies_read(&gateway->proxies);
	gateway->has_v6 = can_reach_v6();
	count_descriptors(gateway);
	if (gateway->epoll_fd < 0 || source_watch(gateway, &gateway->report, EPOLLIN) < 0 ||
	    source_watch(gateway, &gateway->inside, EPOLLIN) < 0)
		return error_errno(err, ERROR_HOST, "network: epoll");
	for (size_t i = 0; i < options->publish->count; i++) {
		if (publish(gateway, options->publish->items[i], err) < 0)
			return -1;
	}
	return 0;
}

static void mark_served(struct gateway *gateway, bool is_udp, uint16_t port)
{
	gateway->served[is_udp][port / 8] |= (uint8_t)(1u << port % 8);
}

static void take_dial(struct gateway *gateway, int fd)
{
	if (!gateway->dials)
		gateway->dials = xcalloc(INSIDE_DIALS, sizeof(*gateway->dials));
	if (gateway->dial_count < INSIDE_DIALS)
		gateway->dials[gateway->dial_count++] = fd;
	else
		close(fd);
}

static void take_socket(struct gateway *gateway, struct inside_socket what, int fd)
{
	switch ((enum inside_kind)what.kind) {
	case INSIDE_TCP:
		mark_served(gateway, false, what.port);
		(void)add_source(gateway, SOURCE_LISTENER, fd, what.port);
		return;
	case INSIDE_TCP_ALL:
		memset(gateway->served[false], 0xff, PORTS_BYTES);
		(void)add_source(gateway, SOURCE_LISTENER, fd, 0);
		return;
	case INSIDE_UDP:
		mark_served(gateway, true, what.port);
		(void)add_source(gateway, SOURCE_UDP_PORT, fd, what.port);
		return;
	case INSIDE_DNS_TCP:
		mark_served(gateway, false, what.port);
		(void)add_source(gateway, SOURCE_DNS_LISTENER, fd, what.port);
		return;
	case INSIDE_DNS_UDP:
		mark_served(gateway, true, what.port);
		(void)add_source(gateway, SOURCE_DNS_UDP, fd, what.port);
		return;
	case INSIDE_SEEN_V4:
	case INSIDE_SEEN_V6:
		what.port = what.kind == INSIDE_SEEN_V6;
		gateway->seen[what.port] = add_source(gateway, SOURCE_SEEN, fd, 0);
		gateway->seen[what.port]->is_v6 = what.port;
		return;
	case INSIDE_DIAL:
		take_dial(gateway, fd);
		return;
	case INSIDE_END:
		break;
	}
	close(fd);
}

static void take_sockets(struct gateway *gateway)
{
	struct inside_socket what[INSIDE_BATCH];
	int fds[INSIDE_BATCH];
	size_t count = 0;
	ssize_t got = fd_receive(gateway->inside.fd, what, sizeof(what), fds, INSIDE_BATCH, &count);

	/* As many as it may have are open: these are refused by being closed. */
	if (got < 0 && errno == EMFILE)
		return;
	/* The end, announced or not: no more data will come. */
	if (got <= 0 || what[0].kind == INSIDE_END) {
		source_close(gateway, &gateway->inside);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if ((i + 1) * sizeof(what[0]) <= (size_t)got)
			take_socket(gateway, what[i], fds[i]);
		else
			close(fds[i]);
	}
}

/* The supervisor asks when a command has ended: what was seen until now is reported first. */
static void report_counts(struct gateway *gateway)
{
	struct net_report report = { .kind = NET_REPORT_COUNTS };

	for (size_t i = 0; i < 2; i++) {
		if (gateway->seen[i])
			seen_read(gateway, gateway->seen[i]);
	}
	if (gateway->options.is_refusing)
		stub_notify_open(gateway);
	if (gateway->place_count > 0)
		hand_over_read(gateway);
	gateway->owes_counts = false;
	report.counts = gateway->counts;
	(void)net_report_send(gateway->report.fd, &report);
}

/* For connections that are open, too. The supervisor has tried the same change before. */
static void change_rules(struct gateway *gateway, const struct net_order *order)
{
	const struct rule_change change = { .is_deny = order->is_deny,
					    .is_removal = order->kind == NET_ORDER_REMOVE,
					    .rule = order->rule };
	struct error ignored;

	if (rule_set_change(&gateway->rules, &change, &ignored) < 0)
		return;
	pin_hosts(gateway);
	recheck(gateway, &change);
	hand_over_rule(gateway, &change);
}

static void handle_supervisor(struct gateway *gateway)
{
	struct net_order order;
	int fds[INSIDE_BATCH];
	size_t count = 0;
	int got = net_order_receive(gateway->report.fd, &order, fds, &count);

	if (got < 0 && errno == EMFILE)
		return;
	if (got <= 0) {
		gateway->is_over = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (order.kind == NET_ORDER_SOCKETS)
			take_socket(gateway, order.sockets[i], fds[i]);
		else
			close(fds[i]);
	}
	/* What a program sent just before it ended is reported first. That is bounded, unlike what a gateway has to do. */
	if (order.kind == NET_ORDER_COUNTS)
		gateway->counts.asked_ns = order.asked_ns;
	if (order.kind == NET_ORDER_COUNTS && gateway->options.is_refusing)
		gateway->owes_counts = true;
	else if (order.kind == NET_ORDER_COUNTS)
		report_counts(gateway);
	else if (order.kind == NET_ORDER_ADD || order.kind == NET_ORDER_REMOVE)
		change_rules(gateway, &order);
}

static void handle(struct gateway *gateway, struct source *source, uint32_t events)
{
	switch (source->kind) {
	case SOURCE_REPORT:
		handle_supervisor(gateway);
		break;
	case SOURCE_INSIDE:
		take_sockets(gateway);
		break;
	case SOURCE_LISTENER:
		connection_accept(gateway, source);
		break;
	case SOURCE_PUBLISHED:
		connection_publish(gateway, source);
		break;
	case SOURCE_CONNECTION:
		connection_step(gateway, source, events);
		break;
	case SOURCE_DNS_UDP:
		stub_udp(gateway, source);
		break;
	case SOURCE_DNS_LISTENER:
		stub_accept(gateway, source);
		break;
	case SOURCE_DNS_CLIENT:
		stub_client(gateway, source->owner);
		break;
	case SOURCE_LOOKUP:
		lookup_step(gateway, source->owner);
		break;
	case SOURCE_UDP_PORT:
		datagram_inner(gateway, source);
		break;
	case SOURCE_UDP_FLOW:
		datagram_outer(gateway, source->owner);
		break;
	case SOURCE_SEEN:
		seen_read(gateway, source);
		break;
	case SOURCE_TLS_GATEWAY:
		hand_over_read(gateway);
		break;
	}
}

/* No timeout when nothing can expire. */
static int patience_ms(const struct gateway *gateway)
{
	if (gateway->owes_counts)
		return 0;
	return gateway->connections || gateway->lookups || gateway->dns_clients || gateway->flows
		       ? TICK_MS
		       : -1;
}

void gateway_serve(struct gateway *gateway)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t looked_ns = 0;

	proxies_look_up(gateway);
	while (!gateway->is_over) {
		int count = epoll_wait(gateway->epoll_fd, events, EVENTS_MAX, patience_ms(gateway));

		gateway->now_ns = clock_now_ns();
		for (int i = 0; i < count && !gateway->is_over; i++) {
			struct source *source = events[i].data.ptr;

			/* An earlier event of the round may have ended it; it is freed behind the round. */
			if (source->fd >= 0)
				handle(gateway, source, events[i].events);
		}
		if (gateway->now_ns - looked_ns >= TICK_MS * 1000000ull) {
			looked_ns = gateway->now_ns;
			connection_expire(gateway);
			datagram_expire(gateway);
		}
		/* These two also free what ended in this round. */
		lookup_expire(gateway);
		stub_expire(gateway);
		connection_sweep(gateway);
		if (count == 0 && gateway->owes_counts)
			report_counts(gateway);
	}
}
