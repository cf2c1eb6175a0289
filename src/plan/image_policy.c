/* SPDX-License-Identifier: Apache-2.0 */
/* What an image lets a run have. */
#include "plan/image_policy.h"

#include "base/core/own.h"
#include "spec/settings_field.h"

#include <stdlib.h>
#include <string.h>

static bool is_policy(const struct setting_row *row)
{
	return setting_shape(row) == SHAPE_NUMBER || strcmp(row->name, "net") == 0 ||
	       strcmp(row->name, "deny") == 0 || strcmp(row->name, "syscalls") == 0;
}

/* Of the calls WANTED those that are permitted anyway; settings_narrow() takes a part of a list, and no other list. */
static int keep_common(const struct strv *permitted, struct strv *wanted, struct error *err)
{
	owned(strv_done) struct strv common = STRV_INIT;

	for (size_t i = 0; i < wanted->count; i++) {
		if (permitted->count == 0 || strv_has(permitted, wanted->items[i]))
			strv_add(&common, wanted->items[i]);
	}
	if (common.count == 0)
		return error_set(err, ERROR_DENIED,
				 "the image and the profile have no system call in common");
	strv_done(wanted);
	strv_copy(wanted, &common);
	return 0;
}

static int set_calls(struct settings *wish, const struct setting_row *row, const char *names,
		     const struct strv *permitted, struct error *err)
{
	for (const char *at = names; *at;) {
		size_t len = strcspn(at, ",");
		owned(free_ptr) char *name = xstrndup(at, len);

		if (settings_set(wish, row, row->name, name, err) < 0)
			return -1;
		at += len + (at[len] == ',');
	}
	return keep_common(permitted, &wish->syscalls, err);
}

/* Whatever would bring one: rules, ports. */
static int close_network(struct settings *settings, const char *value, struct error *err)
{
	if (strcmp(value, "none") != 0)
		return error_set(err, ERROR_INPUT, "'net' may only be none");
	free(settings->net);
	settings->net = xstrdup("none");
	strv_done(&settings->allow);
	strv_done(&settings->publish);
	return 0;
}

static int apply_word(const char *word, struct settings *settings, struct error *err)
{
	size_t len = strcspn(word, "=");
	owned(free_ptr) char *key = xstrndup(word, len);
	const struct setting_row *row = setting_find(key);
	owned(settings_done) struct settings wish;
	owned(strv_done) struct strv tighter = STRV_INIT;
	char shown[STR_SHOWN_SIZE];
	int status;

	settings_init(&wish);
	if (!word[len] || !row || !is_policy(row))
		return error_set(err, ERROR_INPUT, "'%s' is nothing that an image may limit",
				 str_shown(key, shown));
	if (strcmp(row->name, "net") == 0)
		return close_network(settings, word + len + 1, err);
	status = strcmp(row->name, "syscalls") == 0
			 ? set_calls(&wish, row, word + len + 1, &settings->syscalls, err)
			 : settings_set(&wish, row, row->name, word + len + 1, err);
	if (status == 0)
		settings_narrow(settings, &wish, &tighter);
	return status;
}

int image_policy_apply(const struct strv *words, struct settings *settings, struct error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		if (apply_word(words->items[i], settings, err) < 0)
			return error_context(err, "the image's policy");
	}
	return 0;
}
