/* SPDX-License-Identifier: Apache-2.0 */
/* SQL that destroys: statements that drop, empty, or delete without a condition. */
#include "scan/judge/sql.h"

#include "base/core/str.h"
#include "scan/follow/in_list.h"

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

/* Whether tmp, temp, test or staging is a word of the name: between _ - . and its ends. */
static bool is_throwaway(const char *name, size_t len)
{
	const char *end = name + len;

	while (name < end) {
		size_t word = strcspn(name, "_-.");

		word = word < (size_t)(end - name) ? word : (size_t)(end - name);
		if (in_list_bytes("tmp temp test staging TMP TEMP TEST STAGING", name, word))
			return true;
		name += word + 1;
	}
	return false;
}

/* Whether each of the names, with commas between them, is of something that was made to be thrown away. */
static bool is_temporary(const char *names)
{
	const char *exists = pass_word(names, "if");

	exists = exists ? pass_word(exists, "exists") : NULL;
	names = exists ? exists : names;
	do {
		size_t len;

		names += strspn(names, " \t\n\"`'");
		len = strcspn(names, " \t\n\"`',;)");
		if (!is_throwaway(names, len))
			return false;
		names += len;
		names += strspn(names, " \t\n\"`'");
	} while (*names++ == ',');
	return true;
}

/* What stands behind DROP TABLE and its like; NULL when it is something else that is dropped. */
static const char *pass_dropped(const char *at)
{
	static const char *const kinds[] = { "table", "user", "role", "keyspace", "owned" };
	const char *rest = NULL;

	for (size_t i = 0; !rest && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		rest = pass_word(at, kinds[i]);
	return rest;
}

static enum scan_severity severity_of_statement(const char *at)
{
	const char *rest = pass_word(at, "drop");
	const char *end = at + strcspn(at, ";");

	if (rest && (pass_word(rest, "database") || pass_word(rest, "schema")))
		return SEVERITY_HIGH;
	rest = rest ? pass_dropped(rest) : NULL;
	if (rest)
		return is_temporary(rest) ? SEVERITY_NONE : SEVERITY_MEDIUM;
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
