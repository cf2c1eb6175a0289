/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection was refused, for the result of the run. */
#include "tls_gateway/link.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "net/gateway/report.h"
#include "tls_gateway/head.h"

#include <stdio.h>

void link_report(const struct link *link, const char *layer, const char *rule, const char *hint)
{
	struct net_report report = { .kind = NET_REPORT_DENIAL };
	struct net_denial *denial = &report.denial;
	const char *what = link->exchange.what;

	denial->time_ms = clock_epoch_ms();
	denial->port = link->exchange.port;
	(void)snprintf(denial->layer, sizeof(denial->layer), "%s", layer);
	(void)snprintf(denial->what, sizeof(denial->what), "%s %s:%u", what[0] ? what : "connect",
		       link->host, link->exchange.port);
	(void)snprintf(denial->rule, sizeof(denial->rule), "%s", rule);
	(void)snprintf(denial->hint, sizeof(denial->hint), "%s", hint ? hint : "");
	(void)snprintf(denial->name, sizeof(denial->name), "%s", link->host);
	net_address_format(&link->exchange.address, denial->address);
	(void)net_report_send(link->tls_gateway->report_fd, &report);
}

/* As the gateway reports a plain request (net/gateway/tell.c). */
void link_report_request(const struct link *link)
{
	const struct exchange *exchange = &link->exchange;
	owned(free_ptr) char *hint = xasprintf("--allow %s:%u", link->host, exchange->port);

	link_report(link, NET_LAYER, exchange->is_silent ? "default deny" : exchange->why,
		    exchange->is_silent ? hint : NULL);
}

/* A client with a list of authorities of its own. */
void link_report_distrust(const struct link *link)
{
	link_report(link, NET_LAYER, "the client does not accept aisbx's certificate",
		    head_gets_secret(&link->exchange)
			    ? "--secret-env gives it the secret itself"
			    : "rules about requests at port 443 need a client that trusts "
			      "/run/aisbx/ca.pem; a rule for the whole host does not");
}
