/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of agents' files, taken out again: what setup wrote, and nothing else. */
#include "app/agent/setup_edit.h"

#include "base/core/own.h"
#include "app/agent/json_text.h"

#include <string.h>

/* Where CORE lies: 1, 0 when it is nowhere, -1 when it is there twice. */
static int find_once(const struct str *text, const char *core, size_t *ret_at)
{
	size_t len = strlen(core);
	const char *data = str_cstr(text);
	const char *found = memmem(data, text->len, core, len);

	if (!found)
		return 0;
	*ret_at = (size_t)(found - data);
	return memmem(found + 1, text->len - *ret_at - 1, core, len) ? -1 : 1;
}

/* From START to END, with all that was inserted around it where that is still there. */
static void cut(const struct value *edit, struct str *text, size_t start, size_t end)
{
	const char *full = value_get_text(edit, "full");
	size_t lead = (size_t)value_int_of(edit, "lead"), len = strlen(full);

	if (lead <= start && start - lead + len <= text->len &&
	    memcmp(text->data + start - lead, full, len) == 0)
		json_text_splice(text, start - lead, start - lead + len, "");
	else
		json_text_remove(text, start, end);
}

static void add_keys(const struct value *path, struct strv *keys)
{
	for (size_t i = 0; path->kind == VALUE_LIST && i < path->many.count; i++) {
		if (path->many.items[i]->kind == VALUE_TEXT)
			strv_add(keys, path->many.items[i]->text.bytes);
	}
}

/* An object or list that was made goes when nothing is left in it. */
static int take_container(const struct value *edit, const struct value *path, struct str *text,
			  struct error *err)
{
	owned(strv_done) struct strv keys = STRV_INIT;
	struct json_place place;
	size_t depth;
	int found;

	add_keys(path, &keys);
	found = json_text_find(text, &keys, &place, &depth, err);
	if (found <= 0)
		return found;
	if (!strchr("{[", text->data[place.start]) || !json_text_is_empty(text, &place))
		return 0;
	cut(edit, text, place.member, place.end);
	return 1;
}

/* Whether the entry that EDIT wrote is still there in another form: by its place where it has a key, else by its words. */
static int is_changed(const struct value *edit, const struct str *text, struct error *err)
{
	const struct value *place = value_get(edit, "place");
	const char *mark = value_get_text(edit, "mark");
	owned(strv_done) struct strv keys = STRV_INIT;
	struct json_place found;
	size_t depth;

	if (!place)
		return mark && memmem(str_cstr(text), text->len, mark, strlen(mark));
	add_keys(place, &keys);
	return json_text_find(text, &keys, &found, &depth, err);
}

int setup_take(const struct value *edit, struct str *text, struct error *err)
{
	const struct value *path = value_get(edit, "keys");
	const char *core = value_get_text(edit, "core");
	size_t at;
	int found, changed;

	if (!core || !value_get_text(edit, "full"))
		return error_set(err, ERROR_INPUT, "the record of setup is damaged");
	if (path && path->kind == VALUE_LIST)
		return take_container(edit, path, text, err);
	found = find_once(text, core, &at);
	/* Never put in by a call that ended early, or taken out by it already. */
	if (found == 0 && value_is_true(edit, "unfinished"))
		return 0;
	changed = found == 0 ? is_changed(edit, text, err) : found < 0;
	/* Taken out by hand. */
	if (changed < 0 || (found == 0 && !changed))
		return changed;
	if (changed)
		return error_advise(err, ERROR_CONFLICT, "take out what is left of it by hand",
				    "what setup wrote was changed or is gone");
	cut(edit, text, at, at + strlen(core));
	/* The newline that the user's last line lacked, unless lines follow it now. */
	if (value_is_true(edit, "ended") && at == text->len && str_ends(str_cstr(text), "\n"))
		json_text_splice(text, at - 1, at, "");
	return 1;
}
