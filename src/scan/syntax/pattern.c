/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns matched in linear time: compiled to a list of steps, all states followed side by side. */
#include "scan/syntax/pattern_steps.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at, *start;
	struct pattern *pattern;
	unsigned depth;
	struct error *err;
};

#define MAX_DEPTH 50u
#define MAX_REPEATS 100u

static void set_add(struct set *set, unsigned char c)
{
	set->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

static int refuse(const struct reader *reader, const char *why)
{
	return error_set(reader->err, ERROR_INPUT, "pattern '%.60s', at character %zu: %s",
			 reader->start, (size_t)(reader->at - reader->start) + 1, why);
}

static int add_step(struct reader *reader, enum step_kind kind, uint32_t *ret_at)
{
	struct pattern *pattern = reader->pattern;

	if (pattern->count == PATTERN_MAX_STATES)
		return refuse(reader, "too much; write a shorter pattern or fewer repetitions");
	pattern->steps = xrealloc(pattern->steps, pattern->count + 1, sizeof(*pattern->steps));
	pattern->steps[pattern->count] = (struct step){ .kind = kind, .next = pattern->count + 1 };
	*ret_at = pattern->count++;
	return 0;
}

/* \d and its like; false when LETTER names no class. */
static bool add_class(struct set *set, char letter)
{
	for (unsigned c = 0; c < 256; c++) {
		bool in;

		switch (tolower((unsigned char)letter)) {
		case 'd':
			in = isdigit((int)c);
			break;
		case 'w':
			in = pattern_is_word((unsigned char)c);
			break;
		case 's':
			in = isspace((int)c);
			break;
		default:
			return false;
		}
		if (in == (bool)islower((unsigned char)letter))
			set_add(set, (unsigned char)c);
	}
	return true;
}

static unsigned char escaped(char letter)
{
	switch (letter) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
		return '\r';
	default:
		return (unsigned char)letter;
	}
}

/* A letter behind a backslash that has no meaning here would be taken for a class people know from elsewhere. */
static int read_escape(struct reader *reader, struct set *set, int *ret_char)
{
	char letter = *++reader->at;

	*ret_char = -1;
	if (!letter)
		return refuse(reader, "a backslash at the end");
	if (!add_class(set, letter)) {
		if (isalnum((unsigned char)letter) && !strchr("ntr", letter))
			return refuse(reader, "this escape is not known; back references cannot be "
					      "matched in linear time");
		*ret_char = escaped(letter);
		set_add(set, escaped(letter));
	}
	reader->at++;
	return 0;
}

static int read_member(struct reader *reader, struct set *set, int *ret_char)
{
	if (*reader->at == '\\')
		return read_escape(reader, set, ret_char);
	*ret_char = (unsigned char)*reader->at++;
	set_add(set, (unsigned char)*ret_char);
	return 0;
}

static int read_range(struct reader *reader, struct set *set)
{
	int first, last;

	if (read_member(reader, set, &first) < 0)
		return -1;
	if (first < 0 || reader->at[0] != '-' || !reader->at[1] || reader->at[1] == ']')
		return 0;
	reader->at++;
	if (read_member(reader, set, &last) < 0)
		return -1;
	if (last < first)
		return refuse(reader, "a range that ends before it begins");
	for (int c = first; c <= last; c++)
		set_add(set, (unsigned char)c);
	return 0;
}

static int read_set(struct reader *reader, struct set *set)
{
	bool negated = reader->at[1] == '^';
	const char *first = reader->at + 1 + negated;

	reader->at = first;
	while (*reader->at && (*reader->at != ']' || reader->at == first)) {
		if (read_range(reader, set) < 0)
			return -1;
	}
	if (!*reader->at)
		return refuse(reader, "a [ without its ]");
	reader->at++;
	for (size_t i = 0; negated && i < 4; i++)
		set->bits[i] = ~set->bits[i];
	return 0;
}

static void fold_case(struct set *set)
{
	for (int c = 'a'; c <= 'z'; c++) {
		if (pattern_set_has(set, (unsigned char)c) ||
		    pattern_set_has(set, (unsigned char)toupper(c))) {
			set_add(set, (unsigned char)c);
			set_add(set, (unsigned char)toupper(c));
		}
	}
}

static int add_set(struct reader *reader, const struct set *set)
{
	struct pattern *pattern = reader->pattern;
	struct set folded = *set;
	uint32_t at = 0;

	if (pattern->any_case)
		fold_case(&folded);
	if (add_step(reader, STEP_SET, &at) < 0)
		return -1;
	pattern->sets = xrealloc(pattern->sets, pattern->set_count + 1, sizeof(*pattern->sets));
	pattern->sets[pattern->set_count] = folded;
	pattern->steps[at].set = pattern->set_count++;
	return 0;
}

static int read_choice(struct reader *reader);

static int read_group(struct reader *reader)
{
	reader->at++;
	if (reader->at[0] == '?' && reader->at[1] == ':')
		reader->at += 2;
	else if (reader->at[0] == '?')
		return refuse(reader, "look-around cannot be matched in linear time");
	if (++reader->depth > MAX_DEPTH)
		return refuse(reader, "groups nested too deep");
	if (read_choice(reader) < 0)
		return -1;
	reader->depth--;
	if (*reader->at != ')')
		return refuse(reader, "a ( without its )");
	reader->at++;
	return 0;
}

static int read_atom(struct reader *reader)
{
	struct set set = { 0 };
	uint32_t ignored;
	int one;

	switch (*reader->at) {
	case '(':
		return read_group(reader);
	case '[':
		return read_set(reader, &set) < 0 ? -1 : add_set(reader, &set);
	case '.':
		for (unsigned c = 0; c < 256; c++)
			if (c != '\n')
				set_add(&set, (unsigned char)c);
		reader->at++;
		return add_set(reader, &set);
	case '^':
		reader->at++;
		return add_step(reader, STEP_START, &ignored);
	case '$':
		reader->at++;
		return add_step(reader, STEP_END, &ignored);
	case '*':
	case '+':
	case '?':
		return refuse(reader, "nothing to repeat");
	default:
		break;
	}
	if (reader->at[0] == '\\' && reader->at[1] == 'b') {
		reader->at += 2;
		return add_step(reader, STEP_EDGE, &ignored);
	}
	return read_member(reader, &set, &one) < 0 ? -1 : add_set(reader, &set);
}

/* Copies the steps [FROM, TO) once more at the end; jumps inside them move along. */
static int repeat(struct reader *reader, uint32_t from, uint32_t to)
{
	struct pattern *pattern = reader->pattern;

	for (uint32_t i = from; i < to; i++) {
		uint32_t at = 0, shift;
		struct step old;

		if (add_step(reader, pattern->steps[i].kind, &at) < 0)
			return -1;
		old = pattern->steps[i];
		shift = at - i;
		pattern->steps[at].set = old.set;
		pattern->steps[at].next = old.next + shift;
		pattern->steps[at].other = old.other + shift;
	}
	return 0;
}

/* Puts a step in front of those from FROM on. */
static int insert(struct reader *reader, uint32_t from, enum step_kind kind)
{
	struct pattern *pattern = reader->pattern;
	uint32_t last = 0;

	if (add_step(reader, kind, &last) < 0)
		return -1;
	for (uint32_t i = last; i > from; i--) {
		pattern->steps[i] = pattern->steps[i - 1];
		pattern->steps[i].next++;
		pattern->steps[i].other++;
	}
	pattern->steps[from] = (struct step){ .kind = kind, .next = from + 1 };
	return 0;
}

/* What stands from FROM on becomes optional. */
static int make_optional(struct reader *reader, uint32_t from)
{
	if (insert(reader, from, STEP_SPLIT) < 0)
		return -1;
	reader->pattern->steps[from].other = reader->pattern->count;
	return 0;
}

/* What stands from FROM on becomes something that comes any number of times. */
static int make_loop(struct reader *reader, uint32_t from, bool at_least_once)
{
	uint32_t at = 0;

	if (at_least_once) {
		if (add_step(reader, STEP_SPLIT, &at) < 0)
			return -1;
		reader->pattern->steps[at].next = from;
		reader->pattern->steps[at].other = at + 1;
		return 0;
	}
	if (insert(reader, from, STEP_SPLIT) < 0 || add_step(reader, STEP_JUMP, &at) < 0)
		return -1;
	reader->pattern->steps[at].next = from;
	reader->pattern->steps[from].other = at + 1;
	return 0;
}

/* {m}, {m,} or {m,n}; *ret_most is -1 for no end. 0 when there is none. */
static int read_bounds(struct reader *reader, unsigned *ret_least, int *ret_most)
{
	char *end;
	unsigned long least = strtoul(reader->at + 1, &end, 10), most = least;

	if (!isdigit((unsigned char)reader->at[1]))
		return 0;
	if (*end == ',' && end[1] == '}') {
		end++;
		most = ULONG_MAX;
	} else if (*end == ',') {
		most = strtoul(end + 1, &end, 10);
	}
	if (*end != '}')
		return 0;
	if (least > MAX_REPEATS || (most != ULONG_MAX && (most > MAX_REPEATS || most < least)))
		return refuse(reader, "repetitions are {m,n} with m <= n <= 100");
	reader->at = end + 1;
	*ret_least = (unsigned)least;
	*ret_most = most == ULONG_MAX ? -1 : (int)most;
	return 1;
}

/* The steps from FROM on are there once. */
static int apply_bounds(struct reader *reader, uint32_t from, unsigned least, int most)
{
	uint32_t to = reader->pattern->count, length = to - from;

	if (most == 0) {
		reader->pattern->count = from;
		return 0;
	}
	for (unsigned i = 1; i < least; i++) {
		if (repeat(reader, from, to) < 0)
			return -1;
	}
	if (most < 0)
		return make_loop(reader, reader->pattern->count - length, least > 0);
	if (least == 0 && make_optional(reader, from) < 0)
		return -1;
	/* The copies of an optional part are optional, too: its split is copied along. */
	to = least == 0 ? to + 1 : to;
	for (int i = least ? (int)least : 1; i < most; i++) {
		uint32_t start = reader->pattern->count;

		if (repeat(reader, from, to) < 0 || (least && make_optional(reader, start) < 0))
			return -1;
	}
	return 0;
}

static int read_suffix(struct reader *reader, uint32_t from)
{
	unsigned least = 0;
	int most = -1, has_bounds;

	switch (*reader->at) {
	case '*':
		reader->at++;
		return make_loop(reader, from, false);
	case '+':
		reader->at++;
		return make_loop(reader, from, true);
	case '?':
		reader->at++;
		return make_optional(reader, from);
	case '{':
		break;
	default:
		return 0;
	}
	has_bounds = read_bounds(reader, &least, &most);
	if (has_bounds == 0)
		return 0;
	return has_bounds < 0 ? -1 : apply_bounds(reader, from, least, most);
}

static int read_sequence(struct reader *reader)
{
	while (*reader->at && *reader->at != '|' && *reader->at != ')') {
		uint32_t from = reader->pattern->count;

		if (read_atom(reader) < 0 || read_suffix(reader, from) < 0)
			return -1;
		/* Whether as little or as much as possible is taken makes no difference to whether it matches. */
		if (*reader->at == '?' && strchr("*+?}", reader->at[-1]))
			reader->at++;
	}
	return 0;
}

static int read_choice(struct reader *reader)
{
	uint32_t from = reader->pattern->count;

	if (read_sequence(reader) < 0)
		return -1;
	while (*reader->at == '|') {
		uint32_t jump = 0;

		reader->at++;
		if (insert(reader, from, STEP_SPLIT) < 0 || add_step(reader, STEP_JUMP, &jump) < 0)
			return -1;
		reader->pattern->steps[from].other = jump + 1;
		if (read_sequence(reader) < 0)
			return -1;
		reader->pattern->steps[jump].next = reader->pattern->count;
	}
	return 0;
}

int pattern_compile(const char *text, struct pattern **ret_pattern, struct error *err)
{
	owned(pattern_release) struct pattern *pattern = xcalloc(1, sizeof(*pattern));
	struct reader reader = { .at = text, .start = text, .pattern = pattern, .err = err };
	uint32_t ignored;

	if (strlen(text) > PATTERN_MAX_LENGTH)
		return error_set(err, ERROR_INPUT, "a pattern is at most %u characters long",
				 PATTERN_MAX_LENGTH);
	if (str_starts(text, "(?i)")) {
		pattern->any_case = true;
		reader.at += strlen("(?i)");
	}
	if (read_choice(&reader) < 0)
		return -1;
	if (*reader.at)
		return refuse(&reader, "a ) without its (");
	if (add_step(&reader, STEP_MATCH, &ignored) < 0)
		return -1;
	*ret_pattern = ptr_take(&pattern);
	return 0;
}
