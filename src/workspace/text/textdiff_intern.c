/* SPDX-License-Identifier: Apache-2.0 */
/* Equal lines get equal numbers, so that the search compares integers. */
#include "workspace/text/textdiff_parts.h"

#include "base/core/own.h"

#include <string.h>
#include <sys/auxv.h>

#define PRIME ((UINT64_C(1) << 61) - 1)

/* A line that was seen first at this place. */
struct first_seen {
	uint64_t hash;
	const char *bytes;
	size_t len;
};

struct table {
	uint32_t *slots; /* number + 1, or 0 */
	size_t mask;
	struct first_seen *seen;
	size_t count;
	uint64_t key;
};

/* The kernel's gift to every process: the author of a file cannot know it, and so cannot make lines collide. */
static uint64_t secret_key(void)
{
	uintptr_t random = getauxval(AT_RANDOM);
	uint64_t key = 0;

	if (random)
		memcpy(&key, (const void *)random, sizeof(key));
	return key % (PRIME - 2) + 2;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);

	return sum >= PRIME ? sum - PRIME : sum;
}

/* The line as a polynomial over a prime field, taken at the secret key. Seven bytes are always below the prime. */
static uint64_t hash_line(const char *bytes, size_t len, uint64_t key)
{
	uint64_t hash = multiply(key, len + 1);

	for (size_t at = 0; at < len; at += 7) {
		uint64_t word = 0;

		memcpy(&word, bytes + at, len - at < 7 ? len - at : 7);
		hash = multiply(hash + word, key);
	}
	return hash;
}

/* The field's values are even enough in their low bits only after they are mixed. */
static size_t slot_of(uint64_t hash)
{
	return (size_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 29);
}

static uint32_t number_of(struct table *table, const char *bytes, size_t len)
{
	uint64_t hash = hash_line(bytes, len, table->key);
	size_t slot = slot_of(hash) & table->mask;

	while (table->slots[slot]) {
		const struct first_seen *seen = &table->seen[table->slots[slot] - 1];

		if (seen->hash == hash && seen->len == len && memcmp(seen->bytes, bytes, len) == 0)
			return table->slots[slot] - 1;
		slot = (slot + 1) & table->mask;
	}
	table->seen[table->count] = (struct first_seen){ hash, bytes, len };
	table->slots[slot] = (uint32_t)++table->count;
	return (uint32_t)table->count - 1;
}

static void grow_seen(struct table *table, size_t *room)
{
	if (table->count < *room)
		return;
	*room = *room ? *room * 2 : 1024;
	table->seen = xrealloc(table->seen, *room, sizeof(*table->seen));
}

static void number_side(struct table *table, struct diff_side *side, size_t *room)
{
	const struct text *text = side->text;

	side->lines = xcalloc(side->count, sizeof(*side->lines));
	side->changed = xcalloc(side->count + 1, sizeof(*side->changed));
	for (size_t i = 0; i < side->count; i++) {
		grow_seen(table, room);
		side->lines[i] = number_of(table, text->bytes + text->starts[i],
					   text->starts[i + 1] - text->starts[i]);
	}
}

void diff_intern(struct diff_pair *pair)
{
	size_t size = 16, room = 0;

	while (size < 2 * (pair->old.count + pair->new.count))
		size *= 2;
	owned(free_ptr) uint32_t *slots = xcalloc(size, sizeof(*slots));
	struct table table = { .slots = slots, .mask = size - 1, .key = secret_key() };

	number_side(&table, &pair->old, &room);
	number_side(&table, &pair->new, &room);
	pair->distinct = table.count;
	free(table.seen);
}
