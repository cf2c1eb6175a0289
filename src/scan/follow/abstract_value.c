/* SPDX-License-Identifier: Apache-2.0 */
/* Meanings of one text: a bounded store, and the names that have them. */
#include "scan/follow/abstract_value.h"

#include "base/core/str.h"
#include "scan/follow/in_list.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct abstract_value_block {
	struct abstract_value_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

struct name_slot {
	const char *name; /* in a block */
	uint32_t len;
	uint32_t hash;
	const struct abstract_value *value;
};

void abstract_values_init(struct abstract_values *all)
{
	*all = (struct abstract_values){ 0 };
}

void abstract_values_done(struct abstract_values *all)
{
	while (all->blocks) {
		struct abstract_value_block *next = all->blocks->next;

		free(all->blocks);
		all->blocks = next;
	}
	free(all->slots);
	abstract_values_init(all);
}

/* NULL when the store is full. */
static void *store(struct abstract_values *all, size_t size)
{
	struct abstract_value_block *block = all->blocks;
	void *place;

	size = (size + 15) & ~(size_t)15;
	if (all->bytes + size > ABSTRACT_BYTES_MAX) {
		all->is_full = true;
		return NULL;
	}
	if (!block || block->used + size > block->size) {
		size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		block = xmalloc(sizeof(*block) + room);
		*block = (struct abstract_value_block){ .next = all->blocks, .size = room };
		all->blocks = block;
	}
	place = block->bytes + block->used;
	block->used += size;
	all->bytes += size;
	return place;
}

static const char *store_text(struct abstract_values *all, const char *text, size_t len)
{
	char *copy = store(all, len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

struct abstract_value *abstract_new(struct abstract_values *all, enum abstract_kind kind,
				    const char *text, size_t len)
{
	size_t most = kind == ABSTRACT_PATH ? ABSTRACT_PATH_MAX : ABSTRACT_TEXT_MAX;
	struct abstract_value *value;
	const char *copy;

	if (len > most)
		return NULL;
	value = store(all, sizeof(*value));
	copy = store_text(all, text, len);
	if (!value || !copy)
		return NULL;
	*value = (struct abstract_value){ .kind = kind, .text = copy, .len = (uint32_t)len };
	return value;
}

struct abstract_value *abstract_number(struct abstract_values *all, int64_t number)
{
	struct abstract_value *value = store(all, sizeof(*value));

	if (value)
		*value = (struct abstract_value){ .kind = ABSTRACT_NUMBER,
						  .text = "",
						  .number = number };
	return value;
}

struct abstract_value *abstract_list(struct abstract_values *all, uint32_t node)
{
	struct abstract_value *value = store(all, sizeof(*value));

	if (value)
		*value = (struct abstract_value){ .kind = ABSTRACT_LIST, .text = "", .node = node };
	return value;
}

/* Names of the place where all names live add nothing. */
static bool is_ground(const struct abstract_value *of)
{
	return in_list_bytes(
		"builtins __builtins__ globalThis global self frames top window self() "
		"__builtin__",
		of->text, of->len);
}

struct abstract_value *abstract_member(struct abstract_values *all, const struct abstract_value *of,
				       const char *name, size_t len)
{
	char path[ABSTRACT_PATH_MAX + 2];
	struct abstract_value *value;
	size_t before = is_ground(of) ? 0 : of->len;

	/* What makes functions, reached from one. */
	if (len == strlen("constructor") && memcmp(name, "constructor", len) == 0 &&
	    strcmp(of->text, ABSTRACT_FUNCTION) == 0) {
		value = abstract_new(all, ABSTRACT_PATH, "Function", strlen("Function"));
		if (value)
			value->is_built = true;
		return value;
	}
	if (before + len + 1 > ABSTRACT_PATH_MAX)
		return NULL;
	memcpy(path, of->text, before);
	if (before)
		path[before++] = '.';
	memcpy(path + before, name, len);
	value = abstract_new(all, ABSTRACT_PATH, path, before + len);
	if (value)
		value->is_built = of->is_built;
	return value;
}

static bool is_same(const struct abstract_value *one, const struct abstract_value *other)
{
	return one->kind == other->kind && one->len == other->len && one->number == other->number &&
	       one->node == other->node && memcmp(one->text, other->text, one->len) == 0;
}

static const struct abstract_value *find_same(const struct abstract_value *chain,
					      const struct abstract_value *one)
{
	while (chain && !is_same(chain, one))
		chain = chain->also;
	return chain;
}

static unsigned length(const struct abstract_value *chain)
{
	unsigned count = 0;

	for (; chain; chain = chain->also)
		count++;
	return count;
}

/* The chain with ONE in front of it; the chain as it is when there is no room. */
static const struct abstract_value *put(struct abstract_values *all,
					const struct abstract_value *chain,
					const struct abstract_value *one)
{
	struct abstract_value *copy = store(all, sizeof(*copy));

	if (!copy)
		return chain;
	*copy = *one;
	copy->also = chain;
	return copy;
}

static unsigned weight(const struct abstract_values *all, const struct abstract_value *one)
{
	if (one->weight > 0)
		return one->weight - 1u;
	return all->severity ? all->severity(one) : 0;
}

/* The least grave of a chain, of several such the oldest; NULL when all are graver than ONE. */
static const struct abstract_value *lightest(const struct abstract_values *all,
					     const struct abstract_value *chain,
					     const struct abstract_value *one)
{
	const struct abstract_value *least = NULL;
	unsigned most = weight(all, one);

	for (; chain; chain = chain->also) {
		/* Paths have more room, and keep it. */
		if ((chain->kind == ABSTRACT_PATH) == (one->kind == ABSTRACT_PATH) &&
		    weight(all, chain) <= most) {
			least = chain;
			most = weight(all, chain);
		}
	}
	return least;
}

/* The chain without OUT, in the same order; chains are shared, so the old one stays. */
static const struct abstract_value *without(struct abstract_values *all,
					    const struct abstract_value *chain,
					    const struct abstract_value *out)
{
	const struct abstract_value *kept[2 * ABSTRACT_ALSO_MAX], *made = NULL;
	unsigned count = 0;

	for (; chain && count < 2 * ABSTRACT_ALSO_MAX; chain = chain->also) {
		if (chain != out)
			kept[count++] = chain;
	}
	while (count > 0)
		made = put(all, made, kept[--count]);
	return made;
}

static const struct abstract_value *put_more(struct abstract_values *all,
					     const struct abstract_value *chain,
					     const struct abstract_value *one)
{
	struct abstract_value more = *one;

	more.has_more = true;
	more.weight = (uint8_t)(weight(all, one) + 1);
	return put(all, chain, &more);
}

static const struct abstract_value *mark_more(struct abstract_values *all,
					      const struct abstract_value *chain)
{
	return abstract_has_more(chain) ? chain : put_more(all, chain->also, chain);
}

/* There is no room for ONE: it takes the place of a lighter one, or it is only known that there is more. */
static const struct abstract_value *crowd(struct abstract_values *all,
					  const struct abstract_value *chain,
					  const struct abstract_value *one)
{
	const struct abstract_value *out;

	/* What it meant last stays first: a text is made longer step by step. */
	if (chain->kind == one->kind && weight(all, chain) <= weight(all, one))
		return put_more(all, chain->also, one);
	out = lightest(all, chain, one);
	return out ? put_more(all, without(all, chain, out), one) : mark_more(all, chain);
}

const struct abstract_value *abstract_both(struct abstract_values *all,
					   const struct abstract_value *one,
					   const struct abstract_value *other)
{
	const struct abstract_value *chain = one, *others[2 * ABSTRACT_ALSO_MAX];
	unsigned count = 0;

	if (!one || !other)
		return one ? one : other;
	for (; other && count < 2 * ABSTRACT_ALSO_MAX; other = other->also)
		others[count++] = other;
	/* From the end on, so that what comes first stays first. */
	while (count > 0) {
		const struct abstract_value *next = others[--count];
		unsigned most =
			next->kind == ABSTRACT_PATH ? 2 * ABSTRACT_ALSO_MAX : ABSTRACT_ALSO_MAX;

		if (!find_same(chain, next))
			chain = length(chain) < most ? put(all, chain, next)
						     : crowd(all, chain, next);
		else if (next->has_more)
			chain = mark_more(all, chain);
	}
	return chain;
}

bool abstract_has_more(const struct abstract_value *value)
{
	while (value && !value->has_more)
		value = value->also;
	return value != NULL;
}

const struct abstract_value *abstract_next(const struct abstract_value *one)
{
	return abstract_of_kind(one->also, one->kind);
}

const struct abstract_value *abstract_of_kind(const struct abstract_value *value,
					      enum abstract_kind kind)
{
	while (value && value->kind != kind)
		value = value->also;
	return value;
}

bool abstract_is_text(const struct abstract_value *value, const char *text)
{
	const struct abstract_value *one = abstract_of_kind(value, ABSTRACT_TEXT);

	return one && strcmp(one->text, text) == 0;
}

static uint32_t hash_of(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return hash;
}

/* The slot of the name, or the free one where it would go. */
static struct name_slot *find_slot(const struct abstract_values *all, const char *name, size_t len,
				   uint32_t hash)
{
	uint32_t at = hash & (all->slot_count - 1);

	while (all->slots[at].name && (all->slots[at].hash != hash || all->slots[at].len != len ||
				       memcmp(all->slots[at].name, name, len) != 0))
		at = (at + 1) & (all->slot_count - 1);
	return &all->slots[at];
}

static void grow(struct abstract_values *all)
{
	struct abstract_values old = *all;

	all->slot_count = old.slot_count ? old.slot_count * 2 : 256;
	all->slots = xcalloc(all->slot_count, sizeof(*all->slots));
	for (uint32_t i = 0; i < old.slot_count; i++) {
		const struct name_slot *slot = &old.slots[i];

		if (slot->name)
			*find_slot(all, slot->name, slot->len, slot->hash) = *slot;
	}
	free(old.slots);
}

/* The slot of the name, which gets one when it is new; NULL when it is no name, or all is full. */
static struct name_slot *make_slot(struct abstract_values *all, const char *name, size_t len)
{
	uint32_t hash = hash_of(name, len);
	struct name_slot *slot;

	if (len == 0 || len > ABSTRACT_PATH_MAX)
		return NULL;
	if (all->name_count * 2 >= all->slot_count)
		grow(all);
	slot = find_slot(all, name, len, hash);
	if (!slot->name) {
		const char *copy = store_text(all, name, len);

		if (!copy)
			return NULL;
		*slot = (struct name_slot){ .name = copy, .len = (uint32_t)len, .hash = hash };
		all->name_count++;
	}
	return slot;
}

/* The chain with the text ONE, which is in it, in front: what a name was given last it means first. */
static const struct abstract_value *latest(struct abstract_values *all,
					   const struct abstract_value *chain,
					   const struct abstract_value *one)
{
	const struct abstract_value *found =
		one && one->kind == ABSTRACT_TEXT ? find_same(chain, one) : NULL;

	if (!found || found == chain)
		return chain;
	return put(all, without(all, chain, found), found);
}

void abstract_values_define(struct abstract_values *all, const char *name, size_t len,
			    const struct abstract_value *value)
{
	struct name_slot *slot = make_slot(all, name, len);

	if (slot)
		slot->value = latest(all, abstract_both(all, slot->value, value), value);
	/* A name that is too long to be kept, for something that may be called. */
	else if (len > ABSTRACT_PATH_MAX && abstract_of_kind(value, ABSTRACT_PATH))
		all->is_full = true;
}

void abstract_values_replace(struct abstract_values *all, const char *name, size_t len,
			     const struct abstract_value *value)
{
	struct name_slot *slot = make_slot(all, name, len);

	if (slot && value)
		slot->value = value;
}

bool abstract_values_look_up(const struct abstract_values *all, const char *name, size_t len,
			     const struct abstract_value **ret_meaning)
{
	const struct name_slot *slot;

	*ret_meaning = NULL;
	if (all->slot_count == 0 || len == 0)
		return false;
	slot = find_slot(all, name, len, hash_of(name, len));
	*ret_meaning = slot->value;
	return slot->name != NULL;
}
