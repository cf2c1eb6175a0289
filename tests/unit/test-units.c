/* SPDX-License-Identifier: Apache-2.0 */
/* Units: what is a size, a duration, a count, and how nonsense is refused. */
#include "base/core/str.h"
#include "base/text/units.h"
#include "tests/tap.h"

struct row {
	const char *text;
	int64_t want; /* -1: refused */
};

typedef int parse_function(const char *where, const char *text, int64_t *ret_number,
			   struct error *err);

static void check_rows(const char *what, parse_function *parse, const struct row *rows,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct error err = { 0 };
		int64_t got = -1;
		int status = parse("--x", rows[i].text, &got, &err);

		tap_is_int(got, rows[i].want, "%s '%s' %s", what,
			   str_shown(rows[i].text, (char[STR_SHOWN_SIZE]){ 0 }),
			   status < 0 ? err.text : "");
		if (status < 0)
			tap_ok(err.code == ERROR_USAGE && strncmp(err.text, "--x: '", 6) == 0 &&
				       strstr(err.text, "; use "),
			       "the refusal names place, value and form");
	}
}

#define CHECK(what, parse, rows) check_rows(what, parse, rows, sizeof(rows) / sizeof((rows)[0]))

static const struct row sizes[] = {
	{ "123", 123 },
	{ "10b", 10 },
	{ "64k", 65536 },
	{ "64K", 65536 },
	{ "512m", 536870912 },
	{ "512MiB", 536870912 },
	{ "512mb", 536870912 },
	{ "1g", 1073741824 },
	{ "1.5g", 1610612736 },
	{ "0.5k", 512 },
	{ "2t", INT64_C(2199023255552) },
	{ "9223372036854775807", INT64_MAX },
	{ "8388607t", INT64_C(8388607) << 40 },
	{ "", -1 },
	{ " 1", -1 },
	{ "1 ", -1 },
	{ "1 g", -1 },
	{ "1e30", -1 },
	{ "-1", -1 },
	{ "+1", -1 },
	{ "5GiBB", -1 },
	{ "0x", -1 },
	{ "0x10", -1 },
	{ "0", -1 },
	{ "0g", -1 },
	{ "0.0000001k", -1 },
	{ "1.5", -1 },
	{ "1.5b", -1 },
	{ "1.", -1 },
	{ ".5g", -1 },
	{ "1.5.5g", -1 },
	{ "1.1234567890g", -1 },
	{ "1,5g", -1 },
	{ "g", -1 },
	{ "9223372036854775808", -1 },
	{ "8388608t", -1 },
	{ "99999999999999999999999999999999999999", -1 },
	{ "18446744073709551617", -1 },
	{ "inf", -1 },
	{ "nan", -1 },
	{ "512m\n", -1 },
	{ "\xef\xbc\x91", -1 },
	{ "unlimited", -1 },
};

static const struct row durations[] = {
	{ "500ms", 500 },
	{ "30s", 30000 },
	{ "30", 30000 },
	{ "5m", 300000 },
	{ "2h", 7200000 },
	{ "1d", 86400000 },
	{ "1.5s", 1500 },
	{ "0.001", 1 },
	{ "3650d", INT64_C(315360000000) },
	{ "3651d", -1 },
	{ "0", -1 },
	{ "0.0001s", -1 },
	{ "1.5ms", -1 },
	{ "-5s", -1 },
	{ "5sec", -1 },
	{ "1e3s", -1 },
	{ "", -1 },
	{ "s", -1 },
	{ "1h30m", -1 },
	{ "9223372036854775807h", -1 },
};

static const struct row cores[] = {
	{ "1", 1000 },	    { "1.5", 1500 },  { "0.01", 10 }, { "4096", 4096000 },
	{ "2.0005", 2000 }, { "0.001", -1 },  { "0", -1 },    { "4097", -1 },
	{ "-1", -1 },	    { "1c", -1 },     { "", -1 },     { "4294967297", -1 },
	{ "1e3", -1 },	    { "0.0001", -1 },
};

static const struct row fuels[] = {
	{ "400m", 400000000 },
	{ "20g", INT64_C(20000000000) },
	{ "1.5k", 1500 },
	{ "7", 7 },
	{ "1t", INT64_C(1000000000000) },
	{ "0", -1 },
	{ "20gb", -1 },
	{ "-1g", -1 },
	{ "9999999999t", -1 },
};

static int parse_small(const char *where, const char *text, int64_t *ret_number, struct error *err)
{
	return units_count(where, text, 2, 4194304, ret_number, err);
}

static const struct row counts[] = {
	{ "2", 2 },    { "4194304", 4194304 }, { "0064", 64 },	     { "1", -1 },
	{ "0", -1 },   { "4194305", -1 },      { "4294967297", -1 }, { "12k", -1 },
	{ "1.5", -1 }, { "-3", -1 },	       { "", -1 },	     { "18446744073709551618", -1 },
};

static void test_words(void)
{
	struct error err;
	int64_t number;
	char long_text[600];

	units_size("--mem", "5GiBB", &number, &err);
	tap_is_str(err.text, "--mem: '5GiBB' is not a size; use 512m, 1g",
		   "a wrong size is explained");
	units_size("p.yaml:4: mem", "99999999t", &number, &err);
	tap_is_str(err.text, "p.yaml:4: mem: '99999999t' is too large for a size; use 512m, 1g",
		   "a large one too");
	units_cpu("--cpu", "0.001", &number, &err);
	tap_is_str(err.text, "--cpu: '0.001' is too small for a number of cores; use 0.5, 1.5, 2",
		   "and a small one");
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	long_text[3] = '\033';
	units_size("--mem", long_text, &number, &err);
	tap_ok(strstr(err.text, "xxx?xxx") && strstr(err.text, "...'") &&
		       strstr(err.text, "; use 512m"),
	       "foreign words are cut and cleaned: %s", err.text);
}

static void test_format(void)
{
	static const struct {
		int64_t number;
		const char *size, *duration;
	} rows[] = {
		{ 0, "0", "0s" },
		{ 1023, "1023", "1023ms" },
		{ 1024, "1k", "1024ms" },
		{ INT64_C(1) << 29, "512m", "536870912ms" },
		{ 1500, "1500", "1500ms" },
		{ 30000, "30000", "30s" },
		{ 300000, "300000", "5m" },
		{ 7200000, "7200000", "2h" },
		{ INT64_C(1) << 50, "1024t", "1125899906842624ms" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		units_format_size(rows[i].number, text);
		tap_is_str(text, rows[i].size, "a size is written as %s", rows[i].size);
		units_format_duration(rows[i].number, text);
		tap_is_str(text, rows[i].duration, "a duration is written as %s", rows[i].duration);
	}
}

int main(void)
{
	CHECK("size", units_size, sizes);
	CHECK("duration", units_duration, durations);
	CHECK("cores", units_cpu, cores);
	CHECK("fuel", units_fuel, fuels);
	CHECK("count", parse_small, counts);
	test_words();
	test_format();
	return tap_done();
}
