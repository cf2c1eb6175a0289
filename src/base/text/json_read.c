/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in: checks the bounds, lets the library parse, and turns its tree into ours. */
#include "base/text/json_read.h"

#include <jansson.h>
#include <stdbool.h>

struct scan {
	unsigned line, column;
	unsigned depth;
	bool in_text, escaped;
};

/* Whether C opens a level; keeps line, column and level up to date. */
static bool scan_opens(struct scan *scan, char c)
{
	scan->column++;
	if (c == '\n') {
		scan->line++;
		scan->column = 0;
	}
	if (scan->in_text) {
		scan->in_text = scan->escaped || c != '"';
		scan->escaped = !scan->escaped && c == '\\';
		return false;
	}
	if (c == '"')
		scan->in_text = true;
	if ((c == '}' || c == ']') && scan->depth > 0)
		scan->depth--;
	if (c != '{' && c != '[')
		return false;
	scan->depth++;
	return true;
}

/* Before parsing, because the library recurses and gives no positions for what it has parsed. */
static int check_bounds(const char *bytes, size_t len, const struct json_limits *limits,
			struct error *err)
{
	struct scan scan = { .line = 1 };
	size_t values = 1;

	for (size_t i = 0; i < len; i++) {
		bool opens = scan_opens(&scan, bytes[i]);

		values += opens || (bytes[i] == ',' && !scan.in_text);
		if (opens && scan.depth > limits->depth)
			return error_set(err, ERROR_INPUT,
					 "line %u column %u: nested deeper than %u", scan.line,
					 scan.column, limits->depth);
		if (limits->values && values > limits->values)
			return error_set(err, ERROR_INPUT,
					 "line %u column %u: more than %zu values", scan.line,
					 scan.column, limits->values);
	}
	return 0;
}

static struct value *convert(json_t *json);

static struct value *convert_list(const json_t *json)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < json_array_size(json); i++)
		value_append(list, convert(json_array_get(json, i)));
	return list;
}

static struct value *convert_map(json_t *json)
{
	struct value *map = value_new_map();
	const char *key;
	json_t *item;

	json_object_foreach(json, key, item)
	{
		value_add(map, key, convert(item));
	}
	return map;
}

/* Recurses no deeper than check_depth let pass. */
static struct value *convert(json_t *json)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return convert_map(json);
	case JSON_ARRAY:
		return convert_list(json);
	case JSON_STRING:
		return value_new_bytes(json_string_value(json), json_string_length(json));
	case JSON_INTEGER:
		return value_new_int(json_integer_value(json));
	case JSON_REAL:
		return value_new_real(json_real_value(json));
	case JSON_TRUE:
		return value_new_bool(true);
	case JSON_FALSE:
		return value_new_bool(false);
	case JSON_NULL:
		break;
	}
	return value_new_null();
}

/* In words of the file's, not of the library's. */
static const char *explain(const json_error_t *problem, char shown[static STR_SHOWN_SIZE])
{
	if (json_error_code(problem) == json_error_null_character)
		return "a text cannot hold a NUL (\\u0000)";
	return str_shown(problem->text, shown);
}

int json_read(const char *bytes, size_t len, const struct json_limits *limits, struct value **ret,
	      struct error *err)
{
	struct json_limits bounds = limits ? *limits : (struct json_limits){ .bytes = 0 };
	char shown[STR_SHOWN_SIZE];
	json_error_t problem;

	bounds.bytes = bounds.bytes ? bounds.bytes : JSON_READ_BYTES;
	bounds.depth = bounds.depth ? bounds.depth : JSON_READ_DEPTH;
	if (len > bounds.bytes)
		return error_set(err, ERROR_INPUT, "JSON is larger than %zu bytes", bounds.bytes);
	if (check_bounds(bytes, len, &bounds, err) < 0)
		return -1;
	size_t nul = bounds.nul ? JSON_ALLOW_NUL : 0;
	json_t *json =
		json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | nul, &problem);

	if (!json)
		return error_set(err, ERROR_INPUT, "line %d column %d: %s", problem.line,
				 problem.column, explain(&problem, shown));
	*ret = convert(json);
	json_decref(json);
	return 0;
}
