/* SPDX-License-Identifier: Apache-2.0 */
/* The section `network` of srt's settings: domains as rules. */
#include "base/core/own.h"
#include "profile/srt_parts.h"
#include "spec/net_words.h"

#include <string.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*:[]"
#define NO_DOMAIN "is no domain: a host, *.host, with :port behind it"

static int check_domain(const struct srt_reader *reader, const struct value *item, const char *key)
{
	if (!value_is_word(item))
		return srt_refuse(reader, item, key, "has an entry that is not a text");
	if (strspn(item->text.bytes, NAME_LETTERS) != item->text.len)
		return srt_refuse(reader, item, key, NO_DOMAIN);
	return 0;
}

/* What the entry stands for as a word behind --allow or --deny. */
static int take_word(struct srt_reader *reader, const struct value *item, const char *key,
		     const char *word, bool is_deny)
{
	struct strv *rules = is_deny ? &reader->settings->deny : &reader->settings->allow;
	struct error ignored;

	if (net_words_expand(word, is_deny, key, rules, &ignored) < 0)
		return srt_refuse(reader, item, key, NO_DOMAIN);
	return 0;
}

/* Without a port srt means any; here the web's two are opened, and others by name. */
static int take_allowed(struct srt_reader *reader, const struct value *item, const char *key)
{
	if (check_domain(reader, item, key) < 0)
		return -1;
	const char *entry = item->text.bytes;

	if (strcmp(entry, "*") == 0 || str_starts(entry, "*:"))
		return srt_refuse(reader, item, key, "allows everything: name the domains");
	if (strncmp(entry, "localhost", 9) == 0 || str_starts(entry, "127."))
		return srt_refuse(reader, item, key,
				  "is the sandbox's own here: take it out, and reach a server of "
				  "this machine with --allow host.local:PORT");
	return take_word(reader, item, key, entry, false);
}

static int take_denied(struct srt_reader *reader, const struct value *item, const char *key)
{
	if (check_domain(reader, item, key) < 0)
		return -1;
	if (strcmp(item->text.bytes, "*") != 0)
		return take_word(reader, item, key, item->text.bytes, true);
	return take_word(reader, item, key, "0.0.0.0/0,[::/0]", true);
}

static int take_denied_address(struct srt_reader *reader, const struct value *item, const char *key)
{
	if (!value_is_word(item))
		return srt_refuse(reader, item, key, "has an entry that is not a text");
	const char *entry = item->text.bytes;
	/* An IPv6 address stands in brackets in front of ports. */
	bool is_bare = strchr(entry, ':') && entry[0] != '[';

	if (strspn(entry, "0123456789abcdefABCDEF.:/[]") != item->text.len)
		return srt_refuse(reader, item, key, "is no address and no CIDR");
	owned(free_ptr) char *word =
		xasprintf("%s%s%s", is_bare ? "[" : "", entry, is_bare ? "]" : "");

	return take_word(reader, item, key, word, true);
}

#define DROP_PROXY "the gateway of aisbx is the only way out; take it out of the file"
#define DROP_REWRITE "aisbx looks at names and ports, not into connections; take it out of the file"

const struct srt_key srt_network_keys[] = {
	{ "allowedDomains", SRT_LIST, take_allowed, NULL },
	{ "deniedDomains", SRT_LIST, take_denied, NULL },
	{ "deniedResolvedAddresses", SRT_LIST, take_denied_address, NULL },
	{ "deniedDomainReasons", SRT_IDLE, NULL, NULL },
	{ "strictAllowlist", SRT_IDLE, NULL, NULL },
	{ "allowLocalBinding", SRT_IDLE, NULL, NULL },
	{ "allowMachLookup", SRT_IDLE, NULL, NULL },
	{ "allowAllDomains", SRT_NOT_GIVEN, NULL, NULL },
	{ "allowUnixSockets", SRT_NOT_GIVEN, NULL, NULL },
	{ "allowAllUnixSockets", SRT_NOT_GIVEN, NULL, NULL },
	{ "allowPlaintextHeaderSet", SRT_NOT_GIVEN, NULL, NULL },
	{ "httpProxyPort", SRT_REFUSED, NULL, DROP_PROXY },
	{ "socksProxyPort", SRT_REFUSED, NULL, DROP_PROXY },
	{ "parentProxy", SRT_REFUSED, NULL, DROP_PROXY },
	{ "mitmProxy", SRT_REFUSED, NULL, DROP_REWRITE },
	{ "tlsTerminate", SRT_REFUSED, NULL, DROP_REWRITE },
	{ "stripResponseHeaders", SRT_REFUSED, NULL, DROP_REWRITE },
	{ "refuseOpaqueTunnels", SRT_REFUSED, NULL, DROP_REWRITE },
	{ "requireHostMatch", SRT_REFUSED, NULL, DROP_REWRITE },
	{ "filterRequest", SRT_REFUSED, NULL, DROP_REWRITE },
	{ .name = NULL },
};
