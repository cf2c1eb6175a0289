/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes DNS messages, as questions from inside and as answers from outside. */
#include "net/rule/dns.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_query query;
	struct dns_answer answer = { .ttl = 1 };
	uint8_t out[DNS_MESSAGE_MAX];

	if (dns_parse_query(data, size, &query) >= 0) {
		for (size_t i = 0; i < DNS_ADDRESSES_MAX; i++)
			answer.addresses[answer.count++].is_v6 = true;
		if (query.len > DNS_QUESTION_MAX || strlen(query.name) >= NET_NAME_SIZE ||
		    dns_build_answer(&query, &answer, out) > DNS_MESSAGE_MAX)
			abort();
	}
	/* As an answer to what it itself asks: the furthest a stranger can get. */
	if (size >= 12) {
		uint8_t copy[DNS_MESSAGE_MAX];
		size_t len = size < sizeof(copy) ? size : sizeof(copy);

		memcpy(copy, data, len);
		copy[2] &= 0x07;
		if (dns_parse_query(copy, len, &query) == 0 &&
		    dns_parse_answer(data, size, &query, &answer) == 0 &&
		    answer.count > DNS_ADDRESSES_MAX)
			abort();
	}
	return 0;
}
