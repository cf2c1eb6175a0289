/* SPDX-License-Identifier: Apache-2.0 */
/* One network rule: [udp:]HOST:PORTS or http:[METHODS:]HOST:PORTS[/PREFIX], parsed once into canonical form. */
#include "net/rule/policy.h"

#include "base/core/own.h"
#include "net/rule/http.h"

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

/* An address or a network; its host part must be empty, so that no other range than the intended one is named. */
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
	if (strcmp(host, "*") == 0 && !rule->is_http && !rule->is_udp) {
		rule->kind = NET_RULE_ANY;
		return 0;
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

/* "GET,HEAD:" in front of the host; where it ends, or TEXT when there is none. A host called GET has no colon behind. */
static const char *parse_methods(const char *text, struct net_rule *rule)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ,");

	if (len == 0 || text[len] != ':' || !strchr(text + len + 1, ':'))
		return text;
	rule->methods = text;
	rule->methods_len = len;
	return text + len + 1;
}

/* Where a path starts behind HOST:PORTS, or the end. A network's slash is followed by its length and the ports. */
static const char *find_path(const char *text)
{
	const char *at = text[0] == '[' ? strchrnul(text, ']') : text;

	for (at = strchrnul(at, ':'); *at == ':'; at = strchrnul(at + 1, ':')) {
		const char *end = at + 1 + strspn(at + 1, "0123456789-");

		if (end > at + 1 && *end == '/')
			return end;
	}
	return text + strlen(text);
}

static int parse_http(const char *text, const char **start, const char **end, struct net_rule *rule,
		      struct error *err)
{
	*start = parse_methods(*start, rule);
	*end = find_path(*start);
	rule->path = **end ? *end : "/";
	if (rule->methods_len > 0 &&
	    (rule->methods[0] == ',' || memmem(rule->methods, rule->methods_len, ",,", 2) ||
	     rule->methods[rule->methods_len - 1] == ','))
		return refuse(text, "methods are a list such as GET,HEAD", err);
	if (strpbrk(rule->path, "?;") || strcasestr(rule->path, "%3b") ||
	    !http_path_is_plain(rule->path, strlen(rule->path)))
		return refuse(
			text,
			"a path has no dots, doubled or encoded slashes, odd escapes, ; or ? in it",
			err);
	return 0;
}

bool net_rule_ends_tls(const struct net_rule *rule)
{
	return rule->is_http && rule->first_port <= NET_TLS_PORT && rule->last_port >= NET_TLS_PORT;
}

int net_rule_parse(const char *text, struct net_rule *ret_rule, struct error *err)
{
	struct net_rule rule = { .text = text,
				 .is_udp = str_starts(text, "udp:"),
				 .is_http = str_starts(text, "http:") };
	const char *start = text + (rule.is_udp ? 4 : rule.is_http ? 5 : 0);
	const char *end = text + strlen(text), *colon;
	owned(free_ptr) char *place = NULL;

	if (strlen(text) >= NET_RULE_SIZE)
		return refuse(text, "too long", err);
	if (rule.is_http && parse_http(text, &start, &end, &rule, err) < 0)
		return -1;
	place = xstrndup(start, (size_t)(end - start));
	colon = strrchr(place, ':');
	if (!colon || colon == place || strlen(place) > NET_NAME_SIZE + 16)
		return refuse(text,
			      "a rule is [udp:]HOST:PORT, as in example.org:443, or "
			      "http:GET:example.org:80/path",
			      err);
	place[colon - place] = '\0';
	if (parse_ports(text, colon + 1, &rule, err) < 0 || parse_host(text, place, &rule, err) < 0)
		return -1;
	if (net_rule_ends_tls(&rule) && rule.kind != NET_RULE_NAME)
		return refuse(text,
			      "at port 443 requests are judged inside TLS, for which a rule names "
			      "one host: no *, address or network",
			      err);
	*ret_rule = rule;
	return 0;
}

static bool same_requests(const struct net_rule *a, const struct net_rule *b)
{
	return !a->is_http ||
	       (a->methods_len == b->methods_len && strcmp(a->path, b->path) == 0 &&
		(a->methods_len == 0 || memcmp(a->methods, b->methods, a->methods_len) == 0));
}

bool net_rule_equal(const struct net_rule *a, const struct net_rule *b)
{
	return a->kind == b->kind && a->is_udp == b->is_udp && a->first_port == b->first_port &&
	       a->last_port == b->last_port && a->bits == b->bits &&
	       net_address_equal(&a->network, &b->network) && strcmp(a->name, b->name) == 0 &&
	       a->is_http == b->is_http && same_requests(a, b);
}
