/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network rules: [udp:]HOST:PORTS or http:[METHODS:]HOST:PORTS[/PREFIX], parsed once into canonical form.
 *
 * HOST is a name, *.name (one or more labels in front, not the name itself), an address, a CIDR, or [IPv6]; * is every
 * name and every address that is not special, as `--net all` has it. A rule to
 * deny beats every rule to allow. No rule means nothing. Special addresses (private, loopback, metadata, ...) pass only
 * where a rule names the address, or a CIDR inside the special range: 0.0.0.0/0 does not open 10.0.0.0/8.
 *
 * Where a rule with http: is about a place, connections there must speak plain HTTP, and each request is judged. So is
 * each plain connection to another host on the same port: several names may share an address. At port 443 such a rule names
 * one host, and requests inside TLS are judged as well (judge.h).
 */
#ifndef NET_POLICY_H
#define NET_POLICY_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "net/rule/address.h"

#include <stddef.h>

/* A canonical name with its NUL: lower case, no dot at the end. */
#define NET_NAME_SIZE 254
#define NET_PORTS_MAX 256
/* Ports on which plain HTTP is not expected. */
#define NET_TLS_PORT 443
#define NET_RULES_MAX 1024
/* Of the longest rule, with its NUL. */
#define NET_RULE_SIZE 512

/* The host's own loopback, where a rule permits it. */
#define NET_HOST_NAME "host.local"
/* The same by the loopback addresses inside, too: at these ports 127.0.0.1 and ::1 lead to the host's. */
#define NET_LOCALHOST "localhost"

enum net_rule_kind { NET_RULE_NAME, NET_RULE_WILDCARD, NET_RULE_NETWORK, NET_RULE_ANY };

struct net_rule {
	enum net_rule_kind kind;
	bool is_udp;
	bool is_http;	     /* about requests: */
	const char *methods; /* "GET,HEAD", in the text; any with a length of 0 */
	size_t methods_len;
	const char
		*path; /* whole segments that a request's path begins with; in the text, or "/" */
	uint16_t first_port, last_port;
	struct net_address network;
	unsigned bits;
	char name[NET_NAME_SIZE]; /* of a wildcard: what follows "*." */
	const char *text;	  /* as given; borrowed */
};

struct net_rules {
	struct net_rule *items;
	size_t count;
};

struct net_policy {
	struct net_rules allow, deny;
};

/*
 * Canonical form of a name, for rules and for what programs ask: lower case, one dot at the end is dropped. False for
 * what is no name: bytes beyond letters, digits, '-' and '_', labels that are empty or too long, and anything a
 * careless reader would take for an address (a last label of digits, or 0x...).
 */
bool net_name_canonical(const char *bytes, size_t len, char out[static NET_NAME_SIZE]);

int net_rule_parse(const char *text, struct net_rule *ret_rule, struct error *err);

/* Whether TLS to its host has to be ended outside, for requests in it to be judged. */
bool net_rule_ends_tls(const struct net_rule *rule);

/* Whether both say the same, in whatever spelling. */
bool net_rule_equal(const struct net_rule *a, const struct net_rule *b);

/* ALLOW and DENY must outlive the policy. At most NET_PORTS_MAX distinct ports, else refused with a hint. */
int net_policy_parse(const struct strv *allow, const struct strv *deny,
		     struct net_policy *ret_policy, struct error *err);
void net_policy_done(struct net_policy *policy);

/* Every place by every TCP port, as `--net all` has it where one listener gets them all (redirect.h). */
#define NET_RULE_ALL "*:1-65535"
bool net_policy_has_all(const struct net_policy *policy);

/* The distinct ports that rules to allow speak of, other than that one, rising. Their number. */
size_t net_policy_ports(const struct net_policy *policy, bool is_udp,
			uint16_t ret_ports[static NET_PORTS_MAX]);

/* Whether some port of that name may be reached: only then its name is resolved. */
bool net_policy_lists(const struct net_policy *policy, const char *name);

enum net_answer { NET_SILENT, NET_ALLOWED, NET_DENIED };

/* Where to: a port of one kind. */
struct net_port {
	bool is_udp;
	uint16_t number;
};

/* A request of plain HTTP; texts need no NUL. */
struct net_request {
	const char *name;		   /* canonical, or NULL: it is for the address itself */
	const struct net_address *address; /* of the connection */
	struct net_port port;
	const char *method, *path;
	size_t method_len, path_len;
};

/* What the rules say about a request, those that are about whole connections included. */
enum net_answer net_policy_request(const struct net_policy *policy,
				   const struct net_request *request, const char **ret_rule);

/* Whether some rule is about requests to that name or address and port; method and path are not looked at. */
bool net_policy_judges_requests(const struct net_policy *policy, const struct net_request *request);

/* Whether the rule is about that name or address and port, be it to allow or to deny. */
bool net_rule_is_about(const struct net_rule *rule, const struct net_request *request);

/* Whether some rule is about requests on that port, to whomever. */
bool net_policy_judges_port(const struct net_policy *policy, struct net_port port);

/* What the rules say about an address as such, before any request. RET_RULE: the rule that decided, or NULL when none did. */
enum net_answer net_policy_address(const struct net_policy *policy,
				   const struct net_address *address, struct net_port port,
				   const char **ret_rule);

/* Whether a rule to allow is about exactly that address, not a network around it. */
bool net_policy_names_address(const struct net_policy *policy, const struct net_address *address,
			      struct net_port port);

/* What the rules say about a canonical name. */
enum net_answer net_policy_name(const struct net_policy *policy, const char *name,
				struct net_port port, const char **ret_rule);

#endif
