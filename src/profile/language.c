/* SPDX-License-Identifier: Apache-2.0 */
/* Languages that a file of limits can tell apart. */
#include "profile/language.h"

#include <ctype.h>
#include <string.h>

static const struct {
	const char *name;
	enum profile_language language;
} names[] = {
	{ "python", PROFILE_PYTHON }, { "javascript", PROFILE_JAVASCRIPT },
	{ "js", PROFILE_JAVASCRIPT }, { "node", PROFILE_JAVASCRIPT },
	{ "shell", PROFILE_SHELL },   { "sh", PROFILE_SHELL },
	{ "bash", PROFILE_SHELL },    { "dash", PROFILE_SHELL },
};

enum profile_language profile_language_named(const char *name)
{
	size_t len = strlen(name);

	/* python3.11 is Python. */
	while (len > 1 && (isdigit((unsigned char)name[len - 1]) || name[len - 1] == '.'))
		len--;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i].name) == len && strncmp(names[i].name, name, len) == 0)
			return names[i].language;
	}
	return PROFILE_LANGUAGES;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

enum profile_language profile_language_of(const struct strv *command)
{
	size_t at = 0;

	if (!command || command->count == 0)
		return PROFILE_LANGUAGES;
	if (strcmp(last_part(command->items[0]), "env") == 0) {
		for (at = 1; at < command->count; at++) {
			if (command->items[at][0] != '-' && !strchr(command->items[at], '='))
				break;
		}
	}
	return at < command->count ? profile_language_named(last_part(command->items[at]))
				   : PROFILE_LANGUAGES;
}
