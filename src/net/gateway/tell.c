/* SPDX-License-Identifier: Apache-2.0 */
/* What the gateway refused, in words. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/shell_quote.h"
#include "net/gateway/gateway_parts.h"

#include <stdio.h>
#include <string.h>

/* As a rule would name it: a name where one is known, else the address. */
static void format_place(const struct refusal *refusal, char *out, size_t size)
{
	const char *udp = refusal->port.is_udp ? "udp:" : "";
	char place[NET_PLACE_SIZE];

	if (refusal->name && refusal->port.number == 0) {
		(void)snprintf(out, size, "%s", refusal->name);
	} else if (refusal->name) {
		(void)snprintf(out, size, "%s%s:%u", udp, refusal->name, refusal->port.number);
	} else {
		net_place_format(refusal->address, refusal->port.number, place);
		(void)snprintf(out, size, "%s%s", udp, place);
	}
}

static void fill(const struct refusal *refusal, struct net_denial *denial)
{
	char place[NET_NAME_SIZE + 16];

	denial->time_ms = clock_epoch_ms();
	denial->port = refusal->port.number;
	format_place(refusal, place, sizeof(place));
	(void)snprintf(denial->what, sizeof(denial->what), "%s %s", refusal->verb, place);
	if (refusal->name)
		(void)snprintf(denial->name, sizeof(denial->name), "%s", refusal->name);
	if (refusal->address)
		net_address_format(refusal->address, denial->address);
}

/* What something else than a missing rule forbids, no rule permits; nor does one the address we made up, and some names can stand in none. */
static bool is_allowable(const struct refusal *refusal)
{
	char name[NET_NAME_SIZE];

	if (refusal->is_hopeless ||
	    (!refusal->name && net_address_equal(refusal->address, host_address())))
		return false;
	return !refusal->rule &&
	       (!refusal->name || net_name_canonical(refusal->name, strlen(refusal->name), name));
}

void report_refused(struct gateway *gateway, const struct refusal *refusal)
{
	struct net_report report = { .kind = NET_REPORT_DENIAL };
	struct net_denial *denial = &report.denial;
	char place[NET_NAME_SIZE + 16];

	fill(refusal, denial);
	(void)snprintf(denial->layer, sizeof(denial->layer), "%s", NET_LAYER);
	(void)snprintf(denial->rule, sizeof(denial->rule), "%s",
		       refusal->rule ? refusal->rule : "default deny");
	format_place(refusal, place, sizeof(place));
	if (is_allowable(refusal)) {
		owned(str_done) struct str word = STR_INIT;

		shell_quote_add(&word, place);
		(void)snprintf(denial->hint, sizeof(denial->hint), "--allow %s", str_cstr(&word));
	}
	(void)net_report_send(gateway->report.fd, &report);
}

void report_failed(struct gateway *gateway, const struct refusal *refusal, const char *why)
{
	struct net_report report = { .kind = NET_REPORT_DENIAL };
	struct net_denial *denial = &report.denial;

	fill(refusal, denial);
	(void)snprintf(denial->layer, sizeof(denial->layer), "%s", NET_LAYER_UPSTREAM);
	(void)snprintf(denial->rule, sizeof(denial->rule), "%s", why);
	(void)snprintf(denial->hint, sizeof(denial->hint), "%s",
		       refusal->hint ? refusal->hint : "permitted, but not reached");
	(void)net_report_send(gateway->report.fd, &report);
}
