/* SPDX-License-Identifier: Apache-2.0 */
/* The languages that can be scanned, and how a text's language is recognised. */
#include "scan/syntax/language.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <ctype.h>
#include <string.h>

struct word_row {
	const char *word;
	enum scan_language language;
};

static const struct word_row names[] = {
	{ "python", SCAN_PYTHON },
	{ "py", SCAN_PYTHON },
	{ "javascript", SCAN_JAVASCRIPT },
	{ "js", SCAN_JAVASCRIPT },
	{ "shell", SCAN_SHELL },
	{ "node", SCAN_JAVASCRIPT },
	{ "nodejs", SCAN_JAVASCRIPT },
	{ "sh", SCAN_SHELL },
	{ "bash", SCAN_SHELL },
	{ "dash", SCAN_SHELL },
	{ "ash", SCAN_SHELL },
	{ "ksh", SCAN_SHELL },
	{ "pypy", SCAN_PYTHON },
	{ "zsh", SCAN_SHELL },
	{ "rbash", SCAN_SHELL },
	{ "mksh", SCAN_SHELL },
	{ "lksh", SCAN_SHELL },
	{ "yash", SCAN_SHELL },
	{ "deno", SCAN_JAVASCRIPT },
	{ "bun", SCAN_JAVASCRIPT },
	{ "qjs", SCAN_JAVASCRIPT },
};

static const struct word_row endings[] = {
	{ ".py", SCAN_PYTHON },	     { ".pyw", SCAN_PYTHON },	  { ".pyi", SCAN_PYTHON },
	{ ".js", SCAN_JAVASCRIPT },  { ".mjs", SCAN_JAVASCRIPT }, { ".cjs", SCAN_JAVASCRIPT },
	{ ".jsx", SCAN_JAVASCRIPT }, { ".sh", SCAN_SHELL },	  { ".bash", SCAN_SHELL },
	{ ".ksh", SCAN_SHELL },	     { ".zsh", SCAN_SHELL },
};

const char *scan_language_name(enum scan_language language)
{
	static const char *const words[] = { "python", "javascript", "shell", "unknown" };

	return words[language];
}

enum scan_language scan_language_named(const char *name)
{
	size_t len = strlen(name);

	/* python3, python3.11, pypy3: the version does not matter here. */
	while (len > 1 && (isdigit((unsigned char)name[len - 1]) || name[len - 1] == '.'))
		len--;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].word[0] == name[0] && strlen(names[i].word) == len &&
		    strncmp(names[i].word, name, len) == 0)
			return names[i].language;
	}
	return SCAN_UNKNOWN;
}

enum scan_language scan_language_of_program(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;

	/* "py" and "js" are names of languages, not of programs. */
	if (strcmp(name, "py") == 0 || strcmp(name, "js") == 0 || strcmp(name, "shell") == 0 ||
	    strcmp(name, "javascript") == 0)
		return SCAN_UNKNOWN;
	return scan_language_named(name);
}

bool scan_first_line(const char *text, size_t len, struct strv *ret_words)
{
	const char *end = memchr(text, '\n', len);
	owned(free_ptr) char *line = NULL;
	char *rest = NULL;

	if (len < 2 || text[0] != '#' || text[1] != '!')
		return false;
	line = xstrndup(text + 2, (size_t)((end ? end : text + len) - text) - 2);
	for (char *word = strtok_r(line, " \t\r", &rest); word;
	     word = strtok_r(NULL, " \t\r", &rest))
		strv_add(ret_words, word);
	return true;
}

/* "#!/usr/bin/env -S python3 -u": the first word that is an interpreter we know. */
static enum scan_language of_first_line(const char *text, size_t len)
{
	owned(strv_done) struct strv words = STRV_INIT;
	enum scan_language language = SCAN_UNKNOWN;

	(void)scan_first_line(text, len, &words);
	for (size_t i = 0; i < words.count && language == SCAN_UNKNOWN; i++)
		language = scan_language_of_program(words.items[i]);
	return language;
}

enum scan_language scan_language_of(const char *path, const char *text, size_t len)
{
	for (size_t i = 0; path && i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (str_ends(path, endings[i].word))
			return endings[i].language;
	}
	return of_first_line(text, len);
}
