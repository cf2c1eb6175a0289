/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses as text. Not inet_ntop: musl's takes the run of zeros that is the longest as text, which need not be the
 * longest, and writes ::1.2.3.4 as ::102:304. A denial names an address by what a rule would.
 */
#include "base/text/ip_text.h"

#include <stdio.h>

#define GROUPS 8u

struct run {
	unsigned from, count;
};

static void write_v4(const uint8_t *bytes, char *out, size_t size)
{
	(void)snprintf(out, size, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
}

void ip_text_v4(const uint8_t bytes[static 4], char out[static IP_TEXT_SIZE])
{
	write_v4(bytes, out, IP_TEXT_SIZE);
}

static unsigned group(const uint8_t *bytes, unsigned index)
{
	return (unsigned)bytes[2 * index] << 8 | bytes[2 * index + 1];
}

/* One zero alone is no run. */
static struct run longest(const uint8_t *bytes)
{
	struct run best = { GROUPS, 1 }, now = { 0, 0 };

	for (unsigned i = 0; i < GROUPS; i++) {
		if (group(bytes, i) != 0) {
			now = (struct run){ i + 1, 0 };
			continue;
		}
		if (++now.count > best.count)
			best = now;
	}
	return best;
}

void ip_text_v6(const uint8_t bytes[static 16], char out[static IP_TEXT_SIZE])
{
	struct run zeros = longest(bytes);
	size_t used = 0;

	for (unsigned i = 0; i < GROUPS; i++) {
		if (i == zeros.from) {
			used += (size_t)snprintf(out + used, IP_TEXT_SIZE - used, i ? ":" : "::");
			i += zeros.count - 1;
			continue;
		}
		if (i == 6 && zeros.from == 0 &&
		    (zeros.count == 6 || (zeros.count == 5 && group(bytes, 5) == 0xffff))) {
			write_v4(bytes + 12, out + used, IP_TEXT_SIZE - used);
			return;
		}
		used += (size_t)snprintf(out + used, IP_TEXT_SIZE - used, "%x%s", group(bytes, i),
					 i + 1 < GROUPS ? ":" : "");
	}
}
