/* SPDX-License-Identifier: Apache-2.0 */
/* Words with units into numbers: sizes, durations, counts, cores, fuel. */
#include "base/text/units.h"

#include "base/core/str.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

#define TEN_YEARS_MS (INT64_C(3650) * 24 * 3600 * 1000)
#define FRACTION_DIGITS 9
#define FRACTION_UNIT INT64_C(1000000000)

struct unit {
	const char *suffix;
	int64_t factor;
};

/* What a kind of number looks like, and the words for telling so. */
struct form {
	const char *noun;	  /* "a size" */
	const char *usage;	  /* "512m, 1g" */
	const struct unit *units; /* ended by a row without a suffix; "" is a bare number */
	int64_t min, max;
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "b", 1 },
	{ "k", INT64_C(1) << 10 },
	{ "kb", INT64_C(1) << 10 },
	{ "kib", INT64_C(1) << 10 },
	{ "m", INT64_C(1) << 20 },
	{ "mb", INT64_C(1) << 20 },
	{ "mib", INT64_C(1) << 20 },
	{ "g", INT64_C(1) << 30 },
	{ "gb", INT64_C(1) << 30 },
	{ "gib", INT64_C(1) << 30 },
	{ "t", INT64_C(1) << 40 },
	{ "tb", INT64_C(1) << 40 },
	{ "tib", INT64_C(1) << 40 },
	{ NULL, 0 },
};

static const struct unit duration_units[] = {
	{ "", 1000 },	  { "ms", 1 },	     { "s", 1000 }, { "m", 60000 },
	{ "h", 3600000 }, { "d", 86400000 }, { NULL, 0 },
};

static const struct unit cpu_units[] = { { "", 1000 }, { NULL, 0 } };

static const struct unit fuel_units[] = {
	{ "", 1 },
	{ "k", 1000 },
	{ "m", 1000000 },
	{ "g", 1000000000 },
	{ "t", INT64_C(1000000000000) },
	{ NULL, 0 },
};

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };

static int refuse(const struct form *form, const char *where, const char *text, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	error_set(err, ERROR_USAGE, "%s: '%s' is not %s", where, str_shown(text, shown),
		  form->noun);
	return error_add_hint(err, "use %s", form->usage);
}

static int refuse_range(const struct form *form, const char *where, const char *text,
			const char *word, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	error_set(err, ERROR_USAGE, "%s: '%s' is too %s for %s", where, str_shown(text, shown),
		  word, form->noun);
	return error_add_hint(err, "use %s", form->usage);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits into *ret_number; a sum that does not fit is remembered, so that the word's form is judged first. */
static const char *read_digits(const char *at, int64_t *ret_number, bool *ret_overflow)
{
	int64_t number = 0;

	for (; is_digit(*at); at++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *at - '0', &number)) {
			*ret_overflow = true;
			number = 0;
		}
	}
	*ret_number = number;
	return at;
}

/* ".25" into billionths; NULL when it is no fraction we take. */
static const char *read_fraction(const char *at, int64_t *ret_billionths)
{
	int64_t scale = FRACTION_UNIT;
	int digits = 0;

	*ret_billionths = 0;
	for (; is_digit(*at); at++, digits++) {
		scale /= 10;
		*ret_billionths += (*at - '0') * scale;
	}
	return digits > 0 && digits <= FRACTION_DIGITS ? at : NULL;
}

static const struct unit *find_unit(const struct unit *units, const char *suffix)
{
	for (; units->suffix; units++) {
		if (strcasecmp(units->suffix, suffix) == 0)
			return units;
	}
	return NULL;
}

static int parse(const struct form *form, const char *where, const char *text, int64_t *ret_number,
		 struct error *err)
{
	int64_t whole = 0, billionths = 0, number;
	bool overflow = false;
	const char *at = read_digits(text, &whole, &overflow);

	if (at == text)
		return refuse(form, where, text, err);
	if (*at == '.') {
		at = read_fraction(at + 1, &billionths);
		if (!at)
			return refuse(form, where, text, err);
	}
	const struct unit *unit = find_unit(form->units, at);

	/* Half a byte or half a process is no number. */
	if (!unit || (billionths && unit->factor == 1))
		return refuse(form, where, text, err);
	overflow |= __builtin_mul_overflow(whole, unit->factor, &number);
	/* Never overflows: a fraction of one unit. What is cut off lies below the smallest step. */
	overflow |= __builtin_add_overflow(
		number, (int64_t)((__int128)billionths * unit->factor / FRACTION_UNIT), &number);
	if (overflow || number > form->max)
		return refuse_range(form, where, text, "large", err);
	if (number == 0 && form->min > 0)
		return refuse(form, where, text, err);
	if (number < form->min)
		return refuse_range(form, where, text, "small", err);
	*ret_number = number;
	return 0;
}

int units_size(const char *where, const char *text, int64_t *ret_bytes, struct error *err)
{
	static const struct form form = { "a size", "512m, 1g", size_units, 1, INT64_MAX };

	return parse(&form, where, text, ret_bytes, err);
}

int units_duration(const char *where, const char *text, int64_t *ret_ms, struct error *err)
{
	static const struct form form = { "a duration", "500ms, 30s, 5m, 2h", duration_units, 1,
					  TEN_YEARS_MS };

	return parse(&form, where, text, ret_ms, err);
}

int units_count(const char *where, const char *text, int64_t min, int64_t max, int64_t *ret_count,
		struct error *err)
{
	char usage[64];
	struct form form = { "a count", usage, no_units, min, max };

	(void)snprintf(usage, sizeof(usage), "a whole number from %" PRId64 " to %" PRId64, min,
		       max);
	return parse(&form, where, text, ret_count, err);
}

int units_cpu(const char *where, const char *text, int64_t *ret_milli, struct error *err)
{
	static const struct form form = { "a number of cores", "0.5, 1.5, 2", cpu_units, 10,
					  4096 * 1000 };

	return parse(&form, where, text, ret_milli, err);
}

int units_fuel(const char *where, const char *text, int64_t *ret_fuel, struct error *err)
{
	static const struct form form = { "an amount of fuel", "400m, 20g", fuel_units, 1,
					  INT64_MAX };

	return parse(&form, where, text, ret_fuel, err);
}

void units_format_size(int64_t bytes, char out[static 32])
{
	static const char letters[] = "kmgt";
	int steps = 0;

	while (bytes != 0 && bytes % 1024 == 0 && steps < 4) {
		bytes /= 1024;
		steps++;
	}
	if (steps > 0)
		(void)snprintf(out, 32, "%" PRId64 "%c", bytes, letters[steps - 1]);
	else
		(void)snprintf(out, 32, "%" PRId64, bytes);
}

void units_format_duration(int64_t ms, char out[static 32])
{
	if (ms != 0 && ms % 3600000 == 0)
		(void)snprintf(out, 32, "%" PRId64 "h", ms / 3600000);
	else if (ms != 0 && ms % 60000 == 0)
		(void)snprintf(out, 32, "%" PRId64 "m", ms / 60000);
	else if (ms % 1000 == 0)
		(void)snprintf(out, 32, "%" PRId64 "s", ms / 1000);
	else
		(void)snprintf(out, 32, "%" PRId64 "ms", ms);
}
