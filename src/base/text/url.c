/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of configuration files: host and port, and the URL without its user info. */
#include "base/text/url.h"

#include "base/core/str.h"

#include <ctype.h>
#include <string.h>

#define BETWEEN " \t\r\n,|"
#define TOKEN_MIN 20

/* Length of "[KIND+]http[s]://" in front of TEXT; 0 when it is not there. */
static size_t scheme_length(const char *text, size_t len, bool *ret_is_tls)
{
	const char *colon = memchr(text, ':', len);
	const char *scheme = text;

	if (!colon || (size_t)(text + len - colon) < 3 || memcmp(colon, "://", 3) != 0)
		return 0;
	for (const char *at = text; at < colon; at++) {
		if (*at == '+')
			scheme = at + 1;
		else if (!isalpha((unsigned char)*at))
			return 0;
	}
	size_t name = (size_t)(colon - scheme);

	*ret_is_tls = name == 5 && strncasecmp(scheme, "https", 5) == 0;
	if (!*ret_is_tls && !(name == 4 && strncasecmp(scheme, "http", 4) == 0))
		return 0;
	return (size_t)(colon - text) + 3;
}

static bool parse_port(const char *text, size_t len, uint16_t *ret_port)
{
	unsigned value = 0;

	if (len == 0 || len > 5)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	*ret_port = (uint16_t)value;
	return value >= 1 && value <= 65535;
}

/* HOST[:PORT], all of it. */
static bool parse_place(const char *text, size_t len, struct url *url)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
	const char *close = len > 0 && text[0] == '[' ? memchr(text, ']', len) : NULL;
	const char *colon =
		memchr(close ? close : text, ':', len - (close ? (size_t)(close - text) : 0));
	size_t host = colon ? (size_t)(colon - text) : len;

	if (host == 0 || host >= URL_HOST_SIZE || (close && close + 1 != text + host))
		return false;
	if (colon && !parse_port(colon + 1, len - host - 1, &url->port))
		return false;
	for (size_t i = 0; i < host; i++)
		url->host[i] = (char)tolower((unsigned char)text[i]);
	url->host[host] = '\0';
	if (close)
		return strspn(url->host + 1, "0123456789abcdef:.") == host - 2;
	return strspn(url->host, letters) == host;
}

bool url_parse(const char *text, size_t len, struct url *ret_url)
{
	struct url url = { .user_len = 0 };
	size_t start = scheme_length(text, len, &url.is_tls), end;

	if (start == 0 || len >= URL_SIZE)
		return false;
	for (end = start; end < len && text[end] != '/'; end++)
		;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c <= ' ' || c >= 0x7f || strchr("\\\"'`<>?#", c) || (c == '@' && i >= end))
			return false;
	}
	const char *at = memrchr(text + start, '@', end - start);

	url.user_at = start;
	url.user_len = at ? (size_t)(at + 1 - text) - start : 0;
	start += url.user_len;
	url.port = url.is_tls ? 443 : 80;
	if (!parse_place(text + start, end - start, &url))
		return false;
	*ret_url = url;
	return true;
}

/* Whether a part behind the host is as long as a token, and mixes letters and digits as one does. */
static bool may_have_token(const char *word, size_t len)
{
	const char *host = memmem(word, len, "://", 3), *end = word + len;
	size_t letters = 0, digits = 0, run = 0;

	if (!host)
		return false;
	for (const char *at = host + 3; at < end; at++) {
		if (strchr("/?&=#", *at)) {
			letters = digits = run = 0;
			host = NULL;
			continue;
		}
		run++;
		digits += *at >= '0' && *at <= '9';
		letters += (*at | 0x20) >= 'a' && (*at | 0x20) <= 'z';
		if (!host && run >= TOKEN_MIN && letters > 0 && digits > 0)
			return true;
	}
	return false;
}

char *url_list_without_users(const char *text)
{
	struct str out = STR_INIT;

	while (*text) {
		size_t between = strspn(text, BETWEEN), len = strcspn(text + between, BETWEEN);
		const char *word = text + between;
		struct url url = { .user_len = 0 };

		if ((memmem(word, len, "://", 3) || memchr(word, '@', len)) &&
		    (!url_parse(word, len, &url) || may_have_token(word, len))) {
			str_done(&out);
			return NULL;
		}
		str_add_bytes(&out, text, between + url.user_at);
		str_add_bytes(&out, word + url.user_at + url.user_len,
			      len - url.user_at - url.user_len);
		text = word + len;
	}
	return str_detach(&out);
}
