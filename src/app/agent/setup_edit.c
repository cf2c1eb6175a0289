/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of agents' files: JSON by its structure, TOML and YAML by whole lines. */
#include "app/agent/setup_edit.h"

#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/text/shell_quote.h"
#include "base/text/yaml.h"
#include "app/agent/json_text.h"

#include <string.h>

/* WORD between the quotes of a JSON text; TOML and YAML have the same escapes. */
static void add_escaped(struct str *out, const char *word)
{
	owned(str_done) struct str quoted = STR_INIT;
	struct json json;

	json_init(&json, &quoted);
	json_text(&json, word);
	str_add_bytes(out, quoted.data + 1, quoted.len - 2);
}

static void add_filled(struct str *out, const char *text, const char *program, const char *flags)
{
	owned(str_done) struct str word = STR_INIT;

	shell_quote_add(&word, program);
	for (; *text; text++) {
		if (*text != '@') {
			str_add_char(out, *text);
			continue;
		}
		if (text[1] == '+')
			str_add(out, flags);
		else
			add_escaped(out, text[1] == '@' ? str_cstr(&word) : program);
		text += text[1] == '@' || text[1] == '+';
	}
}

static struct value *add_edit(struct value *edits, const char *core, const char *full, size_t lead)
{
	struct value *edit = value_append(edits, value_new_map());

	value_add(edit, "core", value_new_text(core));
	value_add(edit, "full", value_new_text(full));
	value_add(edit, "lead", value_new_int((int64_t)lead));
	return edit;
}

static void put_json(struct str *text, const struct json_place *place, const char *core,
		     size_t depth, struct value *edits)
{
	owned(str_done) struct str full = STR_INIT;
	size_t lead;

	json_text_insert(text, place, core, depth, &full, &lead);
	add_edit(edits, core, str_cstr(&full), lead);
}

/* The object or list at KEYS, made where it is missing. */
static int reach(struct str *text, const struct strv *keys, bool is_list, struct value *edits,
		 struct json_place *ret_place, struct error *err)
{
	size_t depth;
	int found;

	while ((found = json_text_find(text, keys, ret_place, &depth, err)) == 0) {
		bool makes_list = is_list && depth + 1 == keys->count;
		owned(free_ptr) char *core =
			xasprintf("\"%s\": %s", keys->items[depth], makes_list ? "[]" : "{}");
		struct value *path = value_new_list();

		put_json(text, ret_place, core, depth + 1, edits);
		for (size_t i = 0; i <= depth; i++)
			value_append(path, value_new_text(keys->items[i]));
		value_add(edits->many.items[edits->many.count - 1], "keys", path);
	}
	if (found < 0)
		return -1;
	if (text->data[ret_place->start] != (is_list ? '[' : '{'))
		return error_set(err, ERROR_INPUT, "has something else where '%s' belongs",
				 keys->items[keys->count - 1]);
	return 0;
}

static void split_keys(const char *keys, struct strv *ret_keys)
{
	while (*keys) {
		size_t len = strcspn(keys, "/");

		strv_take(ret_keys, xstrndup(keys, len));
		keys += len + (keys[len] == '/');
	}
}

/* FILLED as lines indented for DEPTH, behind its key where it has one. */
static int write_core(const struct setup_row *row, const struct str *filled, size_t depth,
		      struct str *ret_core, struct error *err)
{
	owned(value_release) struct value *value = NULL;
	owned(str_done) struct str lines = STR_INIT;

	if (json_read(str_cstr(filled), filled->len, NULL, &value, err) < 0)
		return error_context(err, "the entry for %s", row->agent);
	json_write(&lines, value, 2);
	if (row->name)
		str_addf(ret_core, "\"%s\": ", row->name);
	for (const char *at = str_cstr(&lines); *at; at++) {
		str_add_char(ret_core, *at);
		if (*at == '\n')
			str_addf(ret_core, "%*s", (int)depth * 2, "");
	}
	return 0;
}

static int put_into_json(const struct setup_row *row, const struct str *filled, struct str *text,
			 struct value *edits, struct error *err)
{
	owned(strv_done) struct strv keys = STRV_INIT;
	owned(str_done) struct str core = STR_INIT;
	owned(value_release) struct value *before = NULL, *after = NULL;
	struct json_place place, entry;
	struct error ignored;
	bool is_strict;
	size_t depth;

	if (text->len == 0)
		str_add(text, "{}\n");
	is_strict = json_read(text->data, text->len, NULL, &before, &ignored) == 0;
	split_keys(row->keys, &keys);
	if (reach(text, &keys, !row->name, edits, &place, err) < 0 ||
	    write_core(row, filled, keys.count + 1, &core, err) < 0)
		return -1;
	depth = keys.count + 1;
	if (row->name) {
		strv_add(&keys, row->name);
		if (json_text_find(text, &keys, &entry, &depth, err) != 0)
			return error_advise(err, ERROR_CONFLICT, "take it out first",
					    "has an entry '%s' that setup did not write",
					    row->name);
		depth = keys.count;
	}
	put_json(text, &place, str_cstr(&core), depth, edits);
	/* Comments keep a file from being read strictly; without any it must stay readable. */
	if (is_strict && json_read(text->data, text->len, NULL, &after, err) < 0)
		return -1;
	return 0;
}

/* Whether a line of TEXT begins with WORD, blanks aside. */
static bool has_line(const struct str *text, const char *word)
{
	const char *at = str_cstr(text);

	while (*at) {
		at += strspn(at, " \t");
		if (str_starts(at, word))
			return true;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return false;
}

/* Lines at the end of the file, behind an empty one. */
static void append_lines(struct str *text, const char *lines, struct value *edits)
{
	owned(str_done) struct str full = STR_INIT;
	bool is_open = text->len > 0 && text->data[text->len - 1] != '\n';
	struct value *edit;

	/* No part of what is taken out again: lines may be added behind it. */
	if (is_open)
		str_add_char(text, '\n');
	if (text->len > 0)
		str_add_char(&full, '\n');
	str_add(&full, lines);
	str_add(text, str_cstr(&full));
	edit = add_edit(edits, str_cstr(&full), str_cstr(&full), 0);
	value_add(edit, "ended", value_new_bool(is_open));
}

static int put_into_toml(const struct str *filled, struct str *text, struct value *edits,
			 struct error *err)
{
	static const char *const taken[] = { "[mcp_servers.aisbx",
					     "[mcp_servers.\"aisbx\"",
					     "mcp_servers.aisbx",
					     "aisbx =",
					     "aisbx=",
					     "mcp_servers =",
					     "mcp_servers=" };

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (has_line(text, taken[i]))
			return error_advise(err, ERROR_CONFLICT, "take it out first",
					    "has '%s' that setup did not write", taken[i]);
	}
	append_lines(text, str_cstr(filled), edits);
	return 0;
}

/* "NAME:" and the lines of FILLED below it, INDENT to the right; a single line stands behind the name. */
static void add_yaml(struct str *out, const struct setup_row *row, const struct str *filled,
		     size_t indent)
{
	const char *at = str_cstr(filled);

	str_addf(out, "%*s%s:", (int)indent, "", row->name);
	if (!row->keys) {
		str_addf(out, " %s", at);
		return;
	}
	str_add_char(out, '\n');
	while (*at) {
		size_t len = strcspn(at, "\n") + 1;

		str_addf(out, "%*s%.*s", (int)indent + 2, "", (int)len, at);
		at += len;
	}
}

/* The line behind "KEY:", where its entries begin; NULL where they are written in another way. */
static const char *below_key(const struct str *text, const char *key)
{
	const char *at = str_cstr(text);
	size_t len = strlen(key);

	while (*at && !(strncmp(at, key, len) == 0 && at[len] == ':')) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	if (!*at)
		return NULL;
	at += len + 1;
	at += strspn(at, " \t");
	if (*at && !strchr("\r\n#", *at))
		return NULL;
	at += strcspn(at, "\n");
	return *at == '\n' ? at + 1 : NULL;
}

static int put_below(const struct setup_row *row, const struct str *filled, struct str *text,
		     struct value *edits, struct error *err)
{
	owned(str_done) struct str full = STR_INIT;
	const char *place = below_key(text, row->keys), *at = place;
	size_t indent;

	if (!place)
		return error_advise(err, ERROR_INPUT, "write its entries on lines of their own",
				    "has '%s' in a form that cannot be added to", row->keys);
	while (at[strspn(at, " \t\r")] == '#' || at[strspn(at, " \t\r")] == '\n')
		at += strcspn(at, "\n") + 1;
	indent = strspn(at, " ");
	add_yaml(&full, row, filled, indent ? indent : 2);
	json_text_splice(text, (size_t)(place - text->data), (size_t)(place - text->data),
			 str_cstr(&full));
	add_edit(edits, str_cstr(&full), str_cstr(&full), 0);
	return 0;
}

static int put_into_yaml(const struct setup_row *row, const struct str *filled, struct str *text,
			 struct value *edits, struct error *err)
{
	owned(value_release) struct value *before = NULL, *after = NULL;
	owned(str_done) struct str lines = STR_INIT;
	const struct value *map;

	if (yaml_read(str_cstr(text), text->len, "line", YAML_TEXT, &before, err) < 0)
		return -1;
	map = row->keys ? value_get(before, row->keys) : before;
	if (before->kind != VALUE_MAP && before->kind != VALUE_NULL)
		return error_set(err, ERROR_INPUT, "is no map of settings");
	if (map && map->kind == VALUE_MAP && value_get(map, row->name))
		return error_advise(err, ERROR_CONFLICT, "take it out first",
				    "has '%s' that setup did not write", row->name);
	if (row->keys && map) {
		if (put_below(row, filled, text, edits, err) < 0)
			return -1;
	} else {
		if (row->keys)
			str_addf(&lines, "%s:\n", row->keys);
		add_yaml(&lines, row, filled, row->keys ? 2 : 0);
		append_lines(text, str_cstr(&lines), edits);
	}
	return yaml_read(str_cstr(text), text->len, "line", YAML_TEXT, &after, err);
}

/* By what the entry is known again when it was changed: its place in JSON, else words that only it has. */
static void add_mark(const struct setup_row *row, struct value *edit)
{
	owned(strv_done) struct strv keys = STRV_INIT;
	owned(free_ptr) char *mark = NULL;

	if (row->form == SETUP_JSON && row->name) {
		split_keys(row->keys, &keys);
		strv_add(&keys, row->name);
		value_add(edit, "place", value_from_strv(&keys));
		return;
	}
	if (row->form == SETUP_TOML)
		mark = xasprintf("[mcp_servers.%s]", row->name);
	else
		mark = row->name ? xasprintf("%s:", row->name) : xasprintf(" hook %s", row->agent);
	value_add(edit, "mark", value_new_text(mark));
}

static int put_entry(const struct setup_row *row, const struct str *filled, struct str *text,
		     struct value *edits, struct error *err)
{
	switch (row->form) {
	case SETUP_TOML:
		return put_into_toml(filled, text, edits, err);
	case SETUP_YAML:
		return put_into_yaml(row, filled, text, edits, err);
	case SETUP_JSON:
		break;
	}
	return put_into_json(row, filled, text, edits, err);
}

int setup_put(const struct setup_row *row, const char *program, const char *flags, struct str *text,
	      struct value *edits, struct error *err)
{
	owned(str_done) struct str filled = STR_INIT;

	add_filled(&filled, row->text, program, flags);
	if (put_entry(row, &filled, text, edits, err) < 0)
		return -1;
	add_mark(row, edits->many.items[edits->many.count - 1]);
	return 0;
}
