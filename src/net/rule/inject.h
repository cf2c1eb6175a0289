/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a stored secret is put into requests outside of the sandbox: [http:]HOST[:PORT]:HOW=NAME.
 *
 *   HOW              what the request gets
 *   Header-Name      that header, in place of any of that name
 *   bearer           Authorization: Bearer VALUE
 *   basic            Authorization: Basic, of a VALUE that is user:password
 *   basic/USER       the same with VALUE as the password
 *   query/PARAMETER  a parameter of the query
 *   $VARIABLE        VALUE wherever the request has the placeholder that is in that variable inside
 *
 * Without PORT it is 443. Requests get it by TLS; plain ones only with `http:` in front, and a PORT other than 443.
 */
#ifndef NET_INJECT_H
#define NET_INJECT_H

#include "base/core/error.h"
#include "net/rule/policy.h"

/* In a spec's list of secrets, such words begin with it. */
#define INJECT_MARK '@'
#define INJECT_PLAIN "http:"
#define INJECT_DETAIL_SIZE 130

enum inject_how { INJECT_HEADER, INJECT_BASIC, INJECT_BEARER, INJECT_QUERY, INJECT_PLACEHOLDER };

struct inject {
	char host[NET_NAME_SIZE]; /* canonical */
	uint16_t port;
	bool is_plain; /* requests without TLS get it as well */
	enum inject_how how;
	char detail[INJECT_DETAIL_SIZE]; /* header, user, parameter or variable; "" for none */
	const char *secret;		 /* its name; in the word */
};

/* WORD without the mark. */
int inject_parse(const char *word, struct inject *ret_inject, struct error *err);

/* VARIABLE=NAME@[http:]HOST[:PORT] as a word of the form above; the caller frees it. */
char *inject_env_word(const char *text);

/* The word with its mark, canonical; the caller frees it. Refused where POLICY lets no request pass there. */
int inject_plan(const char *word, const struct net_policy *policy, char **ret_word,
		struct error *err);

/* What POLICY says about requests to its host. */
enum net_answer inject_answer(const struct inject *inject, const struct net_policy *policy);

/* Whether both, without their marks, would fill the same header, parameter or variable. */
bool inject_is_same_place(const char *word, const char *other);

#endif
