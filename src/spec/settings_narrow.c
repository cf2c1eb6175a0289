/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an untrusted profile, or a program under a ceiling, may set: only what makes the sandbox tighter.
 *
 * A workspace's profile comes with the workspace, and may be written by the very program to be confined.
 * So nothing is taken unless a rule below knows that it tightens; a setting without a rule is left out and named.
 * A new setting is therefore refused until it gets a rule.
 */
#include "spec/settings.h"

#include "base/text/units.h"
#include "spec/settings_field.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct narrowing {
	struct settings *base;
	const struct settings *repo;
	struct strv *left_out;
};

static void note(const struct narrowing *narrowing, const char *name, const char *value)
{
	char shown[STR_SHOWN_SIZE];

	strv_addf(narrowing->left_out, "'%s%s%s'", name, value ? ": " : "",
		  value ? str_shown(value, shown) : "");
}

static void format_number(const struct setting_row *row, int64_t number, char text[static 32])
{
	if (row->kind == SETTING_SIZE)
		units_format_size(number, text);
	else if (row->kind == SETTING_DURATION || row->kind == SETTING_PAUSE)
		units_format_duration(number, text);
	else if (row->kind == SETTING_CPU)
		(void)snprintf(text, 32, "%g", (double)number / 1000);
	else
		(void)snprintf(text, 32, "%" PRId64, number);
}

static void narrow_number(const struct narrowing *narrowing, const struct setting_row *row)
{
	int64_t want = settings_get_number(narrowing->repo, row);
	int64_t *have = settings_number(narrowing->base, row);

	if (want == SETTING_UNSET)
		return;
	/* Silence stands for a default that plan knows and we do not: this may only go below it. */
	if (*have == SETTING_UNSET)
		narrowing->base->ceilings |= settings_ceiling_bit(row);
	if (*have == SETTING_UNSET || want <= *have) {
		*have = want;
		return;
	}
	char text[32];

	format_number(row, want, text);
	note(narrowing, row->name, text);
}

/* Words of a setting from widest to tightest; `at_first` is what silence means. */
struct ladder {
	const char *name;
	const char *steps[4];
	size_t at_first;
};

/* Of "allow" among the words of net. */
#define NET_ALLOW_STEP 1

static const struct ladder ladders[] = {
	{ "net", { "all", "allow", "loopback", "none" }, 3 },
	{ "scan", { "off", "warn", "enforce" }, 0 },
	{ "require-signature", { "false", "true" }, 0 },
	{ "home", { "full", "tools" }, 1 },
	{ "workspace-secrets", { "show", "mask" }, 0 },
	{ "splice", { "on", "off" }, 1 },
	{ "cache", { "true", "false" }, 1 },
};

static const struct ladder *ladder_find(const char *name)
{
	for (size_t i = 0; i < sizeof(ladders) / sizeof(ladders[0]); i++) {
		if (strcmp(ladders[i].name, name) == 0)
			return &ladders[i];
	}
	return NULL;
}

/* Place of a word on its ladder; UNKNOWN for a word that is not on it. */
static size_t step_of(const struct ladder *ladder, const char *word, size_t unknown)
{
	for (size_t i = 0; i < 4 && ladder->steps[i]; i++) {
		if (strcmp(ladder->steps[i], word) == 0)
			return i;
	}
	return unknown;
}

static void narrow_word(const struct narrowing *narrowing, const struct setting_row *row)
{
	const char *want = settings_get_word(narrowing->repo, row);
	char **have = settings_word(narrowing->base, row);
	const struct ladder *ladder = ladder_find(row->name);

	if (!want || (*have && strcmp(want, *have) == 0))
		return;
	/* The one word of a list of devices that is narrower than every other. */
	if (row->kind == SETTING_MAYBE && strcmp(want, "none") == 0) {
		free(*have);
		*have = xstrdup(want);
		return;
	}
	if (!ladder) {
		note(narrowing, row->name, want);
		return;
	}
	/* A rule to allow implies `net: allow`. */
	bool implied = have == &narrowing->base->net && narrowing->base->allow.count > 0;
	size_t wanted = step_of(ladder, want, 0);
	size_t at = *have ? step_of(ladder, *have, 4) : implied ? NET_ALLOW_STEP : ladder->at_first;

	if (wanted < at) {
		note(narrowing, row->name, want);
		return;
	}
	/* An equal value is not stored where none was set: the default it equals may change. */
	if (wanted == at)
		return;
	free(*have);
	*have = xstrdup(want);
	if (have == &narrowing->base->net && wanted > NET_ALLOW_STEP)
		strv_done(&narrowing->base->allow);
}

/* Lists that only ever take away when they grow. */
static bool may_grow(const struct settings *base, const struct strv *list)
{
	/* Tests that come from the workspace alone would vouch for themselves: they may only join the user's own. */
	if (list == &base->tests)
		return list->count > 0;
	return list == &base->deny || list == &base->require || list == &base->gates ||
	       list == &base->hide;
}

/* A list that permits: where there is none all is permitted, and part of one that is there is narrower. */
static void narrow_calls(const struct narrowing *narrowing, const struct setting_row *row)
{
	const struct strv *want = &narrowing->repo->syscalls;
	struct strv *have = &narrowing->base->syscalls;

	for (size_t i = 0; have->count > 0 && i < want->count; i++) {
		if (!strv_has(have, want->items[i])) {
			note(narrowing, row->name, want->items[i]);
			return;
		}
	}
	if (want->count == 0)
		return;
	strv_done(have);
	strv_copy(have, want);
}

static void narrow_list(const struct narrowing *narrowing, const struct setting_row *row)
{
	const struct strv *want = settings_get_list(narrowing->repo, row);
	struct strv *have = settings_list(narrowing->base, row);
	bool grows = may_grow(narrowing->base, have);
	const char *left_out = NULL;

	if (have == &narrowing->base->syscalls) {
		narrow_calls(narrowing, row);
		return;
	}
	for (size_t i = 0; i < want->count; i++) {
		if (strv_has(have, want->items[i]))
			continue;
		if (grows)
			strv_add(have, want->items[i]);
		else if (!left_out)
			left_out = want->items[i];
	}
	/* A variable's value may hold a secret: messages have only its name. */
	if (left_out)
		note(narrowing, row->name, have == &narrowing->base->env ? NULL : left_out);
}

void settings_narrow(struct settings *base, const struct settings *repo, struct strv *left_out)
{
	const struct narrowing narrowing = { .base = base, .repo = repo, .left_out = left_out };

	for (const struct setting_row *row = setting_rows; row->name; row++) {
		switch (setting_shape(row)) {
		case SHAPE_NUMBER:
			narrow_number(&narrowing, row);
			break;
		case SHAPE_WORD:
			narrow_word(&narrowing, row);
			break;
		case SHAPE_LIST:
			narrow_list(&narrowing, row);
			break;
		case SHAPE_MOUNT:
			break;
		}
	}
	if (repo->mount_count > 0)
		note(&narrowing, "mounts", repo->mounts[0].host);
}
