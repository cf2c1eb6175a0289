/* SPDX-License-Identifier: Apache-2.0 */
/* Follows all states of a pattern through a text side by side: one look at each byte. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "scan/syntax/pattern_steps.h"

#include <stdlib.h>

/* States that are alive, each with where its match began; the earlier beginning came first and stays. */
struct states {
	uint32_t *list;
	size_t *began;
	size_t *seen; /* by state: the position it was last added at, plus one */
	uint32_t count;
};

struct matcher {
	const struct pattern *pattern;
	const char *text;
	size_t len;
	struct states now, next;
	uint32_t *stack;
};

static void states_done(struct states *states)
{
	free(states->list);
	free(states->began);
	free(states->seen);
}

static void matcher_done(struct matcher *matcher)
{
	states_done(&matcher->now);
	states_done(&matcher->next);
	free(matcher->stack);
}

static void states_init(struct states *states, uint32_t count)
{
	states->list = xcalloc(count, sizeof(*states->list));
	states->began = xcalloc(count, sizeof(*states->began));
	states->seen = xcalloc(count, sizeof(*states->seen));
}

static bool is_edge(const struct matcher *matcher, size_t at)
{
	bool before = at > 0 && pattern_is_word((unsigned char)matcher->text[at - 1]);
	bool after = at < matcher->len && pattern_is_word((unsigned char)matcher->text[at]);

	return before != after;
}

static bool holds(const struct matcher *matcher, enum step_kind kind, size_t at)
{
	if (kind == STEP_START)
		return at == 0 || matcher->text[at - 1] == '\n';
	if (kind == STEP_END)
		return at == matcher->len || matcher->text[at] == '\n';
	return is_edge(matcher, at);
}

/* Adds STATE and all that is reached from it without reading on. True when the end of the pattern is. */
static bool add_state(struct matcher *matcher, struct states *states, uint32_t state, size_t at,
		      size_t began)
{
	uint32_t depth = 0;
	bool is_match = false;

	matcher->stack[depth++] = state;
	while (depth > 0) {
		uint32_t one = matcher->stack[--depth];
		const struct step *step = &matcher->pattern->steps[one];

		if (states->seen[one] == at + 1)
			continue;
		states->seen[one] = at + 1;
		if (step->kind == STEP_MATCH) {
			is_match = true;
		} else if (step->kind == STEP_SET) {
			states->list[states->count] = one;
			states->began[states->count++] = began;
		} else if (step->kind == STEP_SPLIT) {
			matcher->stack[depth++] = step->other;
			matcher->stack[depth++] = step->next;
		} else if (step->kind == STEP_JUMP || holds(matcher, step->kind, at)) {
			matcher->stack[depth++] = step->next;
		}
	}
	return is_match;
}

/* Reads the byte AT; the beginning of a match that ends behind it, or -1. */
static long advance(struct matcher *matcher, size_t at)
{
	struct states *now = &matcher->now, *next = &matcher->next;
	struct states swapped = *now;
	long found = -1;

	next->count = 0;
	for (uint32_t i = 0; i < now->count; i++) {
		const struct step *step = &matcher->pattern->steps[now->list[i]];

		if (!pattern_set_has(&matcher->pattern->sets[step->set],
				     (unsigned char)matcher->text[at]))
			continue;
		if (add_state(matcher, next, step->next, at + 1, now->began[i]) && found < 0)
			found = (long)now->began[i];
	}
	*now = *next;
	*next = swapped;
	return found;
}

long pattern_find(const struct pattern *pattern, const char *text, size_t len, size_t from,
		  bool (*may_begin)(size_t at, void *cookie), void *cookie)
{
	owned(matcher_done) struct matcher matcher = { .pattern = pattern,
						       .text = text,
						       .len = len };

	states_init(&matcher.now, pattern->count);
	states_init(&matcher.next, pattern->count);
	/* Each step puts two on the stack at most, and is looked at once. */
	matcher.stack = xcalloc(2 * (size_t)pattern->count + 2, sizeof(*matcher.stack));
	for (size_t at = from; at <= len; at++) {
		long found;

		if ((!may_begin || may_begin(at, cookie)) &&
		    add_state(&matcher, &matcher.now, 0, at, at))
			return (long)at;
		if (at == len)
			break;
		found = advance(&matcher, at);
		if (found >= 0)
			return found;
	}
	return -1;
}

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->steps);
	free(pattern->sets);
	free(pattern);
}

void pattern_release(struct pattern **pattern)
{
	pattern_free(*pattern);
}
