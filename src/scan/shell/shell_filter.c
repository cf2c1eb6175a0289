/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that change what passes through them, done here where the result is certain. */
#include "scan/shell/shell_filter.h"

#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/shell/shell_word.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A format is gone through so often at most. */
#define ROUNDS_MAX 256u

/* The word at POSITION that is no option, behind the command's name; NULL when there are fewer. */
static const char *operand(const struct strv *words, unsigned position)
{
	for (size_t i = 1; i < words->count; i++) {
		if (words->items[i][0] != '-' && position-- == 0)
			return words->items[i];
	}
	return NULL;
}

/* -c5, -c 5: the value of an option of one letter; NULL when it is not there. */
static const char *value_of(const struct strv *words, char letter)
{
	for (size_t i = 1; i < words->count; i++) {
		const char *word = words->items[i];

		if (word[0] != '-' || word[1] != letter)
			continue;
		if (word[2])
			return word + 2;
		return i + 1 < words->count ? words->items[i + 1] : NULL;
	}
	return NULL;
}

static bool filter_base64(const struct strv *words, const struct str *text, struct str *out)
{
	return command_decodes("base64", words) && fold_base64(out, str_cstr(text), text->len);
}

static bool filter_xxd(const struct strv *words, const struct str *text, struct str *out)
{
	return command_decodes("xxd", words) && fold_hex(out, str_cstr(text), text->len);
}

static bool filter_rev(const struct strv *words, const struct str *text, struct str *out)
{
	(void)words;
	fold_reverse(out, str_cstr(text), text->len);
	return true;
}

/* cat without files, tee with any: what comes in goes out. */
static bool filter_none(const struct strv *words, const struct str *text, struct str *out)
{
	if (operand(words, 0) && strcmp(command_name(words->items[0]), "tee") != 0)
		return false;
	str_add_bytes(out, str_cstr(text), text->len);
	return true;
}

/* [:lower:] at *AT, which goes behind it. */
static bool add_class(const char **at, struct str *out)
{
	static const char form[] = "[:lower:]";
	bool is_lower = str_starts(*at, form);

	if (!is_lower && !str_starts(*at, "[:upper:]"))
		return false;
	for (int i = 0; i < 26; i++)
		str_add_char(out, (char)((is_lower ? 'a' : 'A') + i));
	*at += sizeof(form) - 1;
	return true;
}

/* a-f, [:lower:], \n: the letters that a set of tr stands for. */
static void expand_set(const char *set, struct str *out)
{
	owned(str_done) struct str plain = STR_INIT;
	const char *at;
	bool ignored;

	fold_escapes(&plain, set, strlen(set), &ignored);
	at = str_cstr(&plain);
	while (*at && out->len <= SHELL_WORD_MAX) {
		unsigned first = (unsigned char)at[0];
		unsigned last = at[1] == '-' && at[2] ? (unsigned char)at[2] : first;

		if (add_class(&at, out))
			continue;
		at += at[1] == '-' && at[2] ? 3 : 1;
		for (unsigned c = first; c <= last; c++)
			str_add_char(out, (char)c);
	}
}

static bool filter_tr(const struct strv *words, const struct str *text, struct str *out)
{
	owned(str_done) struct str from = STR_INIT, to = STR_INIT;
	const char *one = operand(words, 0), *other = operand(words, 1);
	bool deletes = words->count > 1 && strcmp(words->items[1], "-d") == 0;
	size_t places[UCHAR_MAX + 1] = { 0 }; /* of each letter in FROM, from 1 */

	if (!one || (!other && !deletes))
		return false;
	expand_set(one, &from);
	expand_set(deletes ? "" : other, &to);
	if (from.len > SHELL_WORD_MAX || to.len > SHELL_WORD_MAX)
		return false;
	for (size_t i = from.len; i > 0; i--)
		places[(unsigned char)from.data[i - 1]] = i;
	for (size_t i = 0; i < text->len; i++) {
		size_t at = places[(unsigned char)text->data[i]];

		if (at == 0)
			str_add_char(out, text->data[i]);
		else if (to.len > 0)
			str_add_char(out, to.data[at <= to.len ? at - 1 : to.len - 1]);
	}
	return true;
}

/* One s/old/new/g of plain letters. */
static bool substitute(const char *script, const struct str *text, struct str *out)
{
	char mark = script[0] == 's' ? script[1] : '\0';
	const char *old = script + 2, *new = mark ? strchr(old, mark) : NULL;
	const char *end = new ? strchr(new + 1, mark) : NULL, *at = str_cstr(text), *found;
	owned(free_ptr) char *wanted = end ? xstrndup(old, (size_t)(new - old)) : NULL;

	if (!wanted || !*wanted || strpbrk(wanted, "\\.*[^$") || strchr(end, ';') ||
	    memchr(new, '\\', (size_t)(end - new)) || memchr(new, '&', (size_t)(end - new)))
		return false;
	while ((found = strstr(at, wanted))) {
		str_add_bytes(out, at, (size_t)(found - at));
		str_add_bytes(out, new + 1, (size_t)(end - new) - 1);
		at = found + strlen(wanted);
		if (!strchr(end, 'g'))
			break;
		if (out->len > SHELL_WORD_MAX)
			return false;
	}
	str_add(out, at);
	return true;
}

static bool filter_sed(const struct strv *words, const struct str *text, struct str *out)
{
	const char *script = operand(words, 0);

	return script && !operand(words, 1) && substitute(script, text, out);
}

/* The field NUMBER of a text, from 1, between two of SEPARATOR; blanks in a row count as one. */
static void add_field(const char *text, long number, char separator, struct str *out)
{
	const char set[] = { separator, '\0' };

	for (; number > 1 && *text; number--) {
		text += strcspn(text, set);
		text += separator == ' ' ? strspn(text, set) : *text != '\0';
	}
	str_add_bytes(out, text, strcspn(text, set));
}

/* cut -c2-4, cut -d: -f2 */
static bool filter_cut(const struct strv *words, const struct str *text, struct str *out)
{
	const char *letters = value_of(words, 'c'), *field = value_of(words, 'f');
	const char *separator = value_of(words, 'd');
	size_t from, to;
	char *end;

	if (field && strspn(field, "0123456789") == strlen(field)) {
		add_field(str_cstr(text), strtol(field, NULL, 10), separator ? *separator : '\t',
			  out);
		return true;
	}
	if (!letters)
		return false;
	from = strtoul(letters, &end, 10);
	to = *end == '-' && end[1] ? strtoul(end + 1, &end, 10) : *end == '-' ? text->len : from;
	if (strchr(letters, ',') || from == 0 || to < from)
		return false;
	if (from <= text->len)
		str_add_bytes(out, text->data + from - 1,
			      (to < text->len ? to : text->len) - from + 1);
	return true;
}

/* awk '{print $2}' */
static bool filter_awk(const struct strv *words, const struct str *text, struct str *out)
{
	const char *script = operand(words, 0), *dollar;
	owned(str_done) struct str plain = STR_INIT;
	char *end;
	long number;

	for (const char *at = script ? script : ""; *at; at++) {
		if (*at != ' ')
			str_add_char(&plain, *at);
	}
	if (!str_starts(str_cstr(&plain), "{print$"))
		return false;
	dollar = str_cstr(&plain) + strlen("{print$");
	number = strtol(dollar, &end, 10);
	if (end == dollar || strcmp(end, "}") != 0 || number < 0)
		return false;
	if (number == 0)
		str_add(out, str_cstr(text));
	else
		add_field(str_cstr(text), number, ' ', out);
	return true;
}

/* head -c5, tail -c5; of one line, by lines, all of it. */
static bool filter_end(const struct strv *words, const struct str *text, struct str *out)
{
	bool is_head = strcmp(command_name(words->items[0]), "head") == 0;
	const char *letters = value_of(words, 'c');
	size_t count = letters ? strtoul(letters + (letters[0] == '+'), NULL, 10) : 0;

	if (!letters) {
		str_add_bytes(out, str_cstr(text), text->len);
		return !strchr(str_cstr(text), '\n');
	}
	count = count < text->len ? count : text->len;
	if (is_head)
		str_add_bytes(out, str_cstr(text), count);
	else if (letters[0] == '+')
		str_add(out, str_cstr(text) + (count > 0 ? count - 1 : 0));
	else
		str_add(out, str_cstr(text) + text->len - count);
	return true;
}

bool shell_filter(const struct strv *words, struct str *text)
{
	static const struct {
		const char *names;
		bool (*filter)(const struct strv *words, const struct str *text, struct str *out);
	} rows[] = {
		{ "base64", filter_base64 }, { "xxd", filter_xxd },
		{ "rev", filter_rev },	     { "cat tee tac xargs", filter_none },
		{ "tr", filter_tr },	     { "sed", filter_sed },
		{ "cut", filter_cut },	     { "awk gawk mawk", filter_awk },
		{ "head tail", filter_end },
	};
	owned(str_done) struct str out = STR_INIT;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!in_list(rows[i].names, command_name(words->items[0])))
			continue;
		if (!rows[i].filter(words, text, &out))
			return false;
		str_clear(text);
		str_add_bytes(text, str_cstr(&out), out.len);
		return true;
	}
	return false;
}

/* One %s, %b, %c or %d and the word it takes; what is behind it, or NULL when it is another one. */
static const char *add_directive(const char *at, const char *word, struct str *out)
{
	bool ignored;

	at += strspn(at, "-0123456789.");
	switch (*at) {
	case 's':
	case 'd':
		str_add(out, word);
		return at + 1;
	case 'b':
		fold_escapes(out, word, strlen(word), &ignored);
		return at + 1;
	case 'c':
		str_add_bytes(out, word, *word != '\0');
		return at + 1;
	default:
		return NULL;
	}
}

/* Once through FORMAT; *AT is the next word for it. */
static bool format_once(const char *format, const struct strv *words, size_t *at, struct str *out)
{
	bool ignored;

	while (*format && out->len <= SHELL_WORD_MAX) {
		size_t plain = strcspn(format, "%");

		fold_escapes(out, format, plain, &ignored);
		format += plain;
		if (!*format)
			break;
		if (format[1] == '%') {
			str_add_char(out, '%');
			format += 2;
			continue;
		}
		format =
			add_directive(format + 1, *at < words->count ? words->items[*at] : "", out);
		if (!format)
			return false;
		++*at;
	}
	return !*format;
}

bool shell_format(const struct strv *words, size_t first, struct str *out)
{
	size_t at = first + 1;
	bool is_known = first < words->count;

	/* The format is used again for the words that are left. */
	for (unsigned i = 0; is_known && i < ROUNDS_MAX && (i == 0 || at < words->count); i++) {
		size_t before = at;

		is_known = format_once(words->items[first], words, &at, out);
		if (at == before)
			break;
	}
	return is_known;
}
