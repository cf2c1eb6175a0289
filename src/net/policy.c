/* Network rules: [udp:]HOST:PORTS, parsed once into canonical form. */
#include "net/policy.h"

#include "base/own.h"

#include <string.h>

#define LABEL_MAX 63

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Lower case of what may stand in a label; 0 for everything else. */
static char label_char(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_' ? c : 0;
}

/* "7", "0177", "0x7f": inet_aton takes names that end so for addresses. */
static bool is_numeric(const char *label)
{
	size_t hex = strspn(label, "0123456789abcdef");

	if (label[strspn(label, "0123456789")] == '\0')
		return true;
	return hex == 1 && label[0] == '0' && label[1] == 'x' &&
	       label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
}

/* Copies one label in lower case, up to a dot or END. Its length; 0 when it is none. */
static size_t copy_label(const char *label, const char *end, char *out)
{
	size_t len = 0;

	for (; label + len < end && label[len] != '.'; len++) {
		out[len] = label_char(label[len]);
		if (!out[len] || len == LABEL_MAX)
			return 0;
	}
	return len > 0 && out[0] != '-' && out[len - 1] != '-' ? len : 0;
}

bool net_name_canonical(const char *bytes, size_t len, char out[static NET_NAME_SIZE])
{
	size_t at = 0, label = 0; /* where the last one starts */

	if (len > 0 && bytes[len - 1] == '.')
		len--;
	if (len == 0 || len >= NET_NAME_SIZE)
		return false;
	for (;;) {
		size_t size = copy_label(bytes + at, bytes + len, out + at);

		if (size == 0)
			return false;
		label = at;
		at += size;
		if (at == len)
			break;
		out[at++] = '.';
	}
	out[at] = '\0';
	return !is_numeric(out + label);
}

static int refuse(const char *text, const char *why, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_set(err, ERROR_USAGE, "network rule '%s': %s", str_shown(text, shown), why);
}

/* One number of 1 to 65535; where it ends, or NULL. */
static const char *parse_port(const char *text, uint16_t *ret_port)
{
	unsigned long value = 0;
	const char *at = text;

	for (; is_digit(*at) && at - text < 6; at++)
		value = value * 10 + (unsigned long)(*at - '0');
	if (at == text || value == 0 || value > 65535)
		return NULL;
	*ret_port = (uint16_t)value;
	return at;
}

static int parse_ports(const char *text, const char *ports, struct net_rule *rule,
		       struct error *err)
{
	const char *at = parse_port(ports, &rule->first_port);

	rule->last_port = rule->first_port;
	if (at && *at == '-')
		at = parse_port(at + 1, &rule->last_port);
	if (!at || *at || rule->last_port < rule->first_port)
		return refuse(text, "ports are N or N-M, from 1 to 65535", err);
	return 0;
}

/* An address or a network; its host part must be empty, so that nobody names another range than meant. */
static int parse_network(const char *text, char *host, struct net_rule *rule, struct error *err)
{
	char *slash = strchr(host, '/');
	uint16_t bits = 0;

	if (slash)
		*slash = '\0';
	if (!net_address_parse(host, &rule->network))
		return refuse(text, "no address of IPv4 or IPv6 (IPv4 in its own form)", err);
	rule->kind = NET_RULE_NETWORK;
	rule->bits = rule->network.is_v6 ? 128 : 32;
	if (!slash)
		return 0;
	if (strcmp(slash + 1, "0") != 0) {
		const char *end = parse_port(slash + 1, &bits);

		if (!end || *end || bits > rule->bits)
			return refuse(text, "the length of a network is 0 to 32, or 128", err);
	}
	for (unsigned bit = bits; bit < rule->bits; bit++) {
		if (rule->network.bytes[bit / 8] & (0x80 >> bit % 8))
			return refuse(text, "bits are set behind the length of the network", err);
	}
	rule->bits = bits;
	return 0;
}

static int parse_host(const char *text, char *host, struct net_rule *rule, struct error *err)
{
	size_t len = strlen(host);
	bool is_wild = str_starts(host, "*.");

	if (len > 1 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		return parse_network(text, host + 1, rule, err);
	}
	if (strchr(host, '/') || (len > 0 && strspn(host, "0123456789.") == len))
		return parse_network(text, host, rule, err);
	if (strchr(host, ':'))
		return refuse(text, "an address of IPv6 stands in [ ]", err);
	for (const char *at = host; *at; at++) {
		if ((unsigned char)*at >= 0x80)
			return refuse(text, "write the name as xn--..., in ASCII", err);
	}
	rule->kind = is_wild ? NET_RULE_WILDCARD : NET_RULE_NAME;
	host += is_wild ? 2 : 0;
	if (!net_name_canonical(host, strlen(host), rule->name))
		return refuse(text, "HOST is a name, *.name, an address, a CIDR or [IPv6]", err);
	return 0;
}

int net_rule_parse(const char *text, struct net_rule *ret_rule, struct error *err)
{
	struct net_rule rule = { .text = text, .is_udp = str_starts(text, "udp:") };
	const char *start = text + (rule.is_udp ? 4 : 0);
	const char *colon = strrchr(start, ':');
	owned(free_ptr) char *host = NULL;

	if (!colon || colon == start || strlen(start) > NET_NAME_SIZE + 16)
		return refuse(text, "a rule is [udp:]HOST:PORT, as in example.org:443", err);
	host = xstrndup(start, (size_t)(colon - start));
	if (parse_ports(text, colon + 1, &rule, err) < 0 || parse_host(text, host, &rule, err) < 0)
		return -1;
	*ret_rule = rule;
	return 0;
}

bool net_rule_equal(const struct net_rule *a, const struct net_rule *b)
{
	return a->kind == b->kind && a->is_udp == b->is_udp && a->first_port == b->first_port &&
	       a->last_port == b->last_port && a->bits == b->bits &&
	       net_address_equal(&a->network, &b->network) && strcmp(a->name, b->name) == 0;
}

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

/* A bit for each port that rules to allow speak of. */
static void mark_ports(const struct net_policy *policy, bool is_udp, uint8_t ports[PORTS_BYTES])
{
	memset(ports, 0, PORTS_BYTES);
	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];

		if (rule->is_udp != is_udp)
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
	if (count > NET_PORTS_MAX)
		return error_set(err, ERROR_USAGE,
				 "network rules name %zu ports; at most %d are possible: give "
				 "single ports or smaller ranges",
				 count, NET_PORTS_MAX);
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

static bool names(const struct net_rule *rule, const char *name)
{
	size_t len = strlen(name), tail = strlen(rule->name);

	if (rule->kind == NET_RULE_NAME)
		return strcmp(rule->name, name) == 0;
	return rule->kind == NET_RULE_WILDCARD && len > tail + 1 && name[len - tail - 1] == '.' &&
	       strcmp(name + len - tail, rule->name) == 0;
}

/* The host's loopback is reached by its name alone: *.local is about other machines. */
static bool names_safely(const struct net_rule *rule, const char *name)
{
	return names(rule, name) &&
	       (rule->kind == NET_RULE_NAME || strcmp(name, NET_HOST_NAME) != 0);
}

enum net_answer net_policy_name(const struct net_policy *policy, const char *name,
				struct net_port port, const char **ret_rule)
{
	for (size_t i = 0; i < policy->deny.count; i++) {
		const struct net_rule *rule = &policy->deny.items[i];

		if (speaks_of(rule, port) && names(rule, name)) {
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

bool net_policy_lists(const struct net_policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];
		struct net_port port = { rule->is_udp, 0 };
		const char *ignored;

		if (!names_safely(rule, name))
			continue;
		for (unsigned number = rule->first_port; number <= rule->last_port; number++) {
			port.number = (uint16_t)number;
			if (net_policy_name(policy, name, port, &ignored) == NET_ALLOWED)
				return true;
		}
	}
	return false;
}

/* A network wider than the special range says nothing about the addresses of that range. */
static bool opens(const struct net_rule *rule, const struct net_address *address)
{
	const struct net_special *special = net_address_special(address);

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

		if (speaks_of(rule, port) && rule->kind == NET_RULE_NETWORK &&
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
