/* SPDX-License-Identifier: Apache-2.0 */
/* Races: attempts collected, outcomes ranked. */
#include "decide/race/race.h"

#include "base/text/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const rule_names[RACE_RULES_MAX] = { "score", "small", "fast", "memory" };

static int find_rule(const char *word, enum race_rule *ret_rule, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, word);
	for (size_t i = 0; i < RACE_RULES_MAX; i++) {
		suggest_try(&suggest, rule_names[i]);
		if (strcmp(rule_names[i], word) == 0) {
			*ret_rule = (enum race_rule)i;
			return 0;
		}
	}
	error_set(err, ERROR_USAGE, "prefer: '%s' is none of score, small, fast, memory",
		  str_shown(word, shown));
	return suggest_add_hint(suggest.best, err);
}

int race_rules_parse(const char *text, struct race_rules *ret_rules, struct error *err)
{
	struct race_rules rules = { .count = 0 };

	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");
		char *word = xstrndup(at, len);
		int status = rules.count == RACE_RULES_MAX
				     ? error_set(err, ERROR_USAGE, "prefer: more than %d rules",
						 RACE_RULES_MAX)
				     : find_rule(word, &rules.items[rules.count], err);

		free(word);
		if (status < 0)
			return -1;
		rules.count++;
		at += len;
		if (!*at)
			break;
	}
	*ret_rules = rules;
	return 0;
}

void race_plan_init(struct race_plan *plan)
{
	*plan = (struct race_plan){ .rules = { { RULE_SCORE, RULE_SMALL, RULE_FAST }, 3 } };
	settings_init(&plan->settings);
}

void race_plan_done(struct race_plan *plan)
{
	free(plan->base);
	free(plan->check);
	settings_done(&plan->settings);
	for (size_t i = 0; i < plan->count; i++) {
		struct race_attempt *attempt = &plan->attempts[i];

		free(attempt->name);
		strv_done(&attempt->command);
		strv_done(&attempt->setup);
		settings_done(&attempt->settings);
	}
	free(plan->attempts);
	*plan = (struct race_plan){ 0 };
}

static bool is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return len > 0 && !name[len] && len <= RACE_NAME_MAX && !strchr("._-", name[0]);
}

int race_add(struct race_plan *plan, const char *name, struct race_attempt **ret_attempt,
	     struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (!is_name(name))
		return error_set(
			err, ERROR_USAGE,
			"attempt '%s': a name has small letters, digits, '.', '_' and '-', "
			"begins with one of the first two, and has at most %d",
			str_shown(name, shown), RACE_NAME_MAX);
	for (size_t i = 0; i < plan->count; i++) {
		if (strcmp(plan->attempts[i].name, name) == 0)
			return error_set(err, ERROR_USAGE, "two attempts are called '%s'", name);
	}
	if (plan->count == RACE_ATTEMPTS_MAX)
		return error_set(err, ERROR_USAGE, "more than %d attempts", RACE_ATTEMPTS_MAX);
	plan->attempts = xrealloc(plan->attempts, plan->count + 1, sizeof(*plan->attempts));
	*ret_attempt = &plan->attempts[plan->count++];
	**ret_attempt = (struct race_attempt){ .name = xstrdup(name) };
	settings_init(&(*ret_attempt)->settings);
	return 0;
}

int race_add_words(struct race_plan *plan, const char *words, struct error *err)
{
	struct race_attempt *attempt = NULL;
	const char *sign = strchr(words, '=');
	char shown[STR_SHOWN_SIZE];
	char *name;
	int status;

	if (!sign || !sign[1])
		return error_set(err, ERROR_USAGE, "-c '%s': write NAME=COMMAND",
				 str_shown(words, shown));
	name = xstrndup(words, (size_t)(sign - words));
	status = race_add(plan, name, &attempt, err);
	free(name);
	if (status < 0 || !attempt)
		return -1;
	strv_add_script(&attempt->command, sign + 1);
	return 0;
}

bool race_score(const char *bytes, size_t len, double *ret_score)
{
	char text[RACE_SCORE_BYTES + 1], *end;
	double score;

	if (len > RACE_SCORE_BYTES)
		len = RACE_SCORE_BYTES;
	memcpy(text, bytes, len);
	text[len] = '\0';
	if (strlen(text) != len)
		return false;
	/* Decimal only: no hexadecimal, no infinity, nothing behind it but white space. */
	if (text[strspn(text, " \t\n")] == '\0' || text[strspn(text, " \t\n0123456789+-.eE")])
		return false;
	score = strtod(text, &end);
	if (end == text || end[strspn(end, " \t\n")] || !isfinite(score))
		return false;
	*ret_score = score;
	return true;
}

/* Negative when A is better. */
static int compare(enum race_rule rule, const struct race_outcome *a, const struct race_outcome *b)
{
	switch (rule) {
	case RULE_SCORE:
		return (a->score < b->score) - (a->score > b->score);
	case RULE_SMALL:
		return (a->files > b->files) - (a->files < b->files);
	case RULE_FAST:
		return (a->duration_ms > b->duration_ms) - (a->duration_ms < b->duration_ms);
	case RULE_MEMORY:
		return (a->peak_memory_bytes > b->peak_memory_bytes) -
		       (a->peak_memory_bytes < b->peak_memory_bytes);
	}
	return 0;
}

static bool is_better(const struct race_rules *rules, const struct race_outcome *a,
		      const struct race_outcome *b)
{
	for (size_t i = 0; i < rules->count; i++) {
		int order = compare(rules->items[i], a, b);

		if (order)
			return order < 0;
	}
	return false;
}

size_t race_winner(const struct race_rules *rules, const struct race_outcome *outcomes,
		   size_t count)
{
	size_t best = count;

	for (size_t i = 0; i < count; i++) {
		if (outcomes[i].is_eligible &&
		    (best == count || is_better(rules, &outcomes[i], &outcomes[best])))
			best = i;
	}
	return best;
}

bool race_is_tie(const struct race_rules *rules, const struct race_outcome *a,
		 const struct race_outcome *b)
{
	return a->is_eligible && b->is_eligible && !is_better(rules, a, b) &&
	       !is_better(rules, b, a);
}
