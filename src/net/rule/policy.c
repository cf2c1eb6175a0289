/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules as a whole: what they say about an address, a name, a request. */
#include "net/rule/policy.h"

#include "base/core/own.h"
#include "net/rule/http.h"

#include <string.h>
#include <strings.h>

static int parse_list(const struct strv *texts, struct net_rules *rules, struct error *err)
{
	if (texts->count > NET_RULES_MAX)
		return error_set(err, ERROR_USAGE, "more than %d network rules", NET_RULES_MAX);
	rules->items = xcalloc(texts->count + 1, sizeof(*rules->items));
	for (size_t i = 0; i < texts->count; i++) {
		if (net_rule_parse(texts->items[i], &rules->items[i], err) < 0)
			return -1;
		rules->count++;
	}
	return 0;
}

static bool speaks_of(const struct net_rule *rule, struct net_port port)
{
	return rule->is_udp == port.is_udp && port.number >= rule->first_port &&
	       port.number <= rule->last_port;
}

#define PORTS_BYTES (65536 / 8)

static bool has_port(const uint8_t *ports, unsigned number)
{
	return ports[number / 8] & 1u << number % 8;
}

/* One listener gets all of its ports. */
static bool is_all(const struct net_rule *rule)
{
	return rule->kind == NET_RULE_ANY && !rule->is_udp && !rule->is_http &&
	       rule->first_port == 1 && rule->last_port == 65535;
}

bool net_policy_has_all(const struct net_policy *policy)
{
	for (size_t i = 0; i < policy->allow.count; i++) {
		if (is_all(&policy->allow.items[i]))
			return true;
	}
	return false;
}

/* A bit for each port that needs a listener of its own. */
static void mark_ports(const struct net_policy *policy, bool is_udp, uint8_t ports[PORTS_BYTES])
{
	memset(ports, 0, PORTS_BYTES);
	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];

		if (rule->is_udp != is_udp || is_all(rule))
			continue;
		for (unsigned number = rule->first_port; number <= rule->last_port; number++)
			ports[number / 8] |= (uint8_t)(1u << number % 8);
	}
}

/* Each costs a listener inside, and the stub for names has its own on 53. */
static int check_ports(const struct net_policy *policy, struct error *err)
{
	uint8_t ports[PORTS_BYTES];
	size_t count = 0;

	for (int is_udp = 0; is_udp < 2; is_udp++) {
		mark_ports(policy, is_udp, ports);
		if (has_port(ports, 53))
			return error_set(err, ERROR_USAGE,
					 "network rules: port 53 inside answers for listed names "
					 "by itself; it cannot be a rule's");
		for (size_t i = 0; i < PORTS_BYTES; i++)
			count += (size_t)__builtin_popcount(ports[i]);
	}
	if (count > NET_PORTS_MAX) {
		error_set(err, ERROR_USAGE, "network rules name %zu ports", count);
		return error_add_hint(
			err, "at most %d are possible: give single ports or smaller ranges",
			NET_PORTS_MAX);
	}
	return 0;
}

int net_policy_parse(const struct strv *allow, const struct strv *deny,
		     struct net_policy *ret_policy, struct error *err)
{
	struct net_policy policy = { 0 };

	if (parse_list(allow, &policy.allow, err) < 0 || parse_list(deny, &policy.deny, err) < 0 ||
	    check_ports(&policy, err) < 0) {
		net_policy_done(&policy);
		return -1;
	}
	*ret_policy = policy;
	return 0;
}

void net_policy_done(struct net_policy *policy)
{
	free(policy->allow.items);
	free(policy->deny.items);
	*policy = (struct net_policy){ 0 };
}

size_t net_policy_ports(const struct net_policy *policy, bool is_udp,
			uint16_t ret_ports[static NET_PORTS_MAX])
{
	uint8_t ports[PORTS_BYTES];
	size_t count = 0;

	mark_ports(policy, is_udp, ports);
	for (unsigned number = 1; number <= 65535 && count < NET_PORTS_MAX; number++) {
		if (has_port(ports, number))
			ret_ports[count++] = (uint16_t)number;
	}
	return count;
}

static bool is_host_name(const char *name)
{
	return strcmp(name, NET_HOST_NAME) == 0 || strcmp(name, NET_LOCALHOST) == 0;
}

/* Both names of the host's loopback lead to the same servers. */
static bool names(const struct net_rule *rule, const char *name)
{
	size_t len = strlen(name), tail = strlen(rule->name);

	if (rule->kind == NET_RULE_ANY)
		return true;
	if (rule->kind == NET_RULE_NAME)
		return strcmp(rule->name, name) == 0 ||
		       (is_host_name(rule->name) && is_host_name(name));
	return rule->kind == NET_RULE_WILDCARD && len > tail + 1 && name[len - tail - 1] == '.' &&
	       strcmp(name + len - tail, rule->name) == 0;
}

/*
 * The host's loopback is reached by its name alone: *.local is about other machines. What is the loopback inside as well
 * leads there only where a rule names localhost.
 */
static bool names_safely(const struct net_rule *rule, const char *name)
{
	if (!names(rule, name))
		return false;
	if (rule->kind == NET_RULE_WILDCARD || rule->kind == NET_RULE_ANY)
		return !is_host_name(name);
	return strcmp(name, NET_LOCALHOST) != 0 || strcmp(rule->name, NET_LOCALHOST) == 0;
}

enum net_answer net_policy_name(const struct net_policy *policy, const char *name,
				struct net_port port, const char **ret_rule)
{
	for (size_t i = 0; i < policy->deny.count; i++) {
		const struct net_rule *rule = &policy->deny.items[i];

		if (speaks_of(rule, port) && !rule->is_http && names(rule, name)) {
			*ret_rule = rule->text;
			return NET_DENIED;
		}
	}
	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];

		if (speaks_of(rule, port) && names_safely(rule, name)) {
			*ret_rule = rule->text;
			return NET_ALLOWED;
		}
	}
	*ret_rule = NULL;
	return NET_SILENT;
}

/* The last port of a rule that denies NAME at PORT, 0 when none does. */
static unsigned denied_to(const struct net_policy *policy, const char *name, struct net_port port)
{
	for (size_t i = 0; i < policy->deny.count; i++) {
		const struct net_rule *rule = &policy->deny.items[i];

		if (speaks_of(rule, port) && !rule->is_http && names(rule, name))
			return rule->last_port;
	}
	return 0;
}

bool net_policy_lists(const struct net_policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];
		unsigned number = rule->first_port, last;

		if (!names_safely(rule, name))
			continue;
		while (number <= rule->last_port &&
		       (last = denied_to(policy, name,
					 (struct net_port){ rule->is_udp, (uint16_t)number })))
			number = last + 1;
		if (number <= rule->last_port)
			return true;
	}
	return false;
}

/* A network wider than the special range does not cover the addresses of that range. */
static bool opens(const struct net_rule *rule, const struct net_address *address)
{
	const struct net_special *special = net_address_special(address);

	if (rule->kind == NET_RULE_ANY)
		return !special;
	return rule->kind == NET_RULE_NETWORK &&
	       net_address_within(address, &rule->network, rule->bits) &&
	       (!special || rule->bits >= special->bits);
}

enum net_answer net_policy_address(const struct net_policy *policy,
				   const struct net_address *address, struct net_port port,
				   const char **ret_rule)
{
	for (size_t i = 0; i < policy->deny.count; i++) {
		const struct net_rule *rule = &policy->deny.items[i];

		if (speaks_of(rule, port) && !rule->is_http && rule->kind == NET_RULE_NETWORK &&
		    net_address_within(address, &rule->network, rule->bits)) {
			*ret_rule = rule->text;
			return NET_DENIED;
		}
	}
	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];

		if (speaks_of(rule, port) && opens(rule, address)) {
			*ret_rule = rule->text;
			return NET_ALLOWED;
		}
	}
	*ret_rule = NULL;
	return NET_SILENT;
}

bool net_policy_names_address(const struct net_policy *policy, const struct net_address *address,
			      struct net_port port)
{
	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];

		if (speaks_of(rule, port) && rule->kind == NET_RULE_NETWORK &&
		    rule->bits == (address->is_v6 ? 128 : 32) &&
		    net_address_equal(&rule->network, address))
			return true;
	}
	return false;
}

/* Whether the rule is about the request's host. A rule to allow must open it, one to deny only cover it. */
static bool is_about(const struct net_rule *rule, const struct net_request *request, bool opens_it)
{
	if (!speaks_of(rule, request->port))
		return false;
	if (request->name)
		return opens_it ? names_safely(rule, request->name) : names(rule, request->name);
	if (opens_it)
		return opens(rule, request->address);
	return rule->kind == NET_RULE_NETWORK &&
	       net_address_within(request->address, &rule->network, rule->bits);
}

/* Some servers ignore the case of a method: a rule to deny does, too. */
static bool has_method(const struct net_rule *rule, const struct net_request *request, bool is_deny)
{
	const char *at = rule->methods, *end = at + rule->methods_len;

	while (rule->methods_len > 0 && at < end) {
		size_t len = strcspn(at, ",:");

		if (len == request->method_len && (is_deny ? strncasecmp(at, request->method, len)
							   : memcmp(at, request->method, len)) == 0)
			return true;
		at += len + 1;
	}
	return rule->methods_len == 0;
}

/* Of a path that readers take for different ones, the worse is assumed. */
static bool covers(const struct net_rule *rule, const struct net_request *request, bool is_deny)
{
	if (!rule->is_http)
		return true;
	if (!has_method(rule, request, is_deny))
		return false;
	if (strcmp(rule->path, "/") == 0)
		return true;
	if (!http_path_is_plain(request->path, request->path_len))
		return is_deny;
	return http_path_begins(request->path, request->path_len, rule->path,
				is_deny ? HTTP_LOOSE : HTTP_STRICT);
}

enum net_answer net_policy_request(const struct net_policy *policy,
				   const struct net_request *request, const char **ret_rule)
{
	for (size_t i = 0; i < policy->deny.count; i++) {
		*ret_rule = policy->deny.items[i].text;
		if (is_about(&policy->deny.items[i], request, false) &&
		    covers(&policy->deny.items[i], request, true))
			return NET_DENIED;
	}
	for (size_t i = 0; i < policy->allow.count; i++) {
		*ret_rule = policy->allow.items[i].text;
		if (is_about(&policy->allow.items[i], request, true) &&
		    covers(&policy->allow.items[i], request, false))
			return NET_ALLOWED;
	}
	*ret_rule = NULL;
	return NET_SILENT;
}

static bool judges(const struct net_rules *rules, const struct net_request *request)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (rules->items[i].is_http && is_about(&rules->items[i], request, false))
			return true;
	}
	return false;
}

bool net_policy_judges_requests(const struct net_policy *policy, const struct net_request *request)
{
	return judges(&policy->allow, request) || judges(&policy->deny, request);
}

bool net_rule_is_about(const struct net_rule *rule, const struct net_request *request)
{
	return is_about(rule, request, false);
}

static bool judges_port(const struct net_rules *rules, struct net_port port)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (rules->items[i].is_http && speaks_of(&rules->items[i], port))
			return true;
	}
	return false;
}

bool net_policy_judges_port(const struct net_policy *policy, struct net_port port)
{
	return judges_port(&policy->allow, port) || judges_port(&policy->deny, port);
}
