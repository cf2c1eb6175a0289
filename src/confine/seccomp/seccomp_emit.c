/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rules about system calls to a classic BPF program.
 *
 * BPF jumps only forward, so the program is built from its end: every target exists before the jump
 * to it does, and a label is the distance of an instruction from the end. Conditional jumps reach
 * 255 instructions; a target beyond that gets a copy (an answer) or an unconditional jump (anything
 * else) put right behind the jump. Nothing ever falls through by accident, because both ways of a
 * conditional jump are always named; only loads fall through, and they are put directly in front of
 * the instruction that uses the value.
 */
#include "confine/seccomp/seccomp_emit.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>

/* Two targets may each cost an instruction before the jump itself stands, hence less than 255. */
#define REACH 250
#define CACHED_ANSWERS 32

struct target {
	bool is_answer;
	uint32_t value; /* the answer, or a label */
};

struct builder {
	const struct seccomp_policy *policy;
	struct sock_filter *out;
	size_t cap, count;
	struct {
		uint32_t answer;
		size_t label;
	} cache[CACHED_ANSWERS]; /* where each answer was last put */
	size_t cached;
};

/* Numbers from `low` up to the next range's have one target. */
struct range {
	uint32_t low;
	struct target target;
};

struct ranges {
	struct range items[2 * SECCOMP_ENTRIES_MAX + 1];
	size_t count;
};

/*
 * Where a check starts: at its load, or behind it when the accumulator already holds the same
 * value.
 */
struct place {
	struct target start, loaded;
	bool has_loaded;
	uint8_t arg;
	uint32_t mask;
};

static size_t push(struct builder *build, uint16_t code, uint32_t k)
{
	size_t label = build->count++;

	/* Past the end only the count goes on; seccomp_emit reports it. */
	if (label < build->cap)
		build->out[label] = (struct sock_filter){ .code = code, .k = k };
	return label;
}

static uint32_t resolve_answer(const struct seccomp_policy *policy, uint32_t answer)
{
	switch (answer) {
	case ANSWER_DENY:
		return policy->deny;
	case ANSWER_OBSERVE:
		return policy->observe;
	case ANSWER_SPLICE:
		return policy->splice;
	case ANSWER_MOVE:
		return policy->move;
	default:
		return answer;
	}
}

static struct target to_answer(const struct builder *build, uint32_t answer)
{
	return (struct target){ true, resolve_answer(build->policy, answer) };
}

static struct target to_label(size_t label)
{
	return (struct target){ false, (uint32_t)label };
}

static bool same_target(struct target a, struct target b)
{
	return a.is_answer == b.is_answer && a.value == b.value;
}

static bool is_near(const struct builder *build, size_t label)
{
	return build->count - label - 1 <= REACH;
}

static size_t near_answer(struct builder *build, uint32_t answer)
{
	size_t slot = 0;

	while (slot < build->cached && build->cache[slot].answer != answer)
		slot++;
	if (slot < build->cached && is_near(build, build->cache[slot].label))
		return build->cache[slot].label;
	size_t label = push(build, BPF_RET | BPF_K, answer);
	if (slot == CACHED_ANSWERS)
		return label;
	build->cache[slot].answer = answer;
	build->cache[slot].label = label;
	if (slot == build->cached)
		build->cached++;
	return label;
}

/* A label within reach of a conditional jump that stands for the target. */
static size_t near(struct builder *build, struct target target)
{
	if (target.is_answer)
		return near_answer(build, target.value);
	if (is_near(build, target.value))
		return target.value;
	return push(build, BPF_JMP | BPF_JA, (uint32_t)(build->count - target.value - 1));
}

static size_t branch(struct builder *build, uint16_t jump, uint32_t k, struct target yes,
		     struct target no)
{
	size_t yes_label = near(build, yes);
	size_t no_label = near(build, no);
	size_t label = push(build, (uint16_t)(BPF_JMP | BPF_K | jump), k);

	if (label < build->cap) {
		build->out[label].jt = (uint8_t)(label - yes_label - 1);
		build->out[label].jf = (uint8_t)(label - no_label - 1);
	}
	return label;
}

/* Loads 32 bits of the system call's data in front of what was pushed last. */
static size_t load(struct builder *build, size_t offset, uint32_t mask)
{
	if (mask != UINT32_MAX)
		push(build, BPF_ALU | BPF_AND | BPF_K, mask);
	return push(build, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* Both architectures are little-endian: the low half comes first. */
static size_t arg_offset(uint8_t arg, bool is_high)
{
	return offsetof(struct seccomp_data, args) + 8U * arg + (is_high ? 4 : 0);
}

/* BPF has only ==, > and >=; the others are those with the ways swapped. */
static uint16_t jump_of(enum seccomp_compare compare, bool *ret_is_swapped)
{
	*ret_is_swapped = compare == COMPARE_NE || compare == COMPARE_LT || compare == COMPARE_LE;
	switch (compare) {
	case COMPARE_LE:
	case COMPARE_GT:
		return BPF_JGT;
	case COMPARE_LT:
	case COMPARE_GE:
		return BPF_JGE;
	case COMPARE_EQ:
	case COMPARE_NE:
	default:
		return BPF_JEQ;
	}
}

static struct target enter(const struct place *place, uint8_t arg, uint32_t mask)
{
	if (place->has_loaded && place->arg == arg && place->mask == mask)
		return place->loaded;
	return place->start;
}

static struct place narrow_check(struct builder *build, const struct seccomp_cond *cond,
				 const struct place *yes, const struct place *no)
{
	bool is_swapped;
	uint16_t jump = jump_of(cond->compare, &is_swapped);
	uint32_t mask = (uint32_t)cond->mask;
	struct target on_yes = enter(is_swapped ? no : yes, cond->arg, mask);
	struct target on_no = enter(is_swapped ? yes : no, cond->arg, mask);
	struct place place = { .has_loaded = true, .arg = cond->arg, .mask = mask };

	place.loaded = to_label(branch(build, jump, (uint32_t)cond->value, on_yes, on_no));
	place.start = to_label(load(build, arg_offset(cond->arg, false), mask));
	return place;
}

static struct place wide_check(struct builder *build, const struct seccomp_cond *cond,
			       const struct place *yes, const struct place *no)
{
	bool is_swapped;
	uint16_t jump = jump_of(cond->compare, &is_swapped);
	struct target on_yes = is_swapped ? no->start : yes->start;
	struct target on_no = is_swapped ? yes->start : no->start;
	uint32_t high = (uint32_t)(cond->value >> 32);
	struct place place = { .has_loaded = false };

	branch(build, jump, (uint32_t)cond->value, on_yes, on_no);
	struct target low =
		to_label(load(build, arg_offset(cond->arg, false), (uint32_t)cond->mask));
	struct target equal = to_label(branch(build, BPF_JEQ, high, low, on_no));
	if (jump != BPF_JEQ)
		branch(build, BPF_JGT, high, on_yes, equal);
	place.start =
		to_label(load(build, arg_offset(cond->arg, true), (uint32_t)(cond->mask >> 32)));
	return place;
}

/* The argument checks of one system call, last clause first. */
static struct target emit_entry(struct builder *build, const struct seccomp_entry *entry)
{
	struct place next = { .start = to_answer(build, entry->otherwise) };

	for (size_t i = entry->clause_count; i-- > 0;) {
		const struct seccomp_clause *clause = &entry->clauses[i];
		struct place here = { .start = to_answer(build, clause->answer) };

		for (size_t c = clause->cond_count; c-- > 0;) {
			const struct seccomp_cond *cond = &clause->conds[c];

			here = cond->is_wide ? wide_check(build, cond, &here, &next)
					     : narrow_check(build, cond, &here, &next);
		}
		next = here;
	}
	return next.start;
}

/* Starts a range unless the one before has the same target. */
static void add_range(struct ranges *ranges, uint32_t low, struct target target)
{
	struct range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;

	if (last && same_target(last->target, target))
		return;
	ranges->items[ranges->count++] = (struct range){ low, target };
}

static int collect_ranges(struct builder *build, struct ranges *ranges)
{
	const struct seccomp_policy *policy = build->policy;
	struct target unknown = to_answer(build, policy->unknown);
	uint32_t expected = 0;

	ranges->count = 0;
	for (size_t i = 0; i < policy->entry_count; i++) {
		const struct seccomp_entry *entry = &policy->entries[i];

		if (entry->nr < expected || entry->nr == UINT32_MAX) {
			errno = EINVAL;
			return -1;
		}
		if (entry->nr > expected)
			add_range(ranges, expected, unknown);
		add_range(ranges, entry->nr, emit_entry(build, entry));
		expected = entry->nr + 1;
	}
	/* x32 numbers (bit 30) and -1 lie here as well: they have no entry, so they are unknown. */
	add_range(ranges, expected, unknown);
	return 0;
}

/* Recursion as deep as the tree: eleven levels at most. */
static struct target emit_tree(struct builder *build, const struct range *first, size_t count)
{
	if (count == 1)
		return first->target;
	/* One number in the middle of others: a single comparison decides. */
	if (count == 3 && same_target(first[0].target, first[2].target) &&
	    first[2].low == first[1].low + 1)
		return to_label(
			branch(build, BPF_JEQ, first[1].low, first[1].target, first[0].target));
	size_t middle = count / 2;
	struct target right = emit_tree(build, first + middle, count - middle);
	struct target left = emit_tree(build, first, middle);
	return to_label(branch(build, BPF_JGE, first[middle].low, right, left));
}

static void reverse(struct sock_filter *out, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct sock_filter kept = out[i];

		out[i] = out[count - 1 - i];
		out[count - 1 - i] = kept;
	}
}

int seccomp_emit(const struct seccomp_policy *policy, struct sock_filter *out, size_t cap,
		 size_t *ret_count)
{
	struct builder build = { .policy = policy, .out = out, .cap = cap };
	struct ranges ranges;

	if (policy->entry_count > SECCOMP_ENTRIES_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (collect_ranges(&build, &ranges) < 0)
		return -1;
	struct target root = emit_tree(&build, ranges.items, ranges.count);
	size_t label = near(&build, root);
	if (label + 1 != build.count)
		push(&build, BPF_JMP | BPF_JA, (uint32_t)(build.count - label - 1));
	struct target native =
		to_label(load(&build, offsetof(struct seccomp_data, nr), UINT32_MAX));
	branch(&build, BPF_JEQ, policy->arch, native, to_answer(&build, policy->foreign));
	load(&build, offsetof(struct seccomp_data, arch), UINT32_MAX);
	if (build.count > cap) {
		errno = E2BIG;
		return -1;
	}
	reverse(out, build.count);
	*ret_count = build.count;
	return 0;
}
