/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses were answers to which names, and until when that counts. */
#ifndef NET_PINS_H
#define NET_PINS_H

#include "net/rule/address.h"

#include <stddef.h>
#include <stdint.h>

#define PINS_MAX 16384

struct pin {
	struct net_address address;
	char *name;
	uint64_t expires_ns;
};

struct pins {
	struct pin *items;
	size_t count, room;
};

/* Remembers, or prolongs. False when there is no room: the answer must not be given then. */
bool pins_add(struct pins *pins, const struct net_address *address, const char *name,
	      uint64_t expires_ns);

/* The next name of an address that counts at NOW_NS; *AT starts at 0. NULL at the end. */
const char *pins_next(const struct pins *pins, const struct net_address *address, uint64_t now_ns,
		      size_t *at);

/* The next address of a name that counts at NOW_NS, likewise. */
const struct net_address *pins_next_address(const struct pins *pins, const char *name,
					    uint64_t now_ns, size_t *at);

#endif
