/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes requests and answers where secrets are put in: what goes on must be one sound request, and no answer may show the secret.
 * The first byte is how many bytes a piece has, up to a NUL the client's, behind it the server's.
 */
#include "base/core/own.h"
#include "tls_gateway/exchange.h"

#include <stdlib.h>
#include <string.h>

#define VALUE "s3cret-Canary"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_conf(struct tls_gateway_conf *conf)
{
	static const char *const words[] = { "@api.test:443:Authorization=tok",
					     "@api.test:443:query/key=tok",
					     "@api.test:443:$KEY=tok" };
	struct strv allow = STRV_INIT, deny = STRV_INIT;
	struct error err;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		(void)secrets_add(&conf->secrets, words[i], VALUE, strlen(VALUE), &err);
	strv_add(&allow, "api.test:443");
	if (tls_gateway_conf_make(conf, &err) < 0 ||
	    rule_set_make(&allow, &deny, &conf->rules, &err) < 0)
		abort();
	strv_done(&allow);
}

/* A head that was sent on is read alike by the strict reader, and has the secret once as that header. */
static void check_request(const struct str *sent)
{
	struct http_head head;

	if (sent->len > 0 && sent->len < HTTP_HEAD_MAX &&
	    (http_read(sent->data, sent->len, &head) != HTTP_WHOLE ||
	     strcmp(head.name, "api.test") != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tls_gateway_conf conf;
	owned(exchange_done) struct exchange exchange;
	owned(str_done) struct str in = STR_INIT, up = STR_INIT, back = STR_INIT, down = STR_INIT;
	const uint8_t *end = size > 1 ? memchr(data + 1, 0, size - 1) : NULL;
	const uint8_t *at, *stop = data + size;
	size_t piece = size > 0 ? data[0] + 1u : 1;
	int status = 0;

	if (!conf.count)
		make_conf(&conf);
	exchange_init(&exchange, &conf);
	exchange.host = "api.test";
	exchange.port = 443;
	exchange.is_tls = true;
	if (size < 2)
		return 0;
	end = end ? end : stop;
	for (at = data + 1; at < end && status == 0; at += piece) {
		size_t len = (size_t)(end - at) < piece ? (size_t)(end - at) : piece;
		bool is_first = exchange.down == DOWN_IDLE;

		str_add_bytes(&in, at, len);
		status = exchange_request(&exchange, &in, &up);
		if (is_first && status == 0 && exchange.up == UP_HEAD)
			check_request(&up);
	}
	for (at = end + 1; at < stop && status == 0; at += piece) {
		size_t len = (size_t)(stop - at) < piece ? (size_t)(stop - at) : piece;

		str_add_bytes(&back, at, len);
		status = exchange_response(&exchange, &back, at + len == stop, &down);
	}
	if (down.len > 0 && exchange.down == DOWN_IDLE &&
	    memmem(down.data, down.len, VALUE, strlen(VALUE)))
		abort();
	return 0;
}
