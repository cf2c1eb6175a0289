/* SPDX-License-Identifier: Apache-2.0 */
/* A request's head as it goes on, with the secrets of its host. */
#ifndef TLS_GATEWAY_HEAD_H
#define TLS_GATEWAY_HEAD_H

#include "tls_gateway/exchange.h"

/* HEAD was read from BYTES and is permitted. OUT holds secrets from then on. */
void head_write(const struct exchange *exchange, const char *bytes, const struct http_head *head,
		struct str *out);

/* Whether requests of the connection are given a secret. */
bool head_gets_secret(const struct exchange *exchange);

/* Whether it asks for websockets. */
bool head_asks_upgrade(const char *bytes, const struct http_head *head);

#endif
