/* SPDX-License-Identifier: Apache-2.0 */
/* Meanings of one text: a bounded store, and the names that have them. */
#include "scan/follow/meaning.h"

#include "base/str.h"
#include "scan/follow/among.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct meaning_block {
	struct meaning_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

struct name_slot {
	const char *name; /* in a block */
	uint32_t len;
	uint32_t hash;
	const struct meaning *meaning;
};

void meanings_init(struct meanings *all)
{
	*all = (struct meanings){ 0 };
}

void meanings_done(struct meanings *all)
{
	while (all->blocks) {
		struct meaning_block *next = all->blocks->next;

		free(all->blocks);
		all->blocks = next;
	}
	free(all->slots);
	meanings_init(all);
}

/* NULL when the store is full. */
static void *store(struct meanings *all, size_t size)
{
	struct meaning_block *block = all->blocks;
	void *place;

	size = (size + 15) & ~(size_t)15;
	if (all->bytes + size > MEANING_BYTES_MAX) {
		all->is_full = true;
		return NULL;
	}
	if (!block || block->used + size > block->size) {
		size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		block = xmalloc(sizeof(*block) + room);
		*block = (struct meaning_block){ .next = all->blocks, .size = room };
		all->blocks = block;
	}
	place = block->bytes + block->used;
	block->used += size;
	all->bytes += size;
	return place;
}

static const char *store_text(struct meanings *all, const char *text, size_t len)
{
	char *copy = store(all, len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

struct meaning *meaning_new(struct meanings *all, enum meaning_kind kind, const char *text,
			    size_t len)
{
	size_t most = kind == MEANS_PATH ? MEANING_PATH_MAX : MEANING_TEXT_MAX;
	struct meaning *meaning;
	const char *copy;

	if (len > most)
		return NULL;
	meaning = store(all, sizeof(*meaning));
	copy = store_text(all, text, len);
	if (!meaning || !copy)
		return NULL;
	*meaning = (struct meaning){ .kind = kind, .text = copy, .len = (uint32_t)len };
	return meaning;
}

struct meaning *meaning_number(struct meanings *all, int64_t number)
{
	struct meaning *meaning = store(all, sizeof(*meaning));

	if (meaning)
		*meaning = (struct meaning){ .kind = MEANS_NUMBER, .text = "", .number = number };
	return meaning;
}

struct meaning *meaning_list(struct meanings *all, uint32_t node)
{
	struct meaning *meaning = store(all, sizeof(*meaning));

	if (meaning)
		*meaning = (struct meaning){ .kind = MEANS_LIST, .text = "", .node = node };
	return meaning;
}

/* Names of the place where all names live add nothing. */
static bool is_ground(const struct meaning *of)
{
	return is_among_bytes(
		"builtins __builtins__ globalThis global self frames top window self() "
		"__builtin__",
		of->text, of->len);
}

struct meaning *meaning_member(struct meanings *all, const struct meaning *of, const char *name,
			       size_t len)
{
	char path[MEANING_PATH_MAX + 2];
	struct meaning *meaning;
	size_t before = is_ground(of) ? 0 : of->len;

	/* What makes functions, reached from one. */
	if (len == strlen("constructor") && memcmp(name, "constructor", len) == 0 &&
	    strcmp(of->text, MEANING_FUNCTION) == 0) {
		meaning = meaning_new(all, MEANS_PATH, "Function", strlen("Function"));
		if (meaning)
			meaning->is_built = true;
		return meaning;
	}
	if (before + len + 1 > MEANING_PATH_MAX)
		return NULL;
	memcpy(path, of->text, before);
	if (before)
		path[before++] = '.';
	memcpy(path + before, name, len);
	meaning = meaning_new(all, MEANS_PATH, path, before + len);
	if (meaning)
		meaning->is_built = of->is_built;
	return meaning;
}

static bool is_same(const struct meaning *one, const struct meaning *other)
{
	return one->kind == other->kind && one->len == other->len && one->number == other->number &&
	       one->node == other->node && memcmp(one->text, other->text, one->len) == 0;
}

static const struct meaning *find_same(const struct meaning *chain, const struct meaning *one)
{
	while (chain && !is_same(chain, one))
		chain = chain->also;
	return chain;
}

static unsigned length(const struct meaning *chain)
{
	unsigned count = 0;

	for (; chain; chain = chain->also)
		count++;
	return count;
}

/* The chain with ONE in front of it; the chain as it is when there is no room. */
static const struct meaning *put(struct meanings *all, const struct meaning *chain,
				 const struct meaning *one)
{
	struct meaning *copy = store(all, sizeof(*copy));

	if (!copy)
		return chain;
	*copy = *one;
	copy->also = chain;
	return copy;
}

static unsigned weight(const struct meanings *all, const struct meaning *one)
{
	if (one->weight > 0)
		return one->weight - 1u;
	return all->weigh ? all->weigh(one) : 0;
}

/* The least grave of a chain, of several such the oldest; NULL when all are graver than ONE. */
static const struct meaning *lightest(const struct meanings *all, const struct meaning *chain,
				      const struct meaning *one)
{
	const struct meaning *least = NULL;
	unsigned most = weight(all, one);

	for (; chain; chain = chain->also) {
		/* Paths have more room, and keep it. */
		if ((chain->kind == MEANS_PATH) == (one->kind == MEANS_PATH) &&
		    weight(all, chain) <= most) {
			least = chain;
			most = weight(all, chain);
		}
	}
	return least;
}

/* The chain without OUT, in the same order; chains are shared, so the old one stays. */
static const struct meaning *without(struct meanings *all, const struct meaning *chain,
				     const struct meaning *out)
{
	const struct meaning *kept[2 * MEANING_ALSO_MAX], *made = NULL;
	unsigned count = 0;

	for (; chain && count < 2 * MEANING_ALSO_MAX; chain = chain->also) {
		if (chain != out)
			kept[count++] = chain;
	}
	while (count > 0)
		made = put(all, made, kept[--count]);
	return made;
}

static const struct meaning *put_more(struct meanings *all, const struct meaning *chain,
				      const struct meaning *one)
{
	struct meaning more = *one;

	more.has_more = true;
	more.weight = (uint8_t)(weight(all, one) + 1);
	return put(all, chain, &more);
}

static const struct meaning *mark_more(struct meanings *all, const struct meaning *chain)
{
	return meaning_has_more(chain) ? chain : put_more(all, chain->also, chain);
}

/* There is no room for ONE: it takes the place of a lighter one, or it is only known that there is more. */
static const struct meaning *crowd(struct meanings *all, const struct meaning *chain,
				   const struct meaning *one)
{
	const struct meaning *out;

	/* What it meant last stays first: a text is made longer step by step. */
	if (chain->kind == one->kind && weight(all, chain) <= weight(all, one))
		return put_more(all, chain->also, one);
	out = lightest(all, chain, one);
	return out ? put_more(all, without(all, chain, out), one) : mark_more(all, chain);
}

const struct meaning *meaning_both(struct meanings *all, const struct meaning *one,
				   const struct meaning *other)
{
	const struct meaning *chain = one, *others[2 * MEANING_ALSO_MAX];
	unsigned count = 0;

	if (!one || !other)
		return one ? one : other;
	for (; other && count < 2 * MEANING_ALSO_MAX; other = other->also)
		others[count++] = other;
	/* From the end on, so that what comes first stays first. */
	while (count > 0) {
		const struct meaning *next = others[--count];
		unsigned most = next->kind == MEANS_PATH ? 2 * MEANING_ALSO_MAX : MEANING_ALSO_MAX;

		if (!find_same(chain, next))
			chain = length(chain) < most ? put(all, chain, next)
						     : crowd(all, chain, next);
		else if (next->has_more)
			chain = mark_more(all, chain);
	}
	return chain;
}

bool meaning_has_more(const struct meaning *meaning)
{
	while (meaning && !meaning->has_more)
		meaning = meaning->also;
	return meaning != NULL;
}

const struct meaning *meaning_next(const struct meaning *one)
{
	return meaning_of_kind(one->also, one->kind);
}

const struct meaning *meaning_of_kind(const struct meaning *meaning, enum meaning_kind kind)
{
	while (meaning && meaning->kind != kind)
		meaning = meaning->also;
	return meaning;
}

bool meaning_is_text(const struct meaning *meaning, const char *text)
{
	const struct meaning *one = meaning_of_kind(meaning, MEANS_TEXT);

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
static struct name_slot *find_slot(const struct meanings *all, const char *name, size_t len,
				   uint32_t hash)
{
	uint32_t at = hash & (all->slot_count - 1);

	while (all->slots[at].name && (all->slots[at].hash != hash || all->slots[at].len != len ||
				       memcmp(all->slots[at].name, name, len) != 0))
		at = (at + 1) & (all->slot_count - 1);
	return &all->slots[at];
}

static void grow(struct meanings *all)
{
	struct meanings old = *all;

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
static struct name_slot *make_slot(struct meanings *all, const char *name, size_t len)
{
	uint32_t hash = hash_of(name, len);
	struct name_slot *slot;

	if (len == 0 || len > MEANING_PATH_MAX)
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
static const struct meaning *latest(struct meanings *all, const struct meaning *chain,
				    const struct meaning *one)
{
	const struct meaning *found = one && one->kind == MEANS_TEXT ? find_same(chain, one) : NULL;

	if (!found || found == chain)
		return chain;
	return put(all, without(all, chain, found), found);
}

void meanings_define(struct meanings *all, const char *name, size_t len,
		     const struct meaning *meaning)
{
	struct name_slot *slot = make_slot(all, name, len);

	if (slot)
		slot->meaning = latest(all, meaning_both(all, slot->meaning, meaning), meaning);
	/* A name that is too long to be kept, for something that may be called. */
	else if (len > MEANING_PATH_MAX && meaning_of_kind(meaning, MEANS_PATH))
		all->is_full = true;
}

void meanings_replace(struct meanings *all, const char *name, size_t len,
		      const struct meaning *meaning)
{
	struct name_slot *slot = make_slot(all, name, len);

	if (slot && meaning)
		slot->meaning = meaning;
}

bool meanings_look_up(const struct meanings *all, const char *name, size_t len,
		      const struct meaning **ret_meaning)
{
	const struct name_slot *slot;

	*ret_meaning = NULL;
	if (all->slot_count == 0 || len == 0)
		return false;
	slot = find_slot(all, name, len, hash_of(name, len));
	*ret_meaning = slot->meaning;
	return slot->name != NULL;
}
