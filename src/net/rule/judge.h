/* SPDX-License-Identifier: Apache-2.0 */
/* One request against the rules. The gateway asks it about plain HTTP, aisbx-gateway about requests inside TLS. */
#ifndef NET_JUDGE_H
#define NET_JUDGE_H

#include "net/rule/http.h"

/* What is known of the connection that a request came by. */
struct judge_place {
	const struct net_policy *policy;
	const char *name; /* of the request's Host, canonical; NULL: it is the address */
	const struct net_address *address;
	struct net_port port;
	bool is_right; /* the Host is where the connection leads to */
	bool is_free; /* its address permits it, and no rule is about requests to it: any Host will do */
	bool adds_secret; /* on the way */
	bool wants_tls;	  /* a secret goes there, by TLS alone, and this is not TLS */
};

struct judge_verdict {
	bool passes;
	const char *rule;   /* what is against it; NULL: no rule permits it */
	const char *status; /* for the client, where it does not pass */
};

void judge_request(const struct http_head *head, const struct judge_place *place,
		   struct judge_verdict *ret_verdict);

/*
 * The hosts whose TLS is ended outside, so that requests in it can be judged: those that a rule about requests names for
 * port 443. ALLOW and DENY are rules as texts; what is none is left out. None is added twice.
 */
void judge_tls_hosts(const struct strv *allow, const struct strv *deny, struct strv *hosts);

#endif
