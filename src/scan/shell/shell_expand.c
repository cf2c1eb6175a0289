/* SPDX-License-Identifier: Apache-2.0 */
/* What $NAME and ${NAME...} stand for, as far as the text itself defines it. */
#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"
#include "scan/shell/shell_word.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8u
/* Longer values are not tried against a pattern end by end. */
#define STRIP_MAX 2048u
/* So many steps of a pattern cost as much as a byte of a word. */
#define TRIES_PER_BYTE 16u

/* A name and what stands behind it up to the closing brace. */
struct expansion {
	const char *name;
	size_t name_len;
	char *rest;	  /* "" where the whole value is meant */
	bool is_indirect; /* ${!NAME}: the value is a name */
	bool is_length;	  /* ${#NAME} */
};

static void expansion_done(struct expansion *expansion)
{
	free_ptr(&expansion->rest);
}

/* $@, $*, $1 and the like have names of one letter. */
static size_t name_length(const char *name, const char *end)
{
	size_t len = 0;

	if (name < end && (strchr("@*#?!$-", *name) || isdigit((unsigned char)*name)))
		return 1;
	while (name + len < end && (isalnum((unsigned char)name[len]) || name[len] == '_'))
		len++;
	return len;
}

static void split(const char *text, size_t len, struct expansion *ret)
{
	const char *name = text + 1, *end = text + len;
	bool is_braced = len > 3 && *name == '{';
	size_t name_len;

	*ret = (struct expansion){ .name = name };
	name += is_braced;
	end -= is_braced;
	if (is_braced && end - name > 1 && (*name == '!' || *name == '#')) {
		ret->is_indirect = *name == '!';
		ret->is_length = *name == '#';
		name++;
	}
	name_len = name_length(name, end);
	ret->name = name;
	ret->name_len = name_len;
	ret->rest = is_braced ? xstrndup(name + name_len, (size_t)(end - name) - name_len)
			      : xstrdup("");
}

static bool is_named(const struct expansion *expansion, const char *names)
{
	return in_list_bytes(names, expansion->name, expansion->name_len);
}

/* Of what is longer the rest is not known. */
static bool is_too_long(struct str *out)
{
	if (out->len <= SHELL_WORD_MAX)
		return false;
	str_add_char(out, FOLD_GAP);
	return true;
}

/* What the function or the text was given: $1, $@. False when that is not known. */
static bool add_given(const struct shell *shell, const char *name, size_t len, struct str *out)
{
	const struct strv *given = shell->given;
	/* A shift may not count, either. */
	size_t gone = shell->is_former ? 0 : shell->shifted, at;

	if (!given || len != 1)
		return false;
	if (*name == '@' || *name == '*') {
		for (size_t i = gone; i < given->count && !is_too_long(out); i++) {
			str_add(out, i > gone ? " " : "");
			str_add(out, given->items[i]);
		}
		return true;
	}
	at = isdigit((unsigned char)*name) ? (size_t)(*name - '0') : 0;
	if (at > 0 && at + gone <= given->count)
		str_add(out, given->items[at + gone - 1]);
	return at > 0;
}

/* Adds the value of a variable; false when the text never sets it. */
static bool add_variable(const struct shell *shell, const char *name, size_t len, struct str *out)
{
	const struct abstract_value *value;

	if (add_given(shell, name, len, out))
		return true;
	value = shell_variable(shell, name, len);
	if (value)
		str_add_bytes(out, value->text, value->len);
	return value != NULL;
}

/* Where the expansion at AT ends: behind its name, or its closing brace. */
static const char *end_of(const char *at)
{
	unsigned depth = 0;

	if (at[1] != '{')
		return at + 1 + name_length(at + 1, at + strlen(at));
	for (at++; *at; at++) {
		depth += *at == '{';
		depth -= *at == '}';
		if (depth == 0)
			return at + 1;
	}
	return at;
}

/* The word of ${x:-WORD}, with its quotes off and its own variables in place. */
static void add_alternative(struct shell *shell, const char *word, struct str *out)
{
	while (*word && !is_too_long(out)) {
		const char *end = *word == '$' ? end_of(word) : word;

		if (*word == '$' && shell->depth < DEPTH_MAX && end > word + 1) {
			shell->depth++;
			shell_expansion_add(shell, word, (size_t)(end - word), out);
			shell->depth--;
			word = end;
			continue;
		}
		if (*word == '`' || *word == '$') {
			str_add_char(out, FOLD_GAP);
			return;
		}
		word += *word == '\\' && word[1];
		if (!strchr("'\"", *word))
			str_add_char(out, *word);
		word++;
	}
}

/* " -3", "(-3)", "2": a place in a text of LEN bytes; false when it is something else. */
static bool read_place(const char **at, size_t len, size_t *ret_place)
{
	bool is_bracketed;
	char *end;
	long number;

	*at += strspn(*at, " ");
	is_bracketed = **at == '(';
	*at += is_bracketed;
	number = strtol(*at, &end, 10);
	if (end == *at || (is_bracketed && *end != ')'))
		return false;
	*at = end + is_bracketed;
	if (number < 0)
		number = number > -(long)len ? number + (long)len : 0;
	*ret_place = (size_t)number < len ? (size_t)number : len;
	return true;
}

/* ${x:2:3}, ${x: -3} */
static void add_slice(const char *value, const char *rest, struct str *out)
{
	size_t len = strlen(value), from, count;

	if (!read_place(&rest, len, &from)) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	count = len - from;
	if (*rest == ':') {
		rest++;
		if (!read_place(&rest, count, &count))
			count = 0;
	}
	if (*rest)
		str_add_char(out, FOLD_GAP);
	else
		str_add_bytes(out, value + from, count);
}

/* ${x[2]}, of a list that is kept with blanks between its items; the last is -1. */
static void add_item(const char *value, const char *rest, struct str *out)
{
	char *end;
	long index = strtol(rest, &end, 10);

	if (strcmp(end, "]") != 0) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	if (index < 0) {
		const char *last = strrchr(value, ' ');

		str_add(out, last ? last + 1 : value);
		return;
	}
	while (index-- > 0 && *value) {
		value += strcspn(value, " ");
		value += *value == ' ';
	}
	str_add_bytes(out, value, strcspn(value, " "));
}

/* ${x[@]:1:2}: items, from a number on. */
static void add_items(const char *value, const char *rest, struct str *out)
{
	char *end;
	unsigned long from = strtoul(rest, &end, 10);
	unsigned long count = *end == ':' ? strtoul(end + 1, &end, 10) : SHELL_WORD_MAX;

	/* Those counted from the end: not known here. */
	if (*end || strchr(rest, '-')) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	for (unsigned long i = 0; *value && i < from + count; i++) {
		size_t len = strcspn(value, " ");

		if (i > from)
			str_add_char(out, ' ');
		if (i >= from)
			str_add_bytes(out, value, len);
		value += len;
		value += *value == ' ';
	}
}

/* ${x//a/b}, ${x/a/b}, ${x/#a/b}, of plain letters. */
static void add_replaced(const char *value, const char *rest, struct str *out)
{
	bool is_all = rest[0] == '/', is_first = rest[0] == '#';
	const char *old = rest + (is_all || is_first), *slash = strchr(old, '/'), *found;
	const char *new = slash ? slash + 1 : "";
	owned(free_ptr) char *wanted = xstrndup(old, slash ? (size_t)(slash - old) : strlen(old));

	if (!*wanted || strpbrk(wanted, "*?[$\\") || strpbrk(new, "$\\")) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	while (!is_too_long(out) && (found = strstr(value, wanted)) &&
	       (!is_first || found == value)) {
		str_add_bytes(out, value, (size_t)(found - value));
		str_add(out, new);
		value = found + strlen(wanted);
		if (!is_all)
			break;
	}
	str_add(out, value);
}

/* ${x#pattern}, ${x%pattern}; doubled: as much as it covers. */
static void add_stripped(struct shell *shell, const char *value, const char *rest, struct str *out)
{
	char side = rest[0];
	bool is_most = rest[1] == side;
	const char *pattern = rest + 1 + is_most;
	size_t len = strlen(value), cut = 0;
	bool is_cut = false;

	shell->is_cut = shell->is_cut || len > STRIP_MAX;
	if (strpbrk(pattern, "$`") || len > STRIP_MAX ||
	    !job_spend(shell->job, len * len * strlen(pattern) / TRIES_PER_BYTE)) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	for (size_t i = 0; i <= len && (is_most || !is_cut); i++) {
		owned(free_ptr) char *part =
			side == '#' ? xstrndup(value, i) : xstrdup(value + len - i);

		if (wildcard_matches(pattern, part, 0)) {
			cut = i;
			is_cut = true;
		}
	}
	if (side == '#')
		str_add(out, value + cut);
	else
		str_add_bytes(out, value, len - cut);
}

/* ${x,,}, ${x^}, ${x@U} */
static void add_cased(const char *value, bool is_upper, bool is_all, struct str *out)
{
	for (bool is_first = true; *value; value++, is_first = false) {
		int c = (unsigned char)*value;

		if (is_all || is_first)
			c = is_upper ? toupper(c) : tolower(c);
		str_add_char(out, (char)c);
	}
}

static void add_changed(struct shell *shell, const char *value, const char *rest, struct str *out)
{
	bool ignored;

	if (!*rest || in_list("[@] [*] @P @Q @A :? ?", rest))
		str_add(out, value);
	else if (rest[0] == ':')
		add_slice(value, rest + 1, out);
	else if (rest[0] == ',' || rest[0] == '^')
		add_cased(value, rest[0] == '^', rest[1] == rest[0], out);
	else if (strcmp(rest, "@U") == 0 || strcmp(rest, "@L") == 0)
		add_cased(value, rest[1] == 'U', true, out);
	else if (strcmp(rest, "@E") == 0)
		fold_escapes(out, value, strlen(value), &ignored);
	else if (str_starts(rest, "[@]:") || str_starts(rest, "[*]:"))
		add_items(value, rest + 4, out);
	else if (rest[0] == '[')
		add_item(value, rest + 1, out);
	else if (rest[0] == '/')
		add_replaced(value, rest + 1, out);
	else if (rest[0] == '#' || rest[0] == '%')
		add_stripped(shell, value, rest, out);
	else
		str_add_char(out, FOLD_GAP);
}

/* The word of ${x:-WORD}, ${x-WORD}, ${x:+WORD} and their like; NULL when it is something else. */
static const char *alternative_in(const char *rest)
{
	rest += rest[0] == ':';
	return *rest && strchr("-=+", *rest) ? rest + 1 : NULL;
}

/* ${m[key]}: what was given to m[key] by that very name. */
static bool add_keyed(const struct shell *shell, const struct expansion *expansion, struct str *out)
{
	return expansion->rest[0] == '[' &&
	       add_variable(shell, expansion->name, expansion->name_len + strlen(expansion->rest),
			    out);
}

/* Variables that every shell has. */
static bool add_common(const struct expansion *expansion, struct str *out)
{
	/* Of these the value is not known, but it begins with a slash everywhere. */
	bool is_absolute = is_named(expansion, "PATH PWD SHELL BASH OLDPWD HOME");

	if (is_named(expansion, "IFS"))
		str_add_char(out, ' ');
	else if (is_absolute && strcmp(expansion->rest, ":0:1") == 0)
		str_add_char(out, '/');
	else if (is_named(expansion, "HOME"))
		str_add(out, "$HOME");
	else
		return false;
	return true;
}

void shell_expansion_add(struct shell *shell, const char *text, size_t len, struct str *out)
{
	owned(expansion_done) struct expansion expansion;
	owned(str_done) struct str value = STR_INIT, name = STR_INIT;
	const char *alternative;
	bool is_known;

	split(text, len, &expansion);
	alternative = alternative_in(expansion.rest);
	if (add_common(&expansion, out) || add_keyed(shell, &expansion, out))
		return;
	is_known = add_variable(shell, expansion.name, expansion.name_len, &value);
	if (expansion.is_indirect && is_known) {
		name = value;
		value = (struct str)STR_INIT;
		is_known = add_variable(shell, str_cstr(&name), name.len, &value);
	}
	if (alternative && (!is_known || strchr(expansion.rest, '+') == alternative - 1))
		add_alternative(shell, alternative, out);
	else if (is_known && expansion.is_length)
		str_addf(out, "%zu", value.len);
	else if (is_known)
		add_changed(shell, str_cstr(&value), alternative ? "" : expansion.rest, out);
	else
		str_add_char(out, FOLD_GAP);
}
