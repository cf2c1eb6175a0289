/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stored secret is put into requests. */
#include "net/rule/inject.h"

#include "base/core/own.h"
#include "net/rule/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int refuse(const char *word, const char *why, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	error_set(err, ERROR_USAGE, "--inject %s: %s", str_shown(word, shown), why);
	return error_add_hint(err, "use HOST[:PORT]:HOW=NAME, or http:HOST:PORT:HOW=NAME for plain "
				   "HTTP, HOW a header, bearer, basic, "
				   "basic/USER or query/PARAMETER");
}

static bool take_prefix(const char **how, size_t *len, const char *prefix)
{
	size_t prefix_len = strlen(prefix);

	if (*len <= prefix_len || memcmp(*how, prefix, prefix_len) != 0)
		return false;
	*how += prefix_len;
	*len -= prefix_len;
	return true;
}

static bool is_word(const char *how, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(how, word, len) == 0;
}

/* False for what is none of them. */
static bool read_how(const char *how, size_t len, struct inject *inject)
{
	inject->how = INJECT_HEADER;
	if (is_word(how, len, "bearer") || is_word(how, len, "basic")) {
		inject->how = how[1] == 'e' ? INJECT_BEARER : INJECT_BASIC;
		return true;
	}
	if (take_prefix(&how, &len, "basic/"))
		inject->how = INJECT_BASIC;
	else if (take_prefix(&how, &len, "query/"))
		inject->how = INJECT_QUERY;
	else if (take_prefix(&how, &len, "$"))
		inject->how = INJECT_PLACEHOLDER;
	if (len >= sizeof(inject->detail) || !http_is_token(how, len))
		return false;
	memcpy(inject->detail, how, len);
	inject->detail[len] = '\0';
	return inject->how != INJECT_HEADER || !http_header_frames(inject->detail, len);
}

/* The PORT in front of HOW, where there is one. */
static bool read_port(const char **at, uint16_t *ret_port)
{
	char *end;
	unsigned long port = strtoul(*at, &end, 10);

	*ret_port = NET_TLS_PORT;
	if (**at < '0' || **at > '9' || *end != ':')
		return true;
	*ret_port = (uint16_t)port;
	*at = end + 1;
	return port >= 1 && port <= 65535;
}

int inject_parse(const char *word, struct inject *ret_inject, struct error *err)
{
	struct inject inject = { .is_plain = str_starts(word, INJECT_PLAIN) };
	const char *host = word + (inject.is_plain ? strlen(INJECT_PLAIN) : 0);
	const char *colon = strchr(host, ':'), *equals = strchr(host, '='), *how;

	if (!colon || !equals || equals < colon || !equals[1])
		return refuse(word, "not a place, a way and the name of a secret", err);
	how = colon + 1;
	inject.secret = equals + 1;
	if (!net_name_canonical(host, (size_t)(colon - host), inject.host))
		return refuse(word, "HOST is the name of a host", err);
	if (!read_port(&how, &inject.port) || how > equals)
		return refuse(word, "PORT is a number from 1 to 65535", err);
	if (inject.is_plain && inject.port == NET_TLS_PORT)
		return refuse(word, "plain HTTP needs a PORT, other than 443", err);
	if (!read_how(how, (size_t)(equals - how), &inject))
		return refuse(word, "no header that a secret can be put into", err);
	*ret_inject = inject;
	return 0;
}

char *inject_env_word(const char *text)
{
	const char *equals = strchrnul(text, '='), *at = strchrnul(equals, '@');

	return xasprintf("%s:$%.*s=%.*s", *at ? at + 1 : "", (int)(equals - text), text,
			 (int)(at - equals) - (*equals != '\0'), *equals ? equals + 1 : equals);
}

static const char *how_words[] = { [INJECT_HEADER] = "",
				   [INJECT_BASIC] = "basic",
				   [INJECT_BEARER] = "bearer",
				   [INJECT_QUERY] = "query",
				   [INJECT_PLACEHOLDER] = "$" };

enum net_answer inject_answer(const struct inject *inject, const struct net_policy *policy)
{
	const struct net_port port = { .number = inject->port };
	const char *ignored;

	return net_policy_name(policy, inject->host, port, &ignored);
}

/* The header it goes into; NULL where it goes into none. */
static const char *header_of(const struct inject *inject)
{
	if (inject->how == INJECT_HEADER)
		return inject->detail;
	return inject->how == INJECT_BASIC || inject->how == INJECT_BEARER ? "Authorization" : NULL;
}

bool inject_is_same_place(const char *word, const char *other)
{
	struct inject a, b;
	struct error ignored;

	if (inject_parse(word, &a, &ignored) < 0 || inject_parse(other, &b, &ignored) < 0)
		return false;
	/* A variable is one for all hosts. */
	if (a.how == INJECT_PLACEHOLDER || b.how == INJECT_PLACEHOLDER)
		return a.how == b.how && strcmp(a.detail, b.detail) == 0 &&
		       (strcmp(a.secret, b.secret) != 0 ||
			(a.port == b.port && strcmp(a.host, b.host) == 0));
	if (a.port != b.port || strcmp(a.host, b.host) != 0)
		return false;
	if (header_of(&a) && header_of(&b))
		return strcasecmp(header_of(&a), header_of(&b)) == 0;
	return a.how == b.how && strcmp(a.detail, b.detail) == 0;
}

int inject_plan(const char *word, const struct net_policy *policy, char **ret_word,
		struct error *err)
{
	struct inject inject;
	bool has_slash;

	if (inject_parse(word, &inject, err) < 0)
		return -1;
	if (inject_answer(&inject, policy) != NET_ALLOWED) {
		error_set(err, ERROR_USAGE, "--inject %s:%u: no rule lets requests to it pass",
			  inject.host, inject.port);
		return error_add_hint(err, "add --allow %s:%u", inject.host, inject.port);
	}
	has_slash = inject.detail[0] && (inject.how == INJECT_BASIC || inject.how == INJECT_QUERY);
	*ret_word =
		xasprintf("%c%s%s:%u:%s%s%s=%s", INJECT_MARK, inject.is_plain ? INJECT_PLAIN : "",
			  inject.host, inject.port, how_words[inject.how], has_slash ? "/" : "",
			  inject.detail, inject.secret);
	return 0;
}
