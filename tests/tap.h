/* SPDX-License-Identifier: Apache-2.0 */
/* A test program in TAP: numbered cases, skips with a reason, and a last case for leaked descriptors. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	int run, failed, descriptors;
} tap;

/* Leak checkers see memory only, so the harness counts what is open, before main and at the end. */
static int tap_count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = -1;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count;
}

__attribute__((constructor)) static void tap_begin(void)
{
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	tap.descriptors = tap_count_descriptors();
}

__attribute__((format(printf, 2, 0))) static bool tap_case(bool good, const char *format,
							   va_list args)
{
	tap.failed += !good;
	printf("%sok %d - ", good ? "" : "not ", ++tap.run);
	vprintf(format, args);
	putchar('\n');
	return good;
}

/* One case; returns its outcome, so that a test can stop what makes no sense after a failure. */
__attribute__((unused, format(printf, 2, 3))) static bool tap_ok(bool good, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tap_case(good, format, args);
	va_end(args);
	return good;
}

__attribute__((unused, format(printf, 3, 4))) static bool tap_is_str(const char *got,
								     const char *want,
								     const char *format, ...)
{
	bool good = got && want ? strcmp(got, want) == 0 : got == want;
	va_list args;

	va_start(args, format);
	tap_case(good, format, args);
	va_end(args);
	if (!good)
		printf("#   got: %s\n#  want: %s\n", got ? got : "NULL", want ? want : "NULL");
	return good;
}

__attribute__((unused, format(printf, 3, 4))) static bool tap_is_int(long long got, long long want,
								     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tap_case(got == want, format, args);
	va_end(args);
	if (got != want)
		printf("#   got: %lld\n#  want: %lld\n", got, want);
	return got == want;
}

/* COUNT cases that cannot run here, and why. */
__attribute__((unused)) static void tap_skip(int count, const char *reason)
{
	while (count-- > 0)
		printf("ok %d # SKIP %s\n", ++tap.run, reason);
}

__attribute__((unused)) static bool tap_is_asked(const char *variable)
{
	const char *value = getenv(variable);

	return value && strcmp(value, "1") == 0;
}

/* Instrumented, so that everything takes longer and makes calls of its own. */
__attribute__((unused)) static bool tap_is_slow(void)
{
	return tap_is_asked("AISBX_SLOW");
}

/* How much of something to try: where programs are slow, usually, and in the long form that `make ci` runs. */
__attribute__((unused)) static unsigned tap_size(unsigned slow, unsigned usual, unsigned all)
{
	if (tap_is_slow())
		return slow;
	return tap_is_asked("AISBX_LONG") ? all : usual;
}

/* Nothing further makes sense. */
__attribute__((unused, noreturn)) static void tap_bail(const char *reason)
{
	printf("Bail out! %s\n", reason);
	exit(99);
}

/* Checks for leaked descriptors, prints the plan; the value is main's. */
__attribute__((unused)) static int tap_done(void)
{
	int now = tap_count_descriptors();

	tap_ok(now == tap.descriptors, "no descriptor leaked (%d at the start, %d at the end)",
	       tap.descriptors, now);
	printf("1..%d\n", tap.run);
	return tap.failed ? 1 : 0;
}

#endif
