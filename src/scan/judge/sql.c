/* SPDX-License-Identifier: Apache-2.0 */
/* SQL that destroys: statements that drop, empty, or delete without a condition. */
#include "scan/judge/sql.h"

#include "base/core/str.h"

#include <ctype.h>
#include <string.h>

/* Passes blanks and WORD, whatever its case; NULL when something else stands there. */
static const char *pass_word(const char *at, const char *word)
{
	size_t len = strlen(word);

	at += strspn(at, " \t\n(");
	if (strncasecmp(at, word, len) != 0 || isalnum((unsigned char)at[len]) || at[len] == '_')
		return NULL;
	return at + len;
}

static bool is_temporary(const char *at, const char *end)
{
	static const char *const words[] = { "tmp", "temp", "test", "staging" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *word = strcasestr(at, words[i]);

		if (word && word < end)
			return true;
	}
	return false;
}

static enum scan_severity severity_of_statement(const char *at)
{
	const char *rest = pass_word(at, "drop");
	const char *end = at + strcspn(at, ";");

	if (rest && (pass_word(rest, "database") || pass_word(rest, "schema")))
		return SEVERITY_HIGH;
	/* One that was made to be thrown away. */
	if (rest && is_temporary(rest, end))
		return SEVERITY_NONE;
	if (rest &&
	    (pass_word(rest, "table") || pass_word(rest, "user") || pass_word(rest, "role") ||
	     pass_word(rest, "keyspace") || pass_word(rest, "owned")))
		return SEVERITY_MEDIUM;
	rest = pass_word(at, "truncate");
	if (rest && rest[strspn(rest, " ")] != '(')
		return SEVERITY_MEDIUM;
	rest = pass_word(at, "delete");
	rest = rest ? pass_word(rest, "from") : NULL;
	if (!rest)
		return SEVERITY_NONE;
	at = strcasestr(rest, "where");
	return at && at < end ? SEVERITY_NONE : SEVERITY_MEDIUM;
}

enum scan_severity sql_severity(const char *text)
{
	enum scan_severity worst = SEVERITY_NONE;

	while (*text) {
		enum scan_severity severity = severity_of_statement(text);

		worst = severity > worst ? severity : worst;
		text += strcspn(text, ";");
		text += *text == ';';
	}
	return worst;
}
