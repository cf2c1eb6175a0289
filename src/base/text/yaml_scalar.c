/* SPDX-License-Identifier: Apache-2.0 */
/* What a plain word of YAML means, by the core schema of YAML 1.2. */
#include "base/text/yaml_scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

bool yaml_scalar_is_null(const char *text)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL", NULL };

	return is_one_of(text, words);
}

static const char *skip_sign(const char *text)
{
	return *text == '-' || *text == '+' ? text + 1 : text;
}

static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Base of an integer as written, or 0 when it is none. */
static int integer_base(const char *text)
{
	const char *digits = skip_sign(text);

	if (str_starts(text, "0o") && text[2])
		return text[2 + strspn(text + 2, "01234567")] ? 0 : 8;
	if (str_starts(text, "0x") && text[2])
		return text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] ? 0 : 16;
	return *digits && digits[count_digits(digits)] == '\0' ? 10 : 0;
}

static bool is_real(const char *text)
{
	const char *at = skip_sign(text);
	size_t whole = count_digits(at), fraction = 0;

	at += whole;
	if (*at == '.') {
		fraction = count_digits(at + 1);
		at += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (*at == 'e' || *at == 'E') {
		at = skip_sign(at + 1);
		if (count_digits(at) == 0)
			return false;
		at += count_digits(at);
	}
	return *at == '\0';
}

static bool is_not_finite(const char *text)
{
	static const char *const words[] = { ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL };

	return is_one_of(skip_sign(text), words);
}

static struct value *new_integer(const char *text, int base)
{
	long long integer;

	errno = 0;
	integer = strtoll(base == 10 ? text : text + 2, NULL, base);
	return errno ? NULL : value_new_int(integer);
}

static struct value *new_real(const char *text)
{
	double real = strtod(text, NULL);

	return isfinite(real) ? value_new_real(real) : NULL;
}

struct value *yaml_scalar_typed(const char *text, size_t len)
{
	static const char *const truths[] = { "true", "True", "TRUE", NULL };
	static const char *const untruths[] = { "false", "False", "FALSE", NULL };
	int base = integer_base(text);

	if (is_one_of(text, truths))
		return value_new_bool(true);
	if (is_one_of(text, untruths))
		return value_new_bool(false);
	if (base)
		return new_integer(text, base);
	if (is_real(text))
		return new_real(text);
	if (is_not_finite(text))
		return NULL;
	return value_new_bytes(text, len);
}
