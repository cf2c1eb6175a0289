/* SPDX-License-Identifier: Apache-2.0 */
/* What configuration files of package clients say, form by form. */
#include "app/preset/preset_text.h"

#include "app/preset/preset_parts.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"

#include <ctype.h>
#include <string.h>

#define BLANKS " \t\r"
/* From a key to the quoted text that is meant. */
#define QUOTE_REACH 160

/* The line at *AT without blanks around it; *RET_IS_MORE when it begins with one. False at the end. */
static bool next_line(const char **at, const char *end, struct part *ret_line, bool *ret_is_more)
{
	const char *stop;

	if (*at >= end)
		return false;
	stop = memchr(*at, '\n', (size_t)(end - *at));
	if (!stop)
		stop = end;
	*ret_is_more = **at == ' ' || **at == '\t';
	*ret_line = part_trim((struct part){ *at, (size_t)(stop - *at) });
	*at = stop + 1;
	return true;
}

struct part part_trim(struct part part)
{
	while (part.len > 0 && memchr(BLANKS, part.text[0], 3)) {
		part.text++;
		part.len--;
	}
	while (part.len > 0 && memchr(BLANKS, part.text[part.len - 1], 3))
		part.len--;
	return part;
}

struct part part_unquote(struct part part)
{
	if (part.len >= 2 && (part.text[0] == '"' || part.text[0] == '\'') &&
	    part.text[part.len - 1] == part.text[0])
		return (struct part){ part.text + 1, part.len - 2 };
	return part;
}

void part_add(struct strv *values, struct part part)
{
	if (part.len > 0 && part.len < PRESET_VALUE_SIZE && values->count < PRESET_VALUES_MAX &&
	    !memchr(part.text, '\0', part.len))
		strv_take(values, xstrndup(part.text, part.len));
}

bool part_has_key(struct part name, const char *keys)
{
	char key[128], folded[128];

	if (name.len == 0 || name.len >= sizeof(folded))
		return false;
	for (size_t i = 0; i < name.len; i++)
		folded[i] = name.text[i] == '_' ? '-' : (char)tolower((unsigned char)name.text[i]);
	folded[name.len] = '\0';
	for (size_t len; *keys; keys += len + (keys[len] == '|')) {
		len = strcspn(keys, "|");
		if (len >= sizeof(key))
			continue;
		memcpy(key, keys, len);
		key[len] = '\0';
		if (wildcard_matches(key, folded, 0))
			return true;
	}
	return false;
}

/* KEY = VALUE, or KEY VALUE and KEY: VALUE where there is no '='. A name may have a colon of its own (@scope:registry). */
static bool split_pair(struct part line, struct part *ret_name, struct part *ret_value)
{
	const char *mark = memchr(line.text, '=', line.len);
	size_t name = 0;

	if (mark)
		name = (size_t)(mark - line.text);
	else
		while (name < line.len && line.text[name] != ' ' && line.text[name] != '\t')
			name++;
	if (name == line.len)
		return false;
	*ret_name = part_trim((struct part){ line.text, name });
	*ret_value = part_trim((struct part){ line.text + name + 1, line.len - name - 1 });
	if (!mark && ret_name->len > 0 && ret_name->text[ret_name->len - 1] == ':')
		ret_name->len--;
	return true;
}

static void read_ini(struct part text, const char *keys, struct strv *values)
{
	const char *at = text.text, *end = at + text.len;
	bool is_more, in_key = false;
	struct part line, name, value;

	while (next_line(&at, end, &line, &is_more)) {
		if (line.len == 0 || line.text[0] == '#' || line.text[0] == ';')
			continue;
		/* Indented lines carry on a value, unless they are pairs themselves, as npm has them. */
		if (is_more && in_key && !memchr(line.text, '=', line.len)) {
			part_add(values, part_unquote(line));
			continue;
		}
		in_key = split_pair(line, &name, &value) && part_has_key(name, keys);
		if (in_key)
			part_add(values, part_unquote(value));
		else if (line.text[line.len - 1] == '=')
			in_key = part_has_key(part_trim((struct part){ line.text, line.len - 1 }),
					      keys);
	}
}

/* deb [options] URI suite component... */
static void read_deb(struct part text, struct strv *values)
{
	const char *at = text.text, *end = at + text.len;
	struct part line;
	bool is_more;

	while (next_line(&at, end, &line, &is_more)) {
		size_t word = 0;

		while (word < line.len && !memchr(BLANKS "[", line.text[word], 4))
			word++;
		if (!(word == 3 && memcmp(line.text, "deb", 3) == 0) &&
		    !(word == 7 && memcmp(line.text, "deb-src", 7) == 0))
			continue;
		struct part rest = part_trim((struct part){ line.text + word, line.len - word });

		if (rest.len > 0 && rest.text[0] == '[') {
			const char *close = memchr(rest.text, ']', rest.len);
			size_t options = close ? (size_t)(close + 1 - rest.text) : rest.len;

			rest = part_trim((struct part){ rest.text + options, rest.len - options });
		}
		for (word = 0; word < rest.len && !memchr(BLANKS, rest.text[word], 3);)
			word++;
		part_add(values, (struct part){ rest.text, word });
	}
}

static bool is_field(struct part line, const char *name)
{
	size_t len = strlen(name);

	return line.len > len && strncasecmp(line.text, name, len) == 0 && line.text[len] == ':';
}

/* Takes over what a stanza named, unless it is switched off. */
static void end_stanza(struct strv *stanza, bool *is_off, struct strv *values)
{
	for (size_t i = 0; i < stanza->count && !*is_off; i++)
		part_add(values, (struct part){ stanza->items[i], strlen(stanza->items[i]) });
	strv_done(stanza);
	*is_off = false;
}

static void read_deb822(struct part text, struct strv *values)
{
	owned(strv_done) struct strv stanza = STRV_INIT;
	const char *at = text.text, *end = at + text.len;
	bool is_more, is_off = false, in_uris = false;
	struct part line;

	while (next_line(&at, end, &line, &is_more)) {
		if (line.len > 0 && line.text[0] == '#')
			continue;
		if (line.len == 0) {
			end_stanza(&stanza, &is_off, values);
			in_uris = false;
		} else if (is_more && in_uris) {
			part_add(&stanza, line);
		} else if (is_field(line, "URIs")) {
			part_add(&stanza, part_trim((struct part){ line.text + 5, line.len - 5 }));
			in_uris = true;
		} else {
			in_uris = false;
			if (is_field(line, "Enabled"))
				is_off = !memmem(line.text, line.len, "yes", 3) &&
					 !memmem(line.text, line.len, "true", 4);
		}
	}
	end_stanza(&stanza, &is_off, values);
}

static void read_lines(struct part text, struct strv *values)
{
	const char *at = text.text, *end = at + text.len;
	struct part line;
	bool is_more;

	while (next_line(&at, end, &line, &is_more)) {
		if (line.len > 0 && line.text[0] != '#')
			part_add(values, line);
	}
}

/* The quoted text that begins within reach of AT. */
static bool quoted_behind(const char *at, const char *end, struct part *ret_part)
{
	const char *limit = end - at > QUOTE_REACH ? at + QUOTE_REACH : end, *close;

	while (at < limit && *at != '"' && *at != '\'')
		at++;
	if (at >= limit)
		return false;
	if (end - at > PRESET_VALUE_SIZE)
		end = at + PRESET_VALUE_SIZE;
	close = memchr(at + 1, *at, (size_t)(end - at - 1));
	if (!close)
		return false;
	*ret_part = (struct part){ at + 1, (size_t)(close - at - 1) };
	return true;
}

static void read_quoted(struct part text, const char *keys, bool is_all, struct strv *values)
{
	const char *end = text.text + text.len;

	for (size_t len; *keys; keys += len + (keys[len] == '|')) {
		const char *at = text.text;
		struct part found;

		len = strcspn(keys, "|");
		while ((at = memmem(at, (size_t)(end - at), keys, len))) {
			at += len;
			if (quoted_behind(at, end, &found))
				part_add(values, found);
			if (!is_all)
				break;
		}
	}
}

void preset_text_read(enum preset_form form, const char *bytes, size_t len, const char *keys,
		      struct strv *values)
{
	const struct part text = { bytes, len };

	switch (form) {
	case PRESET_INI:
		return read_ini(text, keys, values);
	case PRESET_TOML:
		return preset_toml_read(text, keys, values);
	case PRESET_XML:
	case PRESET_JAR:
		return preset_xml_read(text, keys, values);
	case PRESET_DEB:
		return read_deb(text, values);
	case PRESET_DEB822:
		return read_deb822(text, values);
	case PRESET_LINES:
	case PRESET_ASK:
		return read_lines(text, values);
	case PRESET_QUOTED:
	case PRESET_INDEX_FILES:
	case PRESET_LOOK:
		return read_quoted(text, keys, form == PRESET_LOOK, values);
	case PRESET_ENV:
	case PRESET_INDEX_NAME:
	case PRESET_SET:
		break;
	}
}
