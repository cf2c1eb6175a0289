/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words with units into numbers: sizes, durations, counts, cores, fuel.
 *
 * WHERE names the place in errors ("--mem", "p.yaml:4: mem"). Zero is refused everywhere: a limit of nothing is
 * a mistake, and without a limit none is set.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/core/error.h"

#include <stdint.h>

/* 1024-based: 123, 10b, 64k, 512m, 1.5g, 2t; "k", "kb" and "kib" are the same, in either case. */
int units_size(const char *where, const char *text, int64_t *ret_bytes, struct error *err);

/* 500ms, 30s, 1.5m, 2h, 1d; a bare number is seconds. At most ten years. */
int units_duration(const char *where, const char *text, int64_t *ret_ms, struct error *err);

/* A whole number from MIN to MAX, digits only. */
int units_count(const char *where, const char *text, int64_t min, int64_t max, int64_t *ret_count,
		struct error *err);

/* Cores in thousandths: 1.5 gives 1500. From 0.01 to 4096. */
int units_cpu(const char *where, const char *text, int64_t *ret_milli, struct error *err);

/* Decimal: 400m is 400,000,000; 20g. */
int units_fuel(const char *where, const char *text, int64_t *ret_fuel, struct error *err);

/* Writes BYTES the way units_size reads them, exactly and as short as possible: "512m". */
void units_format_size(int64_t bytes, char out[static 32]);
/* Writes MS the way units_duration reads them: "500ms", "5m". */
void units_format_duration(int64_t ms, char out[static 32]);

#endif
