/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter on random policies: far jumps, wide comparisons, programs that do not fit. */
#include "tests/tap.h"
#include "tests/unit/bpf_run.h"

#include "confine/seccomp/seccomp_emit.h"

#include <errno.h>

#define ARCH 0xc000003eU
#define ENTRIES 400
#define CLAUSES 6

struct made {
	struct seccomp_clause clauses[ENTRIES][CLAUSES];
	struct seccomp_entry entries[ENTRIES];
	struct seccomp_policy policy;
	struct sock_filter program[BPF_MAXINSNS * 16];
	size_t count;
};

static bool cond_holds(const struct seccomp_cond *cond, const uint64_t *args)
{
	uint64_t left = args[cond->arg] & cond->mask;
	uint64_t right = cond->value;

	if (!cond->is_wide) {
		left = (uint32_t)left;
		right = (uint32_t)right;
	}
	switch (cond->compare) {
	case COMPARE_EQ:
		return left == right;
	case COMPARE_NE:
		return left != right;
	case COMPARE_LT:
		return left < right;
	case COMPARE_LE:
		return left <= right;
	case COMPARE_GT:
		return left > right;
	case COMPARE_GE:
	default:
		return left >= right;
	}
}

static uint32_t resolve(const struct seccomp_policy *policy, uint32_t answer)
{
	if (answer == ANSWER_DENY)
		return policy->deny;
	if (answer == ANSWER_OBSERVE)
		return policy->observe;
	return answer == ANSWER_SPLICE ? policy->splice : answer;
}

static bool clause_holds(const struct seccomp_clause *clause, const uint64_t *args)
{
	for (size_t i = 0; i < clause->cond_count; i++) {
		if (!cond_holds(&clause->conds[i], args))
			return false;
	}
	return true;
}

static uint32_t expect(const struct seccomp_policy *policy, uint32_t nr, const uint64_t *args)
{
	const struct seccomp_entry *entry = NULL;

	for (size_t i = 0; i < policy->entry_count; i++) {
		if (policy->entries[i].nr == nr)
			entry = &policy->entries[i];
	}
	if (!entry)
		return resolve(policy, policy->unknown);
	for (size_t i = 0; i < entry->clause_count; i++) {
		if (clause_holds(&entry->clauses[i], args))
			return resolve(policy, entry->clauses[i].answer);
	}
	return resolve(policy, entry->otherwise);
}

/* Few distinct values, so that comparisons hit as often as they miss. */
static uint64_t small_value(uint64_t *state)
{
	const uint64_t highs[] = { 0, 0, 1, 0xffffffff };

	return highs[bpf_random(state) % 4] << 32 | bpf_random(state) % 4;
}

static void make_clause(struct seccomp_clause *clause, uint64_t *state)
{
	clause->answer = SECCOMP_RET_ERRNO | (uint32_t)(bpf_random(state) % 60);
	clause->cond_count = (uint8_t)(bpf_random(state) % 4);
	for (size_t c = 0; c < clause->cond_count; c++) {
		struct seccomp_cond *cond = &clause->conds[c];

		cond->arg = (uint8_t)(bpf_random(state) % 6);
		cond->is_wide = bpf_random(state) % 2;
		cond->compare = (enum seccomp_compare)(bpf_random(state) % 6);
		cond->mask = bpf_random(state) % 3 ? UINT64_MAX : 0x100000001U;
		cond->value = small_value(state);
	}
}

static void make_policy(struct made *made, size_t entries, uint64_t *state)
{
	uint32_t nr = 0;

	memset(made, 0, sizeof(*made));
	made->policy = (struct seccomp_policy){
		.arch = ARCH,
		.foreign = SECCOMP_RET_KILL_PROCESS,
		.unknown = SECCOMP_RET_ERRNO | ENOSYS,
		.deny = SECCOMP_RET_USER_NOTIF,
		.observe = SECCOMP_RET_ALLOW,
		.splice = SECCOMP_RET_ERRNO | EINVAL,
		.entries = made->entries,
		.entry_count = entries,
	};
	for (size_t i = 0; i < entries; i++) {
		struct seccomp_entry *entry = &made->entries[i];

		nr += (uint32_t)(bpf_random(state) % 3);
		entry->nr = nr++;
		entry->otherwise = bpf_random(state) % 2
					   ? SECCOMP_RET_ALLOW
					   : ANSWER_DENY + (uint32_t)(bpf_random(state) % 3);
		entry->clauses = made->clauses[i];
		entry->clause_count = bpf_random(state) % (CLAUSES + 1);
		for (size_t c = 0; c < entry->clause_count; c++)
			make_clause(&made->clauses[i][c], state);
	}
}

static unsigned compare(const struct made *made, uint64_t *state)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 3000; i++) {
		struct seccomp_data data = { .arch = ARCH, .nr = (int)(bpf_random(state) % 900) };
		uint64_t args[6];

		for (size_t a = 0; a < 6; a++)
			data.args[a] = args[a] = small_value(state);
		wrong += bpf_run(made->program, made->count, &data) !=
			 expect(&made->policy, (uint32_t)data.nr, args);
	}
	return wrong;
}

static void test_random(struct made *made)
{
	const size_t sizes[] = { 0, 1, 2, 3, 5, 20, 100, ENTRIES };
	uint64_t state = 0x9e3779b97f4a7c15U;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned wrong = 0;
		size_t longest = 0;

		for (unsigned round = 0; round < 20; round++) {
			make_policy(made, sizes[i], &state);
			bool good = seccomp_emit(&made->policy, made->program,
						 sizeof(made->program) / sizeof(made->program[0]),
						 &made->count) == 0;
			wrong += !good || !bpf_is_valid(made->program, made->count);
			wrong += good ? compare(made, &state) : 0;
			longest = made->count > longest ? made->count : longest;
		}
		tap_is_int(wrong, 0, "%zu entries, up to %zu instructions", sizes[i], longest);
	}
}

static void test_refusals(struct made *made)
{
	uint64_t state = 7;
	size_t count = 12345;

	make_policy(made, 50, &state);
	tap_ok(seccomp_emit(&made->policy, made->program, 40, &count) < 0 && errno == E2BIG,
	       "a program that does not fit");
	tap_is_int((long long)count, 12345, "leaves the output alone");
	made->entries[3].nr = made->entries[2].nr;
	tap_ok(seccomp_emit(&made->policy, made->program, BPF_MAXINSNS, &count) < 0 &&
		       errno == EINVAL,
	       "a number that stands twice");
	made->policy.entry_count = SECCOMP_ENTRIES_MAX + 1;
	tap_ok(seccomp_emit(&made->policy, made->program, BPF_MAXINSNS, &count) < 0 &&
		       errno == EINVAL,
	       "too many entries");
}

int main(void)
{
	struct made *made = calloc(1, sizeof(*made));

	if (!made)
		tap_bail("no memory");
	test_random(made);
	test_refusals(made);
	free(made);
	return tap_done();
}
