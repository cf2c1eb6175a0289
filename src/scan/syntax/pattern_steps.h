/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled pattern: a list of steps. Private to the pattern's two files. */
#ifndef SCAN_PATTERN_STEPS_H
#define SCAN_PATTERN_STEPS_H

#include "scan/syntax/pattern.h"

#include <ctype.h>
#include <stdint.h>

enum step_kind { STEP_SET, STEP_SPLIT, STEP_JUMP, STEP_START, STEP_END, STEP_EDGE, STEP_MATCH };

struct step {
	enum step_kind kind;
	uint32_t next, other; /* of splits and jumps */
	uint32_t set;	      /* of sets */
};

struct set {
	uint64_t bits[4];
};

struct pattern {
	struct step *steps;
	uint32_t count;
	struct set *sets;
	uint32_t set_count;
	bool any_case;
};

static inline bool pattern_set_has(const struct set *set, unsigned char c)
{
	return set->bits[c >> 6] >> (c & 63) & 1;
}

static inline bool pattern_is_word(unsigned char c)
{
	return isalnum(c) || c == '_';
}

/* Cleanup for owned(pattern_release) struct pattern *pattern. */
void pattern_release(struct pattern **pattern);

#endif
