/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a gateway that runs. */
#include "launch/start/rules.h"

#include "base/file/fd.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Listeners stay when their rule goes; so many there may be in the end. */
#define OPENED_MAX 1024

void launch_rules_done(struct launch_rules *rules)
{
	if (rules->is_begun)
		rule_set_done(&rules->set);
	rules->is_begun = false;
}

static bool is_opened(const struct launch_rules *rules, struct net_port port)
{
	return rules->opened[port.is_udp][port.number / 8] & 1u << port.number % 8;
}

static void mark_opened(struct launch_rules *rules, struct net_port port)
{
	rules->opened[port.is_udp][port.number / 8] |= (uint8_t)(1u << port.number % 8);
	rules->opened_count++;
}

/* Ports that rules to allow speak of and that have no listener yet. Their number. */
static size_t missing_ports(const struct launch_rules *rules, const struct net_policy *policy,
			    struct net_port ret_ports[static LAUNCH_PORTS_MAX])
{
	uint16_t numbers[NET_PORTS_MAX];
	size_t count = 0;

	_Static_assert(NET_PORTS_MAX <= LAUNCH_PORTS_MAX, "all ports of the rules at once");
	for (int is_udp = 0; is_udp < 2; is_udp++) {
		size_t some = net_policy_ports(policy, is_udp, numbers);

		for (size_t i = 0; i < some && count < LAUNCH_PORTS_MAX; i++) {
			const struct net_port port = { is_udp, numbers[i] };

			if (!is_opened(rules, port))
				ret_ports[count++] = port;
		}
	}
	return count;
}

/* The rules of the start, with which all of their ports have listeners. */
static int begin(struct launch_rules *rules, const struct spec *spec, struct error *err)
{
	struct net_port ports[LAUNCH_PORTS_MAX];
	size_t count;

	if (rules->is_begun)
		return 0;
	if (rule_set_make(&spec->allow, &spec->deny, &rules->set, err) < 0)
		return -1;
	count = missing_ports(rules, &rules->set.policy, ports);
	for (size_t i = 0; i < count; i++)
		mark_opened(rules, ports[i]);
	rules->is_begun = true;
	return 0;
}

static int open_missing(struct launch_rules *rules, const struct launch *launch,
			const struct net_policy *policy, struct error *err)
{
	struct net_port ports[LAUNCH_PORTS_MAX];
	size_t count = missing_ports(rules, policy, ports);

	if (rules->opened_count + count > OPENED_MAX)
		return error_advise(
			err, ERROR_DENIED, "when it is started again, it has those in force",
			"rules have named %d ports since this sandbox was started", OPENED_MAX);
	if (launch_open_ports(launch, ports, count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		mark_opened(rules, ports[i]);
	return 0;
}

static int send_order(const struct launch *launch, const struct attach_rule *wish,
		      struct error *err)
{
	struct net_order order = { .kind = wish->is_removal ? NET_ORDER_REMOVE : NET_ORDER_ADD,
				   .is_deny = wish->is_deny };

	_Static_assert(sizeof(order.rule) == sizeof(wish->text), "one size of rules");
	(void)snprintf(order.rule, sizeof(order.rule), "%s", wish->text);
	if (net_order_send(launch->gateway_fd, &order, NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot reach the network's gateway");
	return 0;
}

/* Tried here before it is sent to the gateway: an error in a rule is reported once, and nothing has changed then. */
int launch_rules_change(struct launch_rules *rules, const struct launch *launch,
			const struct spec *spec, const struct attach_rule *wish, struct error *err)
{
	const struct rule_change change = { wish->is_deny, wish->is_removal, wish->text };
	struct rule_set next;

	if (!memchr(wish->text, '\0', sizeof(wish->text)))
		return error_set(err, ERROR_INTERNAL, "a rule without an end");
	if (launch->gateway_fd < 0 || launch->network_fd < 0)
		return error_advise(err, ERROR_CONFLICT, "started again with a rule it has one",
				    "the sandbox was started without a network");
	if (begin(rules, spec, err) < 0 ||
	    rule_set_make(&rules->set.allow, &rules->set.deny, &next, err) < 0)
		return -1;
	if (rule_set_change(&next, &change, err) < 0 ||
	    open_missing(rules, launch, &next.policy, err) < 0 ||
	    send_order(launch, wish, err) < 0) {
		rule_set_done(&next);
		return -1;
	}
	rule_set_done(&rules->set);
	rules->set = next;
	return 0;
}

static int send_rules(int socket_fd, uint32_t id, const struct strv *texts, bool is_deny)
{
	struct attach_message message = { .kind = ATTACH_RULE, .id = id };

	message.rule.is_deny = is_deny;
	for (size_t i = 0; i < texts->count; i++) {
		(void)snprintf(message.rule.text, sizeof(message.rule.text), "%s", texts->items[i]);
		if (attach_send(socket_fd, &message, NULL, 0) < 0)
			return -1;
	}
	return 0;
}

int launch_rules_send(const struct launch_rules *rules, const struct spec *spec, int socket_fd,
		      uint32_t id)
{
	if (send_rules(socket_fd, id, rules->is_begun ? &rules->set.allow : &spec->allow, false) <
	    0)
		return -1;
	return send_rules(socket_fd, id, rules->is_begun ? &rules->set.deny : &spec->deny, true);
}

bool launch_rules_await(const struct launch *launch, int patience_ms,
			void (*take)(struct net_denial *denial, void *cookie), void *cookie,
			struct net_counts *ret_counts)
{
	struct net_report report;
	int fd = launch->gateway_fd;
	uint64_t asked_ns;

	if (fd < 0 || net_report_ask(fd, &asked_ns) < 0)
		return false;
	while (fd_wait(fd, POLLIN, patience_ms) > 0 && net_report_receive(fd, &report) > 0) {
		if (report.kind == NET_REPORT_DENIAL)
			take(&report.denial, cookie);
		else if (report.kind != NET_REPORT_COUNTS)
			return false;
		else if (report.counts.asked_ns == asked_ns) {
			*ret_counts = report.counts;
			return true;
		}
	}
	return false;
}
