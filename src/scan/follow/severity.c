/* SPDX-License-Identifier: Apache-2.0 */
/* How grave meanings are. */
#include "scan/follow/severity.h"

#include "base/core/str.h"
#include "scan/follow/functions.h"
#include "scan/follow/place.h"

#include <string.h>

/* A path to a function that is known, or to a module with such functions in it. */
static unsigned severity_path(const struct function_row *rows, enum scan_language language,
			      const struct abstract_value *path)
{
	const struct function_row *row = function_find(language, path->text);

	if (row)
		return 2 + (unsigned)row->severity;
	for (row = rows; row->path; row++) {
		if (row->path[0] == path->text[0] &&
		    strncmp(row->path, path->text, path->len) == 0 && row->path[path->len] == '.')
			return 2;
	}
	return 0;
}

static unsigned severity_text(const struct abstract_value *text)
{
	static const unsigned weights[] = {
		[PLACE_PLAIN] = 0,	[PLACE_SECRET] = 5,    [PLACE_ACCOUNTS] = 4,
		[PLACE_START] = 5,	[PLACE_SYSTEM] = 3,    [PLACE_DISK] = 6,
		[PLACE_EVERYTHING] = 6, [PLACE_TEMPORARY] = 0,
	};
	unsigned weight = weights[place_of(text->text)];

	if (place_is_metadata(text->text))
		weight = 5;
	/* It may be a command, or code. */
	return weight == 0 && strpbrk(text->text, " (;|") ? 1 : weight;
}

static unsigned severity(const struct function_row *rows, enum scan_language language,
			 const struct abstract_value *value)
{
	unsigned text = value->kind == ABSTRACT_TEXT ? severity_text(value) : 0, path;

	if (value->kind != ABSTRACT_TEXT && value->kind != ABSTRACT_PATH)
		return 0;
	/* A text may name a module, or a function. */
	path = value->len > 0 ? severity_path(rows, language, value) : 0;
	return path > text ? path : text;
}

unsigned severity_python(const struct abstract_value *value)
{
	return severity(python_functions, SCAN_PYTHON, value);
}

unsigned severity_javascript(const struct abstract_value *value)
{
	return severity(javascript_functions, SCAN_JAVASCRIPT, value);
}
