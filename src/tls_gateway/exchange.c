/* SPDX-License-Identifier: Apache-2.0 */
/* What the connections of a gateway share, and the life of one connection's state. */
#include "tls_gateway/exchange.h"

#include "base/core/own.h"

#include <string.h>

static int make_entry(struct tls_gateway_conf *conf, const struct secret *secret, struct error *err)
{
	struct tls_gateway_entry *entry = &conf->entries[conf->count];

	if (inject_parse(secret->name + 1, &entry->inject, err) < 0)
		return -1;
	if (!http_is_value(secret->bytes, secret->text_len) || secret->text_len > HTTP_SECRET_MAX)
		return error_advise(err, ERROR_INPUT, "aisbx secret set gives it another value",
				    "the secret %s is not one line of text, as a request needs it",
				    entry->inject.secret);
	entry->secret = secret;
	if (entry->inject.how == INJECT_PLACEHOLDER)
		entry->placeholder = secret_placeholder(secret);
	conf->count++;
	return 0;
}

int tls_gateway_conf_make(struct tls_gateway_conf *conf, struct error *err)
{
	conf->entries = xcalloc(conf->secrets.count + 1, sizeof(*conf->entries));
	for (size_t i = 0; i < conf->secrets.count; i++) {
		if (make_entry(conf, &conf->secrets.items[i], err) < 0)
			return -1;
	}
	scrub_words_init(&conf->words, &conf->secrets);
	conf->words.keeps_length = true;
	return 0;
}

void tls_gateway_conf_done(struct tls_gateway_conf *conf)
{
	for (size_t i = 0; i < conf->count; i++)
		free(conf->entries[i].placeholder);
	free(conf->entries);
	scrub_words_done(&conf->words);
	secrets_done(&conf->secrets);
	rule_set_done(&conf->rules);
}

void exchange_init(struct exchange *exchange, const struct tls_gateway_conf *conf)
{
	*exchange = (struct exchange){ .conf = conf };
}

void exchange_done(struct exchange *exchange)
{
	if (exchange->has_scrub)
		scrub_done(&exchange->scrub);
	exchange->has_scrub = false;
}

bool exchange_is_idle(const struct exchange *exchange)
{
	return exchange->up == UP_HEAD && exchange->down == DOWN_IDLE;
}
