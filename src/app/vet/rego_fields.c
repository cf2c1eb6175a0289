/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy names that would make a rule which never holds, and denies nothing: fields of `input` that no input has, and
 * functions without a value where they should be an error.
 */
#include "app/vet/rego_parts.h"

#include "base/core/own.h"
#include "base/text/suggest.h"

#include <ctype.h>
#include <string.h>

struct reading {
	const char *at, *end;
	unsigned line;
	const char *path;	    /* of the file */
	const struct value *sample; /* an input with every field */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind a text in quotes that begins here. A raw one has no escapes. */
static void skip_text(struct reading *reading)
{
	char quote = *reading->at++;

	for (; reading->at < reading->end && *reading->at != quote; reading->at++) {
		reading->line += *reading->at == '\n';
		if (quote == '"' && *reading->at == '\\' && reading->at + 1 < reading->end)
			reading->at++;
	}
	if (reading->at < reading->end)
		reading->at++;
}

/* The next part of a reference: .name or ["name"]. Its length, 0 where the reference ends; *ret_name points to it. */
static size_t next_part(struct reading *reading, const char **ret_name)
{
	const char *at = reading->at, *name;

	if (at < reading->end && *at == '.') {
		for (name = ++at; at < reading->end && is_word(*at);)
			at++;
		reading->at = at;
		*ret_name = name;
		return (size_t)(at - name);
	}
	if (reading->end - at < 4 || at[0] != '[' || at[1] != '"')
		return 0;
	for (name = at += 2; at < reading->end && (is_word(*at) || *at == '-');)
		at++;
	if (reading->end - at < 2 || at[0] != '"' || at[1] != ']')
		return 0;
	reading->at = at + 2;
	*ret_name = name;
	return (size_t)(at - name);
}

static int refuse_field(const struct reading *reading, const struct value *map, const char *name,
			struct error *err)
{
	struct suggest suggest;
	char shown[STR_SHOWN_SIZE];

	suggest_init(&suggest, name);
	for (size_t i = 0; i < map->many.count; i++)
		suggest_try(&suggest, map->many.keys[i]);
	error_set(err, ERROR_DENIED,
		  "%s:%u: no input has a field '%s' there, so this rule would never hold",
		  reading->path, reading->line, str_shown(name, shown));
	return suggest_add_hint(suggest.best, err);
}

/* Behind the word `input`. A map without keys may hold anything, and so may what is no map. */
static int check_reference(struct reading *reading, struct error *err)
{
	const struct value *at = reading->sample;
	const char *name;
	size_t len;

	while ((len = next_part(reading, &name)) > 0) {
		owned(free_ptr) char *key = xstrndup(name, len);

		if (!at || at->kind != VALUE_MAP || at->many.count == 0)
			return 0;
		if (!value_get(at, key))
			return refuse_field(reading, at, key, err);
		at = value_get(at, key);
	}
	return 0;
}

static bool is_at(const struct reading *reading, const char *word)
{
	return (size_t)(reading->end - reading->at) >= strlen(word) &&
	       memcmp(reading->at, word, strlen(word)) == 0;
}

/* At the beginning of a word. units.parse_bytes("many") has no value here, and is an error in OPA. */
static int check_word(struct reading *reading, struct error *err)
{
	static const char input[] = "input", function[] = "units.parse";

	if (is_at(reading, function))
		return error_advise(err, ERROR_DENIED, "to_number() is an error for such texts",
				    "%s:%u: %s has no value for a text that is no size, so a rule "
				    "with it would not hold",
				    reading->path, reading->line, function);
	if (!is_at(reading, input)) {
		reading->at++;
		return 0;
	}
	reading->at += strlen(input);
	return reading->at < reading->end && is_word(*reading->at) ? 0
								   : check_reference(reading, err);
}

static int check_module(struct reading *reading, struct error *err)
{
	char before = '\n';

	while (reading->at < reading->end) {
		char c = *reading->at;

		if (c == '#') {
			while (reading->at < reading->end && *reading->at != '\n')
				reading->at++;
		} else if (c == '"' || c == '`') {
			skip_text(reading);
		} else if (!is_word(before) && before != '.' && is_word(c)) {
			if (check_word(reading, err) < 0)
				return -1;
		} else {
			reading->line += c == '\n';
			reading->at++;
		}
		before = c;
	}
	return 0;
}

int policy_files_check_fields(const struct policy_files *files, struct error *err)
{
	owned(value_release) struct value *sample = policy_sample();

	for (size_t i = 0; i < files->sets->many.count; i++) {
		const struct value *modules = value_get(files->sets->many.items[i], "modules");

		for (size_t k = 0; k < modules->many.count; k++) {
			const struct value *text = value_get(modules->many.items[k], "text");
			struct reading reading = {
				.at = text->text.bytes,
				.end = text->text.bytes + text->text.len,
				.line = 1,
				.path = value_get_text(modules->many.items[k], "path"),
				.sample = sample,
			};

			if (check_module(&reading, err) < 0)
				return -1;
		}
	}
	return 0;
}
