/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a setting from its text: each kind's form is checked here and nowhere else. */
#include "spec/settings.h"

#include "base/text/clean_path.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "spec/net_words.h"
#include "spec/settings_field.h"
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

/* One value to be set: its key, where it was written, its text. */
struct entry {
	const struct setting_row *row;
	const char *where;
	const char *value;
};

static int refuse(const struct entry *entry, const char *what, const char *usage, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	error_set(err, ERROR_USAGE, "%s: '%s' is not %s", entry->where,
		  str_shown(entry->value, shown), what);
	return error_add_hint(err, "use %s", usage);
}

static int parse_pause(const struct entry *entry, int64_t *ret_ms, struct error *err)
{
	if (strcmp(entry->value, "0") != 0 && strcmp(entry->value, "0s") != 0)
		return units_duration(entry->where, entry->value, ret_ms, err);
	*ret_ms = 0;
	return 0;
}

static int parse_number(const struct entry *entry, int64_t *ret_number, struct error *err)
{
	switch (entry->row->kind) {
	case SETTING_SIZE:
		return units_size(entry->where, entry->value, ret_number, err);
	case SETTING_DURATION:
		return units_duration(entry->where, entry->value, ret_number, err);
	case SETTING_PAUSE:
		return parse_pause(entry, ret_number, err);
	case SETTING_CPU:
		return units_cpu(entry->where, entry->value, ret_number, err);
	case SETTING_FUEL:
		return units_fuel(entry->where, entry->value, ret_number, err);
	case SETTING_COUNT:
	case SETTING_WORD:
	case SETTING_MAYBE:
	case SETTING_LIST:
	case SETTING_MOUNT_RO:
	case SETTING_MOUNT_RW:
	case SETTING_MOUNT_THROUGH:
		break;
	}
	return units_count(entry->where, entry->value, entry->row->min, entry->row->max, ret_number,
			   err);
}

static int set_number(struct settings *settings, const struct entry *entry, struct error *err)
{
	const struct setting_row *row = entry->row;
	char shown[STR_SHOWN_SIZE], bound[32];
	int64_t number;

	if (parse_number(entry, &number, err) < 0)
		return -1;
	if (row->min && number < row->min) {
		units_format_size(row->min, bound);
		error_set(err, ERROR_USAGE, "%s: '%s' is too small", entry->where,
			  str_shown(entry->value, shown));
		return error_add_hint(err, "at least %s", bound);
	}
	if (row->max && number > row->max) {
		units_format_size(row->max, bound);
		error_set(err, ERROR_USAGE, "%s: '%s' is too large", entry->where,
			  str_shown(entry->value, shown));
		return error_add_hint(err, "at most %s", bound);
	}
	*settings_number(settings, row) = number;
	settings->ceilings &= ~settings_ceiling_bit(row);
	return 0;
}

/* Whether WORD is one of "a|b|c". */
static bool is_choice(const char *choices, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = choices; *at; at += *at == '|') {
		size_t part = strcspn(at, "|");

		if (part == len && memcmp(at, word, len) == 0)
			return true;
		at += part;
	}
	return false;
}

static bool has_control(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	}
	return false;
}

static int set_word(struct settings *settings, const struct entry *entry, struct error *err)
{
	const struct setting_row *row = entry->row;
	char **word = settings_word(settings, row);

	if (row->choices && !is_choice(row->choices, entry->value))
		return refuse(entry, "one of its values", row->choices, err);
	if (!entry->value[0] || has_control(entry->value))
		return refuse(entry, "a value", row->metavar, err);
	free(*word);
	*word = xstrdup(entry->value);
	return 0;
}

static bool is_name_char(char c, bool is_first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
		return true;
	return !is_first && c >= '0' && c <= '9';
}

/* Length of the variable name TEXT begins with; 0 when it begins with none. */
static size_t name_length(const char *text)
{
	size_t len = 0;

	while (is_name_char(text[len], len == 0))
		len++;
	return len;
}

static int check_pair(const struct entry *entry, bool may_be_empty, struct error *err)
{
	size_t len = name_length(entry->value);

	if (len == 0 || entry->value[len] != '=' || (!may_be_empty && !entry->value[len + 1]))
		return refuse(entry, may_be_empty ? "a variable" : "a secret", entry->row->metavar,
			      err);
	return 0;
}

/* NAME=FILE, or the NAME of one that is stored. */
static int check_secret(const struct entry *entry, struct error *err)
{
	size_t len = name_length(entry->value);

	return len > 0 && !entry->value[len] ? 0 : check_pair(entry, false, err);
}

static int check_secret_env(const struct entry *entry, struct error *err)
{
	const char *name = entry->value + name_length(entry->value) + 1;

	if (check_pair(entry, false, err) < 0)
		return -1;
	return name_length(name) > 0 && !name[name_length(name)]
		       ? 0
		       : refuse(entry, "a variable and the name of a secret", "API_KEY=api_key",
				err);
}

/* What it names is checked against the rules of the network (net/rule/inject.h). */
static int check_inject_env(const struct entry *entry, struct error *err)
{
	size_t len = name_length(entry->value), name;

	if (len > 0 && entry->value[len] == '=') {
		name = name_length(entry->value + len + 1);
		if (name > 0 && entry->value[len + 1 + name] == '@')
			return 0;
	}
	return refuse(entry, "a variable, a secret and a host", "API_KEY=api_key@api.example.org",
		      err);
}

static int check_inject(const struct entry *entry, struct error *err)
{
	const char *equals = strchr(entry->value, '='), *colon = strchr(entry->value, ':');

	if (equals && colon && colon < equals && name_length(equals + 1) > 0 &&
	    !equals[1 + name_length(equals + 1)])
		return 0;
	return refuse(entry, "a secret for a host", "api.example.org:Authorization=api_key", err);
}

static int check_name(const struct entry *entry, struct error *err)
{
	size_t len = name_length(entry->value);

	if (len == 0 || entry->value[len])
		return refuse(entry, "a variable's name", "PATH, CI", err);
	return 0;
}

static int check_layer(const struct entry *entry, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	if (layer_find(entry->value) != LAYER_COUNT)
		return 0;
	suggest_init(&suggest, entry->value);
	for (int layer = 0; layer < LAYER_COUNT; layer++)
		suggest_try(&suggest, layer_name((enum layer)layer));
	error_set(err, ERROR_USAGE, "%s: '%s' is not a layer", entry->where,
		  str_shown(entry->value, shown));
	return error_add_hint(err, "%s %s", suggest.best ? "did you mean" : "use",
			      suggest.best ? suggest.best : "landlock, cgroup, limits, disk");
}

static bool is_port(const char *text)
{
	char *end;
	unsigned long port;

	if (*text < '0' || *text > '9')
		return false;
	port = strtoul(text, &end, 10);
	return !*end && port >= 1 && port <= 65535;
}

static int check_publish(const struct entry *entry, struct error *err)
{
	owned(free_ptr) char *first = xstrndup(entry->value, strcspn(entry->value, ":"));
	const char *colon = strchr(entry->value, ':');

	if (!colon || !is_port(first) || !is_port(colon + 1))
		return refuse(entry, "a pair of ports", "8080:80", err);
	return 0;
}

static int check_secret_header(const struct entry *entry, struct error *err)
{
	const char *equals = strchr(entry->value, '=');
	const char *colon = strchr(entry->value, ':');

	if (!equals || !colon || colon == entry->value || colon + 1 >= equals || !equals[1])
		return refuse(entry, "a header for a host", "api.example.org:Authorization=FILE",
			      err);
	return 0;
}

static int check_item(const struct settings *settings, const struct entry *entry,
		      const struct strv *list, struct error *err)
{
	if (list == &settings->env)
		return check_pair(entry, true, err);
	if (list == &settings->secret)
		return check_secret(entry, err);
	if (list == &settings->secret_env)
		return check_secret_env(entry, err);
	if (list == &settings->inject)
		return check_inject(entry, err);
	if (list == &settings->inject_env)
		return check_inject_env(entry, err);
	if (list == &settings->pass_env)
		return check_name(entry, err);
	if (list == &settings->require || list == &settings->allow_degraded)
		return check_layer(entry, err);
	if (list == &settings->publish)
		return check_publish(entry, err);
	if (list == &settings->secret_header)
		return check_secret_header(entry, err);
	/* Further arguments of an entrypoint may be empty, its program may not. */
	if (!entry->value[0] && (list != &settings->entrypoint || list->count == 0))
		return refuse(entry, "a value", entry->row->metavar, err);
	return 0;
}

static int add_item(struct settings *settings, const struct entry *entry, struct error *err)
{
	struct strv *list = settings_list(settings, entry->row);

	if (list == &settings->allow || list == &settings->deny)
		return net_words_expand(entry->value, list == &settings->deny, entry->where, list,
					err);
	if (check_item(settings, entry, list, err) < 0)
		return -1;
	if (list == &settings->env)
		settings_add_env(list, entry->value);
	else if (list == &settings->entrypoint || !strv_has(list, entry->value))
		strv_add(list, entry->value);
	return 0;
}

/* SRC:DST, or SRC alone for the same place inside. The last colon counts: a source may have one in its name. */
static int add_mount(struct settings *settings, const struct entry *entry, struct error *err)
{
	const char *colon = strrchr(entry->value, ':');
	owned(free_ptr) char *host = xstrndup(entry->value, colon ? (size_t)(colon - entry->value)
								  : strlen(entry->value));
	owned(free_ptr) char *guest = path_clean(colon ? colon + 1 : entry->value);

	if (!host[0] || !guest || strcmp(guest, "/") == 0 || has_control(guest))
		return refuse(entry, "a mount", "SRC:/absolute/path, without '..' and not the root",
			      err);
	settings_add_mount(settings, host, guest, entry->row->kind != SETTING_MOUNT_RO,
			   entry->row->kind == SETTING_MOUNT_THROUGH);
	return 0;
}

int settings_set(struct settings *settings, const struct setting_row *row, const char *where,
		 const char *value, struct error *err)
{
	struct entry entry = { .row = row, .where = where, .value = value };

	switch (setting_shape(row)) {
	case SHAPE_NUMBER:
		return set_number(settings, &entry, err);
	case SHAPE_WORD:
		return set_word(settings, &entry, err);
	case SHAPE_LIST:
		return add_item(settings, &entry, err);
	case SHAPE_MOUNT:
		break;
	}
	return add_mount(settings, &entry, err);
}
