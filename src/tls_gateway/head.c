/* SPDX-License-Identifier: Apache-2.0 */
/* A request's head as it goes on. */
#include "tls_gateway/head.h"

#include "base/core/own.h"
#include "base/text/json_write.h"

#include <string.h>
#include <strings.h>

static bool is_named(const struct http_field *field, const char *name)
{
	return field->name_len == strlen(name) &&
	       strncasecmp(field->name, name, field->name_len) == 0;
}

bool head_asks_upgrade(const char *bytes, const struct http_head *head)
{
	struct http_field field;
	size_t at = 0, count = 0;
	bool is_websocket = true;

	/* Each of them: a server may read any. */
	while (http_next_field(bytes, head, &at, &field)) {
		if (!is_named(&field, "Upgrade"))
			continue;
		count++;
		is_websocket &=
			field.value_len == 9 && strncasecmp(field.value, "websocket", 9) == 0;
	}
	return count == 1 && is_websocket;
}

static bool is_entry_for(const struct exchange *exchange, const struct tls_gateway_entry *entry)
{
	return (exchange->is_tls || entry->inject.is_plain) &&
	       entry->inject.port == exchange->port &&
	       strcmp(entry->inject.host, exchange->host) == 0;
}

bool head_gets_secret(const struct exchange *exchange)
{
	for (size_t i = 0; i < exchange->conf->count; i++) {
		if (is_entry_for(exchange, &exchange->conf->entries[i]))
			return true;
	}
	return false;
}

/* Adds BYTES with the value in place of each placeholder. */
static void add_replaced(const struct exchange *exchange, const char *bytes, size_t len,
			 void (*add)(struct str *, const struct secret *), struct str *out)
{
	for (size_t i = 0; i < len;) {
		const struct tls_gateway_entry *found = NULL;

		for (size_t j = 0; j < exchange->conf->count && !found; j++) {
			const struct tls_gateway_entry *entry = &exchange->conf->entries[j];

			if (entry->placeholder && is_entry_for(exchange, entry) &&
			    entry->secret->text_len <= len - i &&
			    memcmp(bytes + i, entry->placeholder, entry->secret->text_len) == 0)
				found = entry;
		}
		if (found)
			add(out, found->secret);
		else
			str_add_char(out, bytes[i]);
		i += found ? found->secret->text_len : 1;
	}
}

static void add_value(struct str *out, const struct secret *secret)
{
	str_add_bytes(out, secret->bytes, secret->text_len);
}

static void add_escaped(struct str *out, const struct secret *secret)
{
	for (size_t i = 0; i < secret->text_len; i++) {
		char c = secret->bytes[i];

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c && strchr("-._~", c)))
			str_add_char(out, c);
		else
			str_addf(out, "%%%02X", (unsigned char)c);
	}
}

static void wipe(struct str *text)
{
	if (text->data)
		explicit_bzero(text->data, text->cap);
	str_done(text);
}

/* "Basic" with a placeholder in what it encodes. False where there is none. */
static bool add_basic(const struct exchange *exchange, const struct http_field *field,
		      struct str *out)
{
	static const char scheme[] = "Basic ";
	const size_t skip = sizeof(scheme) - 1;
	owned(wipe) struct str text = STR_INIT, changed = STR_INIT;

	if (field->value_len <= skip || strncasecmp(field->value, scheme, skip) != 0 ||
	    !base64_read(&text, field->value + skip, field->value_len - skip))
		return false;
	add_replaced(exchange, str_cstr(&text), text.len, add_value, &changed);
	str_add(out, scheme);
	base64_add(out, changed.data, changed.len);
	return true;
}

static bool is_listed(const struct http_field *field, const char *const *names)
{
	for (; *names; names++) {
		if (is_named(field, *names))
			return true;
	}
	return false;
}

/* Headers that say how this connection is used, or that would bring what cannot be searched for a secret. */
static bool is_dropped(const struct exchange *exchange, const struct http_field *field)
{
	static const char *const ours[] = { "Host", "TE", "Trailer", "HTTP2-Settings", NULL };
	static const char *const packing[] = { "Accept-Encoding", "Sec-WebSocket-Extensions",
					       NULL };

	if (is_listed(field, ours) || (head_gets_secret(exchange) && is_listed(field, packing)))
		return true;
	if (is_named(field, "Upgrade") && !exchange->asks_upgrade)
		return true;
	for (size_t i = 0; i < exchange->conf->count; i++) {
		const struct tls_gateway_entry *entry = &exchange->conf->entries[i];
		bool is_header = entry->inject.how == INJECT_HEADER;

		if (!is_entry_for(exchange, entry) || entry->inject.how == INJECT_QUERY ||
		    entry->inject.how == INJECT_PLACEHOLDER)
			continue;
		if (is_named(field, is_header ? entry->inject.detail : "Authorization"))
			return true;
	}
	return false;
}

static void add_field(const struct exchange *exchange, const struct http_field *field,
		      struct str *out)
{
	str_add_bytes(out, field->name, field->name_len);
	str_add(out, ": ");
	if (http_header_frames(field->name, field->name_len))
		str_add_bytes(out, field->value, field->value_len);
	else if (!is_named(field, "Authorization") || !add_basic(exchange, field, out))
		add_replaced(exchange, field->value, field->value_len, add_value, out);
	str_add(out, "\r\n");
}

static void add_secret(const struct tls_gateway_entry *entry, struct str *out)
{
	const struct inject *inject = &entry->inject;
	owned(wipe) struct str pair = STR_INIT;

	if (inject->how == INJECT_HEADER)
		str_addf(out, "%s: ", inject->detail);
	else
		str_addf(out, "Authorization: %s ",
			 inject->how == INJECT_BASIC ? "Basic" : "Bearer");
	if (inject->how != INJECT_BASIC) {
		add_value(out, entry->secret);
	} else {
		if (inject->detail[0])
			str_addf(&pair, "%s:", inject->detail);
		add_value(&pair, entry->secret);
		base64_add(out, pair.data, pair.len);
	}
	str_add(out, "\r\n");
}

static bool is_injected(const struct exchange *exchange, const char *pair, size_t len)
{
	const char *equals = memchr(pair, '=', len);
	size_t name = equals ? (size_t)(equals - pair) : len;

	for (size_t i = 0; i < exchange->conf->count; i++) {
		const struct tls_gateway_entry *entry = &exchange->conf->entries[i];

		if (entry->inject.how == INJECT_QUERY && is_entry_for(exchange, entry) &&
		    strlen(entry->inject.detail) == name &&
		    memcmp(entry->inject.detail, pair, name) == 0)
			return true;
	}
	return false;
}

/* The target: parameters that are injected in place of those of their names, placeholders in others replaced. */
static void add_target(const struct exchange *exchange, const struct http_head *head,
		       struct str *out)
{
	const char *end = head->path + head->path_len;
	const char *query = memchr(head->path, '?', head->path_len);
	char mark = '?';

	str_add_bytes(out, head->path, (size_t)((query ? query : end) - head->path));
	for (const char *at = query; at && at < end;) {
		const char *pair = at + 1, *next = memchr(pair, '&', (size_t)(end - pair));

		next = next ? next : end;
		if (!is_injected(exchange, pair, (size_t)(next - pair))) {
			str_add_char(out, mark);
			add_replaced(exchange, pair, (size_t)(next - pair), add_escaped, out);
			mark = '&';
		}
		at = next;
	}
	for (size_t i = 0; i < exchange->conf->count; i++) {
		const struct tls_gateway_entry *entry = &exchange->conf->entries[i];

		if (entry->inject.how != INJECT_QUERY || !is_entry_for(exchange, entry))
			continue;
		str_addf(out, "%c%s=", mark, entry->inject.detail);
		add_escaped(out, entry->secret);
		mark = '&';
	}
}

void head_write(const struct exchange *exchange, const char *bytes, const struct http_head *head,
		struct str *out)
{
	struct http_field field;
	size_t at = 0;

	str_add_bytes(out, head->method, head->method_len);
	str_add_char(out, ' ');
	add_target(exchange, head, out);
	str_addf(out, " %.8s\r\nHost: %s", head->version, exchange->host);
	if (head->port)
		str_addf(out, ":%u", head->port);
	str_add(out, "\r\n");
	while (http_next_field(bytes, head, &at, &field)) {
		if (!is_dropped(exchange, &field))
			add_field(exchange, &field, out);
	}
	if (head_gets_secret(exchange))
		str_add(out, "Accept-Encoding: identity\r\n");
	for (size_t i = 0; i < exchange->conf->count; i++) {
		const struct tls_gateway_entry *entry = &exchange->conf->entries[i];

		if (is_entry_for(exchange, entry) && entry->inject.how != INJECT_QUERY &&
		    entry->inject.how != INJECT_PLACEHOLDER)
			add_secret(entry, out);
	}
	str_add(out, "\r\n");
}
