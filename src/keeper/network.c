/* The gateway of a named sandbox: what it tells is passed on to whoever runs a command there, its rules can be changed. */
#include "base/own.h"
#include "keeper/parts.h"
#include "net/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define REPORTS_PER_STEP 64
#define FLUSH_MS 100
#define ORDER_MS 2000
/* Listeners stay when their rule goes; so many there may be in the end. */
#define OPENED_MAX 1024

static void tell(struct keeper *keeper, const struct client *client,
		 const struct net_denial *denial)
{
	struct attach_message message = { .kind = ATTACH_DENIED };
	struct attach_denied *denied = &message.denied;

	denied->time_ms = denial->time_ms;
	(void)snprintf(denied->layer, sizeof(denied->layer), "%s", denial->layer);
	(void)snprintf(denied->what, sizeof(denied->what), "%.90s", denial->what);
	(void)snprintf(denied->rule, sizeof(denied->rule), "%.90s", denial->rule);
	(void)snprintf(denied->hint, sizeof(denied->hint), "%.90s", denial->hint);
	keeper->denied[keeper->denied_count++ % DENIED_KEPT] = *denied;
	if (!client)
		return;
	message.id = client->id;
	(void)attach_send(client->fd, &message, NULL, 0);
}

static void lose(struct keeper *keeper, const struct net_report *report)
{
	struct error err;

	error_set(&err, ERROR_HOST, "the network's gateway is gone");
	if (!keeper->is_serving)
		clients_fail(keeper, report ? &report->error : &err);
	keeper->is_over = true;
}

void network_hear(struct keeper *keeper)
{
	struct net_report report;

	for (int i = 0; i < REPORTS_PER_STEP; i++) {
		int got = net_report_receive(keeper->launch.gateway_fd, &report);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0 || report.kind == NET_REPORT_FAILED) {
			lose(keeper, got > 0 ? &report : NULL);
			return;
		}
		if (report.kind == NET_REPORT_DENIAL)
			tell(keeper, client_newest(keeper), &report.denial);
	}
}

/* Asks the gateway and takes what it says up to its answer. Whether it answered in time. */
static bool ask(struct keeper *keeper, const struct client *client, int patience_ms,
		struct net_counts *ret_counts)
{
	struct pollfd ready = { .fd = keeper->launch.gateway_fd, .events = POLLIN };
	struct net_report report;

	if (ready.fd < 0 || net_report_ask(ready.fd) < 0)
		return false;
	while (poll(&ready, 1, patience_ms) == 1 && net_report_receive(ready.fd, &report) > 0) {
		if (report.kind != NET_REPORT_DENIAL) {
			*ret_counts = report.counts;
			return report.kind == NET_REPORT_COUNTS;
		}
		tell(keeper, client, &report.denial);
	}
	return false;
}

void network_flush(struct keeper *keeper, const struct client *client)
{
	struct net_counts ignored;

	(void)ask(keeper, client, FLUSH_MS, &ignored);
}

static void tell_rules(const struct client *client, const struct strv *texts, bool is_deny)
{
	struct attach_message message = { .kind = ATTACH_RULE, .id = client->id };

	message.rule.is_deny = is_deny;
	for (size_t i = 0; i < texts->count; i++) {
		(void)snprintf(message.rule.text, sizeof(message.rule.text), "%s", texts->items[i]);
		(void)attach_send(client->fd, &message, NULL, 0);
	}
}

void network_tell(struct keeper *keeper, const struct client *client)
{
	const struct spec *spec = keeper->options->spec;
	struct attach_message message = { .kind = ATTACH_NETWORK, .id = client->id };
	struct attach_message denied = { .kind = ATTACH_DENIED, .id = client->id };
	struct net_counts counts = { 0 };
	size_t first;

	(void)ask(keeper, client_newest(keeper), ORDER_MS, &counts);
	tell_rules(client, keeper->has_rules ? &keeper->rules.allow : &spec->allow, false);
	tell_rules(client, keeper->has_rules ? &keeper->rules.deny : &spec->deny, true);
	first = keeper->denied_count > DENIED_KEPT ? keeper->denied_count - DENIED_KEPT : 0;
	for (size_t i = first; i < keeper->denied_count; i++) {
		denied.denied = keeper->denied[i % DENIED_KEPT];
		(void)attach_send(client->fd, &denied, NULL, 0);
	}
	message.network = (struct attach_network){ .has_gateway = keeper->launch.gateway_fd >= 0,
						   .connections = counts.connections,
						   .sent_bytes = counts.sent_bytes,
						   .received_bytes = counts.received_bytes };
	(void)attach_send(client->fd, &message, NULL, 0);
}

static bool is_opened(const struct keeper *keeper, struct net_port port)
{
	return keeper->opened[port.is_udp][port.number / 8] & 1u << port.number % 8;
}

static void mark_opened(struct keeper *keeper, struct net_port port)
{
	keeper->opened[port.is_udp][port.number / 8] |= (uint8_t)(1u << port.number % 8);
	keeper->opened_count++;
}

/* Ports that rules to allow speak of and that have no listener yet. Their number. */
static size_t missing_ports(const struct keeper *keeper, const struct net_policy *policy,
			    struct net_port ret_ports[static LAUNCH_PORTS_MAX])
{
	uint16_t numbers[NET_PORTS_MAX];
	size_t count = 0;

	_Static_assert(NET_PORTS_MAX <= LAUNCH_PORTS_MAX, "all ports of the rules at once");
	for (int is_udp = 0; is_udp < 2; is_udp++) {
		size_t some = net_policy_ports(policy, is_udp, numbers);

		for (size_t i = 0; i < some && count < LAUNCH_PORTS_MAX; i++) {
			const struct net_port port = { is_udp, numbers[i] };

			if (!is_opened(keeper, port))
				ret_ports[count++] = port;
		}
	}
	return count;
}

/* The rules of the start, with which all of their ports have listeners. */
static int begin_rules(struct keeper *keeper, struct error *err)
{
	const struct spec *spec = keeper->options->spec;
	struct net_port ports[LAUNCH_PORTS_MAX];
	size_t count;

	if (keeper->has_rules)
		return 0;
	if (rule_set_make(&spec->allow, &spec->deny, &keeper->rules, err) < 0)
		return -1;
	count = missing_ports(keeper, &keeper->rules.policy, ports);
	for (size_t i = 0; i < count; i++)
		mark_opened(keeper, ports[i]);
	keeper->has_rules = true;
	return 0;
}

static int open_missing(struct keeper *keeper, const struct net_policy *policy, struct error *err)
{
	struct net_port ports[LAUNCH_PORTS_MAX];
	size_t count = missing_ports(keeper, policy, ports);

	if (keeper->opened_count + count > OPENED_MAX)
		return error_set(err, ERROR_DENIED,
				 "rules have named %d ports since this sandbox was started; "
				 "`aisbx stop` it, then it starts with those in force",
				 OPENED_MAX);
	if (launch_open_ports(&keeper->launch, ports, count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		mark_opened(keeper, ports[i]);
	return 0;
}

/* Tried here before the gateway is told: what is wrong with a rule is said once, and nothing has changed then. */
static int change(struct keeper *keeper, const struct client *client,
		  const struct attach_rule *rule, struct error *err)
{
	const struct rule_change wish = { rule->is_deny, rule->is_removal, rule->text };
	struct net_order order = { .kind = rule->is_removal ? NET_ORDER_REMOVE : NET_ORDER_ADD,
				   .is_deny = rule->is_deny };
	struct rule_set next;
	struct net_counts ignored;

	_Static_assert(sizeof(order.rule) == sizeof(rule->text), "one size of rules");
	if (!memchr(rule->text, '\0', sizeof(rule->text)))
		return error_set(err, ERROR_INTERNAL, "a rule without an end");
	if (keeper->launch.gateway_fd < 0 || keeper->launch.network_fd < 0)
		return error_set(err, ERROR_CONFLICT,
				 "the sandbox was started without a network; `aisbx stop` it, then "
				 "it starts with one");
	if (begin_rules(keeper, err) < 0 ||
	    rule_set_make(&keeper->rules.allow, &keeper->rules.deny, &next, err) < 0)
		return -1;
	if (rule_set_change(&next, &wish, err) < 0 || open_missing(keeper, &next.policy, err) < 0) {
		rule_set_done(&next);
		return -1;
	}
	rule_set_done(&keeper->rules);
	keeper->rules = next;
	(void)snprintf(order.rule, sizeof(order.rule), "%s", rule->text);
	if (net_order_send(keeper->launch.gateway_fd, &order, NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot reach the network's gateway");
	/* Its answer comes behind the change. */
	if (!ask(keeper, client, ORDER_MS, &ignored))
		return error_set(err, ERROR_HOST, "the network's gateway does not answer");
	return 0;
}

void network_change(struct keeper *keeper, const struct client *client,
		    const struct attach_rule *rule)
{
	const struct attach_message done = { .kind = ATTACH_DONE, .id = client->id };
	struct error err;

	if (change(keeper, client, rule, &err) < 0)
		client_fail(client, &err);
	else
		(void)attach_send(client->fd, &done, NULL, 0);
}
