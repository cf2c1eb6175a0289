/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses were answers to which names, and until when that counts. */
#include "net/rule/pins.h"

#include "base/core/clock.h"
#include "base/core/str.h"

#include <stdlib.h>
#include <string.h>

static void drop_old(struct pins *pins)
{
	uint64_t now = clock_now_ns();
	size_t kept = 0;

	for (size_t i = 0; i < pins->count; i++) {
		if (pins->items[i].expires_ns > now)
			pins->items[kept++] = pins->items[i];
		else
			free(pins->items[i].name);
	}
	pins->count = kept;
}

bool pins_add(struct pins *pins, const struct net_address *address, const char *name,
	      uint64_t expires_ns)
{
	for (size_t i = 0; i < pins->count; i++) {
		struct pin *pin = &pins->items[i];

		if (!net_address_equal(&pin->address, address) || strcmp(pin->name, name) != 0)
			continue;
		if (pin->expires_ns < expires_ns)
			pin->expires_ns = expires_ns;
		return true;
	}
	if (pins->count == PINS_MAX)
		drop_old(pins);
	if (pins->count == PINS_MAX)
		return false;
	if (pins->count >= pins->room) {
		pins->room = pins->room ? 2 * pins->room : 16;
		pins->items = xrealloc(pins->items, pins->room, sizeof(*pins->items));
	}
	pins->items[pins->count++] = (struct pin){ *address, xstrdup(name), expires_ns };
	return true;
}

const char *pins_next(const struct pins *pins, const struct net_address *address, uint64_t now_ns,
		      size_t *at)
{
	while (*at < pins->count) {
		const struct pin *pin = &pins->items[(*at)++];

		if (pin->expires_ns > now_ns && net_address_equal(&pin->address, address))
			return pin->name;
	}
	return NULL;
}

const struct net_address *pins_next_address(const struct pins *pins, const char *name,
					    uint64_t now_ns, size_t *at)
{
	while (*at < pins->count) {
		const struct pin *pin = &pins->items[(*at)++];

		if (pin->expires_ns > now_ns && strcmp(pin->name, name) == 0)
			return &pin->address;
	}
	return NULL;
}
