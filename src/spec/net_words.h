/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network words: what people write behind --allow and --deny, in `allow:` of a profile, over MCP and behind the verbs,
 * as the rules they stand for ([udp:]HOST:PORTS, see net/rule/policy.h). Only texts: whether each is a rule, plan finds out.
 *
 *   example.org,pypi.example.net:8443    several, by comma; without a port 443 and 80, to deny every port
 *   https://example.org/                 a URL without a path
 *   localhost:5432                       a server of this machine; the port is required
 *   @pypi                                the hosts of a registry as it is configured here (app/preset/preset.h)
 *   net:egress:RULE                      as the verbs had it first
 *   http:GET,HEAD:example.org:80/a,b     a rule about requests goes to the end of the word, commas included
 */
#ifndef SPEC_NET_WORDS_H
#define SPEC_NET_WORDS_H

#include "base/core/error.h"
#include "base/core/str.h"

/* Appends the rules of WORD. WHERE names the place ("--allow") in errors. On failure RULES is as it was. */
int net_words_expand(const char *word, bool is_deny, const char *where, struct strv *rules,
		     struct error *err);

#endif
