/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's process: made before the sandbox, which it serves, and ended with it. Private to launch. */
#ifndef LAUNCH_EGRESS_H
#define LAUNCH_EGRESS_H

#include "launch/setup/start.h"
#include "net/gateway/gateway.h"

/* Where TLS programs inside find what they trust, when TLS is ended outside (plan/environment.c names it). */
#define EGRESS_BUNDLE "run/aisbx/ca.pem"
#define EGRESS_JAVA_STORE "run/aisbx/ca.jks"
/* What SYSTEM_WGETRC names (plan/environment.c). */
#define EGRESS_WGETRC "run/aisbx/wgetrc"

/* egress_tls_gateway.c: starts aisbx-gateway where TLS is ended outside, before the gateway, which gets a socket to it. */
int egress_tls_gateway_start(struct launch *launch, const struct start *start,
			     struct gateway_options *options, struct error *err);

/* Where the spec wants a gateway, starts it and fills its part of LAUNCH and START; else does nothing. */
int egress_start(struct launch *launch, struct start *start, struct error *err);

/* In the process that has just made the sandbox's network: sets it up and sends its sockets to the gateway. */
int egress_set_up(const struct start *start, struct error *err);

/* Where the gateway has reported why it cannot work, that replaces *ERR, which only follows from it. */
void egress_explain(const struct launch *launch, struct error *err);

/* Ends the gateway; every connection of the sandbox ends with it. */
void egress_stop(struct launch *launch);

#endif
