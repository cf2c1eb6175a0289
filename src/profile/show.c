/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as the text of a profile: what settings_set would take to make them again. */
#include "profile/show.h"

#include "base/text/json_write.h"
#include "base/text/units.h"
#include "spec/settings_field.h"

#include <inttypes.h>
#include <string.h>

static void add_cores(struct str *out, int64_t milli)
{
	str_addf(out, "%" PRId64, milli / 1000);
	if (milli % 1000 == 0)
		return;
	str_addf(out, ".%03" PRId64, milli % 1000);
	while (out->data[out->len - 1] == '0')
		str_truncate(out, out->len - 1);
}

/* Fuel is decimal; the largest unit that divides it keeps it short. */
static void add_fuel(struct str *out, int64_t fuel)
{
	static const char names[] = "gmk";
	int64_t unit = 1000000000;

	for (const char *name = names; *name; name++, unit /= 1000) {
		if (fuel % unit != 0)
			continue;
		str_addf(out, "%" PRId64 "%c", fuel / unit, *name);
		return;
	}
	str_addf(out, "%" PRId64, fuel);
}

static void add_number(struct str *out, enum setting_kind kind, int64_t number)
{
	char words[32];

	if (kind == SETTING_SIZE) {
		units_format_size(number, words);
		str_add(out, words);
	} else if (kind == SETTING_DURATION || kind == SETTING_PAUSE) {
		units_format_duration(number, words);
		str_add(out, words);
	} else if (kind == SETTING_CPU) {
		add_cores(out, number);
	} else if (kind == SETTING_FUEL) {
		add_fuel(out, number);
	} else {
		str_addf(out, "%" PRId64, number);
	}
}

bool profile_words(const struct settings *settings, const struct setting_row *row, struct str *out)
{
	enum setting_shape shape = setting_shape(row);

	if (shape == SHAPE_NUMBER && settings_get_number(settings, row) != SETTING_UNSET)
		add_number(out, row->kind, settings_get_number(settings, row));
	else if (shape == SHAPE_WORD && settings_get_word(settings, row))
		str_add(out, settings_get_word(settings, row));
	else
		return false;
	return true;
}

const struct strv *profile_list(const struct settings *settings, const struct setting_row *row)
{
	return setting_shape(row) == SHAPE_LIST ? settings_get_list(settings, row) : NULL;
}

const char *profile_mount_mode(const struct settings_mount *mount)
{
	if (mount->through)
		return "rw-through";
	return mount->writable ? "rw" : "ro";
}

static struct value *mounts_value(const struct settings *settings)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < settings->mount_count; i++) {
		const struct settings_mount *mount = &settings->mounts[i];
		struct value *one = value_append(list, value_new_map());

		value_set(one, "host", value_new_text(mount->host));
		value_set(one, "guest", value_new_text(mount->guest));
		value_set(one, "mode", value_new_text(profile_mount_mode(mount)));
	}
	return list;
}

struct value *profile_show_value(const struct settings *settings)
{
	struct value *map = value_new_map();

	for (const struct setting_row *row = setting_rows; row->name; row++) {
		const struct strv *list = profile_list(settings, row);
		struct str words = STR_INIT;

		if (list && list->count > 0)
			value_set(map, row->name, value_from_strv(list));
		if (profile_words(settings, row, &words))
			value_set(map, row->name, value_new_text(str_cstr(&words)));
		str_done(&words);
	}
	if (settings->mount_count > 0)
		value_set(map, "mounts", mounts_value(settings));
	return map;
}

/* Whether TEXT can stand in YAML without quotes and mean itself. */
static bool is_plain(const struct value *item)
{
	return item->kind == VALUE_TEXT && item->text.len > 0 &&
	       strcmp(item->text.bytes, "null") != 0 &&
	       strspn(item->text.bytes, "0123456789abcdefghijklmnopqrstuvwxyz.") == item->text.len;
}

/* The character at AT and its length in bytes; AT is valid UTF-8, and beyond U+FFFF nothing matters. */
static unsigned read_char(const char *at, size_t *ret_len)
{
	const unsigned char *byte = (const unsigned char *)at;

	*ret_len = byte[0] < 0x80 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
	if (*ret_len == 2)
		return (byte[0] & 0x1fU) << 6 | (byte[1] & 0x3fU);
	if (*ret_len == 3)
		return (byte[0] & 0xfU) << 12 | (byte[1] & 0x3fU) << 6 | (byte[2] & 0x3fU);
	return *ret_len == 1 ? byte[0] : 0x10000;
}

/* What JSON leaves as it is but YAML takes for a line break or refuses, and terminals may obey. */
static bool needs_escape(unsigned c)
{
	return (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
	       c == 0xfffe || c == 0xffff;
}

/* JSON is YAML too, but for a few characters. */
static void add_json(struct str *out, const struct value *item)
{
	struct str json = STR_INIT;
	size_t len;

	json_write(&json, item, 0);
	for (const char *at = str_cstr(&json); *at; at += len) {
		unsigned c = read_char(at, &len);

		if (needs_escape(c))
			str_addf(out, "\\u%04x", c);
		else
			str_add_bytes(out, at, len);
	}
	str_done(&json);
}

void profile_show(const struct settings *settings, struct str *out)
{
	struct value *map = profile_show_value(settings);

	for (size_t i = 0; i < map->many.count; i++) {
		const struct value *item = map->many.items[i];

		str_addf(out, "%s: ", map->many.keys[i]);
		if (is_plain(item))
			str_add(out, item->text.bytes);
		else
			add_json(out, item);
		str_add_char(out, '\n');
	}
	value_free(map);
}
