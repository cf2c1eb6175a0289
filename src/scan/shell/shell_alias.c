/* SPDX-License-Identifier: Apache-2.0 */
/* Other names of commands. */
#include "base/core/own.h"
#include "scan/shell/shell_word.h"

#include <stdio.h>
#include <string.h>

#define KEY_SIZE 128
/* An alias of an alias; beyond these it is not known what is run. */
#define ALIASES_MAX 16u

/* No variable and no function is called so. */
static bool alias_key(const char *name, size_t len, char key[static KEY_SIZE])
{
	return len > 0 && len + 2 < KEY_SIZE &&
	       snprintf(key, KEY_SIZE, "%.*s ", (int)len, name) < KEY_SIZE;
}

static void note(struct shell *shell, const char *name, size_t len, const char *value)
{
	char key[KEY_SIZE];

	if (!*value)
		return;
	if (!alias_key(name, len, key)) {
		shell->is_cut = true;
		return;
	}
	abstract_values_replace(
		&shell->variables, key, strlen(key),
		abstract_new(&shell->variables, ABSTRACT_TEXT, value, strlen(value)));
	shell->has_aliases = true;
}

void shell_note_alias(struct shell *shell, const struct strv *words)
{
	if (strcmp(words->items[0], "hash") == 0) {
		if (words->count > 3 && strcmp(words->items[1], "-p") == 0)
			note(shell, words->items[3], strlen(words->items[3]), words->items[2]);
		return;
	}
	for (size_t i = 1; i < words->count; i++) {
		const char *value = strchr(words->items[i], '=');

		if (value)
			note(shell, words->items[i], (size_t)(value - words->items[i]), value + 1);
	}
}

static const struct abstract_value *alias_of(const struct shell *shell, const char *name)
{
	const struct abstract_value *value = NULL;
	char key[KEY_SIZE];

	if (alias_key(name, strlen(name), key))
		(void)abstract_values_look_up(&shell->variables, key, strlen(key), &value);
	return abstract_of_kind(value, ABSTRACT_TEXT);
}

bool shell_unalias(struct shell *shell, const struct strv *words, struct strv *ret_words)
{
	const struct abstract_value *alias =
		shell->has_aliases ? alias_of(shell, words->items[0]) : NULL;

	if (!alias)
		return false;
	for (unsigned i = 0; i < ALIASES_MAX; i++) {
		const struct abstract_value *next;

		strv_done(ret_words);
		shell_split(shell, alias->text, ret_words);
		next = ret_words->count > 0 ? alias_of(shell, ret_words->items[0]) : NULL;
		if (!next || next == alias)
			break;
		alias = next;
		shell->is_cut = shell->is_cut || i + 1 == ALIASES_MAX;
	}
	for (size_t i = 1; i < words->count; i++)
		strv_add(ret_words, words->items[i]);
	return ret_words->count > 0;
}
