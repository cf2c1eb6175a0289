/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns that are matched in time proportional to the text: states are followed side by side, never backtracked.
 *
 * . [a-z] [^...] \d \w \s \D \W \S \b ^ $ ( ) (?: ) | * + ? {m,n} and (?i) in front. No back references, no look-around:
 * those cannot be matched in linear time, and are refused.
 */
#ifndef SCAN_PATTERN_H
#define SCAN_PATTERN_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>

#define PATTERN_MAX_LENGTH 1000u
#define PATTERN_MAX_STATES 2000u

struct pattern;

int pattern_compile(const char *text, struct pattern **ret_pattern, struct error *err);
void pattern_free(struct pattern *pattern);

/* The first match that begins at or after FROM and, with MAY_BEGIN, where that allows it. Its place, or -1. */
long pattern_find(const struct pattern *pattern, const char *text, size_t len, size_t from,
		  bool (*may_begin)(size_t at, void *cookie), void *cookie);

#endif
