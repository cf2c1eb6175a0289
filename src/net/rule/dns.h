/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages: what programs inside ask, what they are answered, and our own questions to the host's servers. */
#ifndef NET_DNS_H
#define NET_DNS_H

#include "net/rule/address.h"
#include "net/rule/policy.h"

#include <stddef.h>
#include <stdint.h>

#define DNS_MESSAGE_MAX 512
/* Header, the longest name, type and class. */
#define DNS_QUESTION_MAX (12 + 255 + 4)
#define DNS_ADDRESSES_MAX 16

enum {
	DNS_TYPE_A = 1,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_SRV = 33
};
enum {
	DNS_OK = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5
};

/* A question, as asked: its bytes are sent back with the answer. */
struct dns_query {
	uint8_t bytes[DNS_QUESTION_MAX]; /* header and question */
	size_t len;
	bool has_name;		  /* the labels are a name in canonical form */
	char name[NET_NAME_SIZE]; /* that, or "" */
	uint16_t type;
};

/*
 * 0 with exactly one question of the internet's class in a standard query. Else the code to answer with, and LEN is
 * that of the header; or -1 for what gets no answer at all (too short, or itself an answer).
 */
int dns_parse_query(const uint8_t *message, size_t len, struct dns_query *ret_query);

/* Addresses for one name. */
struct dns_answer {
	int code;
	struct net_address addresses[DNS_ADDRESSES_MAX];
	size_t count;
	uint32_t ttl; /* the shortest of all that led here */
	bool is_cut;  /* the server had more to say than fits a datagram */
};

/* Writes an answer to QUERY. Its length; it always fits. */
size_t dns_build_answer(const struct dns_query *query, const struct dns_answer *answer,
			uint8_t out[static DNS_MESSAGE_MAX]);

/* A question about a canonical name. Its length. */
size_t dns_build_query(const char *name, uint16_t type, uint16_t id,
		       uint8_t out[static DNS_QUESTION_MAX]);

/*
 * Reads an answer to exactly that question; aliases are followed within the message. Never more than its limits,
 * whatever the bytes say. 0, or -1 when it is none or makes no sense.
 */
int dns_parse_answer(const uint8_t *message, size_t len, const struct dns_query *asked,
		     struct dns_answer *ret_answer);

#endif
