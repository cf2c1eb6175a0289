/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on both sides of a connection: a server to the client inside, by certificates of an authority that was made for this
 * sandbox alone and whose key is in this process only; a client to the real server, which it verifies fully.
 */
#ifndef TLS_GATEWAY_TLS_H
#define TLS_GATEWAY_TLS_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdint.h>
#include <sys/types.h>

struct tls;	    /* keys and certificates */
struct tls_session; /* one side of a connection */

/* What programs inside trust: the host's certificates and the authority's, for most of them and for Java. */
struct tls_trust {
	struct str bundle, java_store;
};

/* Makes the authority, constrained to HOSTS, and a certificate for each. Reads files; later calls read none. */
int tls_open(const struct strv *hosts, struct tls **ret_tls, struct tls_trust *ret_trust,
	     struct error *err);

/* Of one host of those; the socket stays the caller's. NULL without memory. */
struct tls_session *tls_to_server(struct tls *tls, const char *host, int fd);
struct tls_session *tls_to_client(struct tls *tls, const char *host, int fd);
void tls_close(struct tls_session *session);

/* 1 when it is done, 0 when it waits for *RET_EVENTS (EPOLLIN, EPOLLOUT), -1 when it has failed. */
int tls_handshake(struct tls_session *session, uint32_t *ret_events);

/* Bytes; 0 at the end; -1 while it waits for *RET_EVENTS, -2 when it is broken. */
ssize_t tls_read(struct tls_session *session, void *buffer, size_t size, uint32_t *ret_events);
ssize_t tls_write(struct tls_session *session, const void *bytes, size_t len, uint32_t *ret_events);
/* Announces the end of what is sent. */
void tls_finish(struct tls_session *session);

/* Why the server's certificate is not accepted; NULL when it is. */
const char *tls_distrust(const struct tls_session *to_server);
/* The client's handshake will end with the alert that says so. */
void tls_pass_distrust(struct tls_session *to_client, const struct tls_session *to_server);
/* Whether the peer has ended the handshake by an alert about our certificate. */
bool tls_is_distrusted(const struct tls_session *to_client);

#endif
