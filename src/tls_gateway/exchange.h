/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests and answers of one connection, rewritten on their way: each request is judged and gets the secrets of its host,
 * if it has any; answers lose them again. Bytes in, bytes out; no socket and no TLS here.
 *
 * One request at a time: the next head is read when the answer to the last is complete. Secrets in answers become as many
 * asterisks, so that lengths stay as the server gave them.
 */
#ifndef TLS_GATEWAY_EXCHANGE_H
#define TLS_GATEWAY_EXCHANGE_H

#include "base/hash/secrets.h"
#include "net/rule/http.h"
#include "net/rule/inject.h"
#include "net/rule/rule_set.h"
#include "run/scrub.h"

#include <stdbool.h>
#include <stdint.h>

/* One way in which requests to one host get a secret. */
struct tls_gateway_entry {
	struct inject inject;
	const struct secret *secret;
	char *placeholder; /* what stands for it inside; as long as it is */
};

/* All that a gateway was given; the same for all connections. */
struct tls_gateway_conf {
	struct secrets secrets;
	struct tls_gateway_entry *entries;
	size_t count;
	struct scrub_words words;
	struct rule_set rules;
};

/* Parses the names of SECRETS, which are words with their mark. CONF owns them from then on. */
int tls_gateway_conf_make(struct tls_gateway_conf *conf, struct error *err);
void tls_gateway_conf_done(struct tls_gateway_conf *conf);

enum exchange_up { UP_HEAD, UP_LENGTH, UP_CHUNK, UP_CHUNK_END, UP_BODY_END, UP_TUNNEL };
enum exchange_down {
	DOWN_IDLE, /* nothing is asked */
	DOWN_HEAD,
	DOWN_LENGTH,
	DOWN_CHUNK,
	DOWN_CHUNK_DATA,
	DOWN_CHUNK_END,
	DOWN_TRAILER,
	DOWN_TO_END,
	DOWN_TUNNEL,
};

struct exchange {
	const struct tls_gateway_conf *conf;
	const char *host; /* borrowed */
	uint16_t port;
	bool is_tls;
	struct net_address address;
	enum exchange_up up;
	enum exchange_down down;
	uint64_t up_left, down_left;
	bool is_headless;  /* the answer has no body: it is to a HEAD */
	bool asks_upgrade; /* to websockets */
	bool has_answered; /* bytes of the present answer have gone out */
	bool has_scrub;
	struct scrub scrub; /* of the present body */
	/* Of a refusal. */
	const char *status, *why;
	bool is_silent; /* no rule is about it */
	char what[80];	/* method and path, for a report */
};

void exchange_init(struct exchange *exchange, const struct tls_gateway_conf *conf);
void exchange_done(struct exchange *exchange);

/* Takes what it can from the front of IN and adds what goes on to OUT. 0, or -1 where it is refused: status and why. */
int exchange_request(struct exchange *exchange, struct str *in, struct str *out);

/* Likewise of the server's. With IS_END no more will come: -1 where it ends too early. */
int exchange_response(struct exchange *exchange, struct str *in, bool is_end, struct str *out);

/* Nothing is under way: the connection may end. */
bool exchange_is_idle(const struct exchange *exchange);

#endif
