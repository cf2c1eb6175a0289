/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a text that a person keeps: finds places in it, puts members in and takes them out. */
#include "app/agent/json_text.h"

#include "base/core/own.h"

#include <ctype.h>
#include <string.h>

#define INDENT 2

struct scan {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end) {
		size_t left = (size_t)(scan->end - scan->at);
		const char *stop;

		if (is_blank(*scan->at)) {
			scan->at++;
			continue;
		}
		if (left < 2 || scan->at[0] != '/' || (scan->at[1] != '/' && scan->at[1] != '*'))
			return;
		stop = scan->at[1] == '/' ? memchr(scan->at, '\n', left)
					  : memmem(scan->at + 2, left - 2, "*/", 2);
		scan->at = !stop ? scan->end : stop + (scan->at[1] == '/' ? 1 : 2);
	}
}

/* Whether C comes next; then it is passed. */
static bool take(struct scan *scan, char c)
{
	skip_blanks(scan);
	if (scan->at >= scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static bool skip_string(struct scan *scan)
{
	if (!take(scan, '"'))
		return false;
	for (; scan->at < scan->end; scan->at++) {
		if (*scan->at == '"') {
			scan->at++;
			return true;
		}
		if (*scan->at == '\\')
			scan->at++;
	}
	scan->at = scan->end;
	return false;
}

static bool skip_value(struct scan *scan, unsigned depth);

static bool skip_many(struct scan *scan, char close, unsigned depth)
{
	scan->at++;
	while (!take(scan, close)) {
		if (close == '}' && !(skip_string(scan) && take(scan, ':')))
			return false;
		if (!skip_value(scan, depth + 1))
			return false;
		if (!take(scan, ',')) {
			if (!take(scan, close))
				return false;
			break;
		}
	}
	return true;
}

static bool skip_value(struct scan *scan, unsigned depth)
{
	const char *start;

	skip_blanks(scan);
	if (scan->at >= scan->end || depth > JSON_TEXT_DEPTH)
		return false;
	if (*scan->at == '{' || *scan->at == '[')
		return skip_many(scan, *scan->at == '{' ? '}' : ']', depth);
	if (*scan->at == '"')
		return skip_string(scan);
	for (start = scan->at; scan->at < scan->end; scan->at++) {
		if (!isalnum((unsigned char)*scan->at) && !strchr("+-.", *scan->at))
			break;
	}
	return scan->at > start;
}

/* The member KEY of the object at PLACE, which was scanned before. */
static bool find_member(const struct str *text, const char *key, struct json_place *place)
{
	struct scan scan = { text->data + place->start + 1, text->data + place->end };
	size_t len = strlen(key);

	while (!take(&scan, '}')) {
		const char *name = scan.at, *behind;

		(void)skip_string(&scan);
		behind = scan.at;
		(void)take(&scan, ':');
		skip_blanks(&scan);
		const char *value = scan.at;

		if (!skip_value(&scan, 0))
			return false;
		if ((size_t)(behind - name) == len + 2 && memcmp(name + 1, key, len) == 0) {
			place->member = (size_t)(name - text->data);
			place->start = (size_t)(value - text->data);
			place->end = (size_t)(scan.at - text->data);
			return true;
		}
		(void)take(&scan, ',');
	}
	return false;
}

int json_text_find(const struct str *text, const struct strv *keys, struct json_place *ret_place,
		   size_t *ret_depth, struct error *err)
{
	struct scan scan = { str_cstr(text), str_cstr(text) + text->len };
	struct json_place place;
	size_t depth;

	skip_blanks(&scan);
	place.member = place.start = (size_t)(scan.at - str_cstr(text));
	if (!skip_value(&scan, 0))
		return error_set(err, ERROR_INPUT, "is no JSON that can be read");
	place.end = (size_t)(scan.at - str_cstr(text));
	skip_blanks(&scan);
	if (scan.at < scan.end)
		return error_set(err, ERROR_INPUT, "is no JSON that can be read");
	for (depth = 0; depth < keys->count; depth++) {
		if (text->data[place.start] != '{')
			return error_set(err, ERROR_INPUT, "has something else where '%s' belongs",
					 keys->items[depth]);
		if (!find_member(text, keys->items[depth], &place))
			break;
	}
	*ret_place = place;
	*ret_depth = depth;
	return depth == keys->count;
}

bool json_text_is_empty(const struct str *text, const struct json_place *place)
{
	for (size_t i = place->start + 1; i + 1 < place->end; i++) {
		if (!is_blank(text->data[i]))
			return false;
	}
	return true;
}

void json_text_splice(struct str *text, size_t from, size_t to, const char *more)
{
	struct str made = STR_INIT;

	str_add_bytes(&made, str_cstr(text), from);
	str_add(&made, more);
	str_add_bytes(&made, str_cstr(text) + to, text->len - to);
	str_done(text);
	*text = made;
}

static void add_line(struct str *out, size_t depth)
{
	str_addf(out, "\n%*s", (int)(depth * INDENT), "");
}

void json_text_insert(struct str *text, const struct json_place *place, const char *core,
		      size_t depth, struct str *ret_full, size_t *ret_lead)
{
	struct scan scan = { text->data + place->start + 1, text->data + place->end };
	bool is_last, has_line;

	has_line = memchr(scan.at, '\n', strspn(scan.at, " \t\r\n")) != NULL;
	skip_blanks(&scan);
	is_last = scan.at + 1 >= scan.end;
	add_line(ret_full, depth);
	*ret_lead = ret_full->len;
	str_add(ret_full, core);
	if (!is_last)
		str_add(ret_full, is_blank(text->data[place->start + 1]) ? "," : ", ");
	else if (!has_line)
		add_line(ret_full, depth - 1);
	json_text_splice(text, place->start + 1, place->start + 1, str_cstr(ret_full));
}

void json_text_remove(struct str *text, size_t start, size_t end)
{
	size_t behind = end, before = start;

	while (behind < text->len && is_blank(text->data[behind]))
		behind++;
	while (before > 0 && is_blank(text->data[before - 1]))
		before--;
	if (behind < text->len && text->data[behind] == ',')
		end = behind + 1;
	else if (before > 0 && text->data[before - 1] == ',')
		before--;
	else
		end = behind;
	json_text_splice(text, before, end, "");
}
