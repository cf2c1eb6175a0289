/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway: the one process through which a sandbox reaches the world.
 *
 *   program inside ── lo (AnyIP) ──> listener, made inside ──> gateway ──> socket of the host's network
 *
 * Where a connection was meant to go is its own local address. The gateway looks at that address, at the names it was an
 * answer to, and for TLS at the name the client asks for; then it dials exactly that address and splices. Names are
 * asked of a stub on port 53, which answers for listed ones only, whatever server the program thought it asked.
 */
#ifndef NET_GATEWAY_H
#define NET_GATEWAY_H

#include "base/core/error.h"
#include "net/rule/policy.h"

struct gateway_options {
	const struct strv *allow, *deny;  /* rules to begin with */
	const struct strv *secret_header; /* HOST:NAME=FILE */
	const struct strv *inject;	  /* words as in a spec's secrets; others are left alone */
	const struct strv *publish;	  /* HOSTPORT:PORT */
	bool is_refusing;   /* for a sandbox without a network: all it does is to refuse names */
	int report_fd;	    /* to the supervisor, see report.h; its end is ours */
	int tls_gateway_fd; /* to aisbx-gateway, see tls_gateway.h; -1 where there is none */
	int inside_fd;	    /* sockets made inside arrive here, see inside.h */
};

struct gateway;

/* Reads the host's resolver files and opens what needs privileges; later it opens no file. */
int gateway_open(const struct gateway_options *options, struct gateway **ret_gateway,
		 struct error *err);

/* Until the supervisor is gone. */
void gateway_serve(struct gateway *gateway);

#endif
