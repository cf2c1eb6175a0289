/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races: several attempts at one task, and which of them is best. Reading and ranking; the engine runs them.
 *
 * Eligible is an attempt whose command ended with 0 and, where there is a check, whose check did. The order among those
 * is a list of rules: score (a number the check wrote, higher is better), small (fewer changed files), fast, memory;
 * what is equal by all of them stays in the order given.
 */
#ifndef RACE_RACE_H
#define RACE_RACE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "spec/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RACE_ATTEMPTS_MAX 1000
#define RACE_NAME_MAX 40
#define RACE_RULES_MAX 4
/* What a check may write to descriptor 3: one decimal number in so many bytes. */
#define RACE_SCORE_BYTES 64

enum race_rule { RULE_SCORE, RULE_SMALL, RULE_FAST, RULE_MEMORY };

struct race_rules {
	enum race_rule items[RACE_RULES_MAX];
	size_t count;
};

/* "score,small"; ERROR_USAGE names the word that is none. */
int race_rules_parse(const char *text, struct race_rules *ret_rules, struct error *err);

struct race_attempt {
	char *name;
	struct strv command; /* a script is sh -c TEXT */
	struct strv setup;   /* run before the command, in the attempt's sandbox; empty: nothing */
	struct settings settings; /* over those of the race */
};

struct race_plan {
	char *base;  /* a sandbox, or a directory with a slash in it; NULL: the current workspace */
	char *check; /* sh -c TEXT; NULL: none */
	struct race_rules rules;
	struct settings settings; /* of every attempt: time, mem, ... */
	struct race_attempt *attempts;
	size_t count;
};

void race_plan_init(struct race_plan *plan);
void race_plan_done(struct race_plan *plan);

/* Adds "NAME=SCRIPT". A name of [a-z0-9][a-z0-9._-]* that is not there yet. */
int race_add_words(struct race_plan *plan, const char *words, struct error *err);

/* Adds the contents of a race file. Errors begin with ORIGIN:LINE. Needs libyaml: in aisbx-full only. */
int race_read(const char *bytes, size_t len, const char *origin, struct race_plan *plan,
	      struct error *err);

/* Also for race files: makes room for one attempt, its name checked. */
int race_add(struct race_plan *plan, const char *name, struct race_attempt **ret_attempt,
	     struct error *err);

struct race_outcome {
	bool is_eligible;
	double score;
	uint64_t files;
	double duration_ms;
	uint64_t peak_memory_bytes;
};

/* The number in what a check wrote; false when there is none. */
bool race_score(const char *bytes, size_t len, double *ret_score);

/* Index of the best eligible outcome, or COUNT when none is. */
size_t race_winner(const struct race_rules *rules, const struct race_outcome *outcomes,
		   size_t count);

/* Whether no rule tells A and B apart, both eligible. */
bool race_is_tie(const struct race_rules *rules, const struct race_outcome *a,
		 const struct race_outcome *b);

#endif
