/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a classic BPF program over system call data as the kernel would; refuses what it would. */
#ifndef TESTS_UNIT_BPF_RUN_H
#define TESTS_UNIT_BPF_RUN_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* No program of ours returns it. */
#define BPF_RUN_BROKEN 0x12345678U

/* Every jump lands inside, every load is an aligned word of the data, nothing runs off the end. */
static inline bool bpf_is_valid(const struct sock_filter *filter, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t class_of = BPF_CLASS(filter[i].code);
		bool is_jump = class_of == BPF_JMP;

		if (is_jump && BPF_OP(filter[i].code) == BPF_JA && filter[i].k >= count - i - 1)
			return false;
		if (is_jump && BPF_OP(filter[i].code) != BPF_JA &&
		    (filter[i].jt >= count - i - 1 || filter[i].jf >= count - i - 1))
			return false;
		if (class_of == BPF_LD &&
		    (filter[i].k % 4 || filter[i].k >= sizeof(struct seccomp_data)))
			return false;
	}
	return count > 0 && BPF_CLASS(filter[count - 1].code) == BPF_RET;
}

static inline bool bpf_jumps(const struct sock_filter *ins, uint32_t value)
{
	switch (BPF_OP(ins->code)) {
	case BPF_JEQ:
		return value == ins->k;
	case BPF_JGT:
		return value > ins->k;
	default:
		return value >= ins->k;
	}
}

static inline uint32_t bpf_run(const struct sock_filter *filter, size_t count,
			       const struct seccomp_data *data)
{
	uint32_t value = 0;

	for (size_t at = 0; at < count; at++) {
		const struct sock_filter *ins = &filter[at];

		switch (ins->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&value, (const char *)data + ins->k, sizeof(value));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			value &= ins->k;
			break;
		case BPF_JMP | BPF_JA:
			at += ins->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
			at += bpf_jumps(ins, value) ? ins->jt : ins->jf;
			break;
		case BPF_RET | BPF_K:
			return ins->k;
		default:
			return BPF_RUN_BROKEN;
		}
	}
	return BPF_RUN_BROKEN;
}

/* Numbers that look random and are the same in every run. */
static inline uint64_t bpf_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

#endif
