/* SPDX-License-Identifier: Apache-2.0 */
/* One request against the rules. */
#include "net/rule/judge.h"

#include "base/core/own.h"

#include <string.h>

static bool is_method(const struct http_head *head, const char *method)
{
	return head->method_len == strlen(method) &&
	       memcmp(head->method, method, head->method_len) == 0;
}

/* What is against the request whatever rules permit, or NULL. */
static const char *find_fault(const struct http_head *head, const struct judge_place *place,
			      const struct net_request *request)
{
	if (is_method(head, "CONNECT"))
		return "no proxy is here";
	if (head->overrides && net_policy_judges_requests(place->policy, request))
		return "a header or parameter in it that servers take for another method, path or "
		       "host";
	if (place->wants_tls)
		return "plain HTTP, where a secret is sent by TLS alone";
	if (place->adds_secret && is_method(head, "TRACE"))
		return "it would show a secret that is added outside";
	return NULL;
}

void judge_request(const struct http_head *head, const struct judge_place *place,
		   struct judge_verdict *ret_verdict)
{
	const struct net_request request = { .name = place->name,
					     .address = place->address,
					     .port = place->port,
					     .method = head->method,
					     .method_len = head->method_len,
					     .path = head->path,
					     .path_len = head->path_len };
	struct judge_verdict *verdict = ret_verdict;

	*verdict = (struct judge_verdict){ .status = "403 Forbidden" };
	if (!(place->is_right || place->is_free) ||
	    (head->port && head->port != place->port.number)) {
		verdict->rule = "the Host is not the place that was dialled";
		verdict->status = "400 Bad Request";
		return;
	}
	verdict->rule = find_fault(head, place, &request);
	if (verdict->rule)
		return;
	verdict->passes = place->is_free || net_policy_request(place->policy, &request,
							       &verdict->rule) == NET_ALLOWED;
}

static void add_hosts(const struct strv *rules, struct strv *hosts)
{
	for (size_t i = 0; i < rules->count; i++) {
		struct net_rule rule;
		struct error ignored;

		/* Most rules are about connections, and need not be parsed for that. */
		if (str_starts(rules->items[i], "http:") &&
		    net_rule_parse(rules->items[i], &rule, &ignored) == 0 &&
		    net_rule_ends_tls(&rule) && !strv_has(hosts, rule.name))
			strv_add(hosts, rule.name);
	}
}

void judge_tls_hosts(const struct strv *allow, const struct strv *deny, struct strv *hosts)
{
	add_hosts(allow, hosts);
	add_hosts(deny, hosts);
}
