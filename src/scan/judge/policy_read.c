/* SPDX-License-Identifier: Apache-2.0 */
/* A policy file: YAML in, lists and weights out, every mistake with its place. */
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/text/value_reader.h"
#include "base/text/yaml.h"
#include "scan/judge/policy.h"

#include <string.h>

/* More than is written by hand, and few enough for a linear search for each name. */
#define ENTRIES_MAX 1000u
#define PATTERNS_MAX 100u

static const char *const list_keys[] = { "imports", "functions", "commands", "patterns" };

static int wrong(const struct value_reader *reader, const struct value *item, const char *what)
{
	(void)error_set(reader->err, ERROR_INPUT, "%s", what);
	return value_reader_at(reader, item);
}

static char *text_of(const struct value *map, const char *key)
{
	const char *text = value_get_text(map, key);

	return text ? xstrdup(text) : NULL;
}

static int read_severity(const struct value_reader *reader, const struct value *item, int *ret)
{
	const char *word = item->kind == VALUE_TEXT ? item->text.bytes : "";

	*ret = strcmp(word, "off") == 0 ? SEVERITY_NONE : scan_severity_named(word);
	return *ret < 0 ? wrong(reader, item, "a severity is off, low, medium, high or critical")
			: 0;
}

static int read_place(const struct value_reader *reader, const struct value *item,
		      enum policy_place *ret)
{
	static const char *const words[] = { "code", "strings", "anywhere" };

	for (size_t i = 0; i < 3; i++) {
		if (item->kind == VALUE_TEXT && strcmp(words[i], item->text.bytes) == 0) {
			*ret = (enum policy_place)i;
			return 0;
		}
	}
	return wrong(reader, item, "in: is code, strings or anywhere");
}

/* {pattern: ..., severity: ..., message: ..., hint: ..., in: ...}; NAME instead of pattern for the other lists. */
static int read_details(const struct value_reader *reader, const struct value *item,
			struct policy_entry *entry)
{
	for (size_t i = 0; i < item->many.count; i++) {
		const char *key = item->many.keys[i];
		const struct value *value = item->many.items[i];
		int status = 0;

		if (strcmp(key, "severity") == 0)
			status = read_severity(reader, value, &entry->severity);
		else if (strcmp(key, "in") == 0)
			status = read_place(reader, value, &entry->place);
		else if (strcmp(key, "pattern") != 0 && strcmp(key, "name") != 0 &&
			 strcmp(key, "message") != 0 && strcmp(key, "hint") != 0)
			return value_reader_unknown(reader, value, key, NULL);
		if (status < 0)
			return -1;
	}
	entry->text = text_of(item, "pattern");
	if (!entry->text)
		entry->text = text_of(item, "name");
	entry->message = text_of(item, "message");
	entry->hint = text_of(item, "hint");
	return 0;
}

static int read_entry(const struct value_reader *reader, const struct value *item,
		      enum policy_list list, struct policy_entry *entry)
{
	if (item->kind == VALUE_TEXT)
		entry->text = xstrdup(item->text.bytes);
	else if (item->kind == VALUE_MAP && read_details(reader, item, entry) < 0)
		return -1;
	if (!entry->text || !entry->text[0])
		return wrong(reader, item,
			     "an entry is a word, or {name: ..., severity: ..., message: ...}");
	if (list == LIST_PATTERNS && pattern_compile(entry->text, &entry->pattern, reader->err) < 0)
		return value_reader_at(reader, item);
	return 0;
}

static int read_forbidden(const struct value_reader *reader, const struct value *items,
			  enum policy_list list, struct policy_entries *entries)
{
	size_t most = list == LIST_PATTERNS ? PATTERNS_MAX : ENTRIES_MAX;

	if (items->kind == VALUE_NULL)
		return 0;
	if (items->kind != VALUE_LIST)
		return wrong(reader, items, "a list is wanted here");
	if (entries->count + items->many.count > most)
		return wrong(reader, items,
			     "the list is too long; at most 1000 names, 100 patterns");
	for (size_t i = 0; i < items->many.count; i++) {
		struct policy_entry *entry;

		entries->items =
			xrealloc(entries->items, entries->count + 1, sizeof(*entries->items));
		entry = &entries->items[entries->count++];
		*entry = (struct policy_entry){ .severity = -1 };
		if (read_entry(reader, items->many.items[i], list, entry) < 0)
			return -1;
	}
	return 0;
}

static int read_allowed(const struct value_reader *reader, const struct value *items,
			struct strv *list)
{
	if (items->kind == VALUE_NULL)
		return 0;
	if (items->kind != VALUE_LIST || items->many.count > ENTRIES_MAX)
		return wrong(reader, items, "a list of at most 1000 names is wanted here");
	for (size_t i = 0; i < items->many.count; i++) {
		const struct value *item = items->many.items[i];

		if (item->kind != VALUE_TEXT)
			return wrong(reader, item, "an entry is a word");
		strv_add(list, item->text.bytes);
	}
	return 0;
}

static int read_severities(const struct value_reader *reader, const struct value *map,
			   int *severities)
{
	if (map->kind != VALUE_MAP)
		return wrong(reader, map, "severities: is {RULE: off|low|medium|high|critical}");
	for (size_t i = 0; i < map->many.count; i++) {
		int rule = scan_rule_named(map->many.keys[i]), severity;
		struct suggest suggest;

		if (rule < 0) {
			suggest_init(&suggest, map->many.keys[i]);
			for (size_t known = 0; known < SCAN_RULES; known++)
				suggest_try(&suggest, scan_rules[known].name);
			return value_reader_unknown(reader, map->many.items[i], map->many.keys[i],
						    suggest.best);
		}
		if (rule == RULE_NOT_ANALYSABLE)
			return wrong(reader, map->many.items[i],
				     "what cannot be analysed is high, whatever a policy says");
		if (read_severity(reader, map->many.items[i], &severity) < 0)
			return -1;
		severities[rule] = severity;
	}
	return 0;
}

/* forbidden_imports and the like: which list, -1 for none. */
static int list_of(const char *key, const char *prefix)
{
	size_t len = strlen(prefix);

	for (int i = 0; strncmp(key, prefix, len) == 0 && i < POLICY_LISTS; i++) {
		if (strcmp(key + len, list_keys[i]) == 0)
			return i;
	}
	return -1;
}

static int unknown_key(const struct value_reader *reader, const struct value *item, const char *key)
{
	static const char *const keys[] = { "forbidden_imports",
					    "forbidden_functions",
					    "forbidden_commands",
					    "forbidden_patterns",
					    "allowed_imports",
					    "allowed_functions",
					    "allowed_commands",
					    "severities",
					    "python",
					    "javascript",
					    "shell",
					    "builtin",
					    "fail_on",
					    NULL };

	return value_reader_unknown(reader, item, key, suggest_of(key, keys));
}

/* One key that may stand under a language, or at the top for all of them. 1 when it is none of these. */
static int read_key(const struct value_reader *reader, const char *key, const struct value *item,
		    struct policy_language *language)
{
	int list = list_of(key, "forbidden_");

	if (list >= 0)
		return read_forbidden(reader, item, (enum policy_list)list,
				      &language->forbidden[list]);
	list = list_of(key, "allowed_");
	if (list >= 0 && list != LIST_PATTERNS)
		return read_allowed(reader, item, &language->allowed[list]);
	if (strcmp(key, "severities") == 0)
		return read_severities(reader, item, language->severities);
	return 1;
}

static int read_language(const struct value_reader *reader, const struct value *map,
			 struct policy_language *language)
{
	if (map->kind == VALUE_NULL)
		return 0;
	if (map->kind != VALUE_MAP)
		return wrong(reader, map, "a language has keys such as forbidden_imports");
	for (size_t i = 0; i < map->many.count; i++) {
		int status = read_key(reader, map->many.keys[i], map->many.items[i], language);

		if (status == 1)
			return unknown_key(reader, map->many.items[i], map->many.keys[i]);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int read_for_all(const struct value_reader *reader, const char *key,
			const struct value *item, struct scan_policy *policy)
{
	int status = 1;

	for (size_t i = 0; i < SCAN_LANGUAGES; i++) {
		status = read_key(reader, key, item, &policy->languages[i]);
		if (status != 0)
			break;
	}
	return status;
}

static int read_top(const struct value_reader *reader, const char *key, const struct value *item,
		    struct scan_policy *policy)
{
	enum scan_language language = scan_language_named(key);
	int status;

	if (language != SCAN_UNKNOWN)
		return read_language(reader, item, &policy->languages[language]);
	if (strcmp(key, "builtin") == 0) {
		if (item->kind != VALUE_BOOL)
			return wrong(reader, item, "builtin: is true or false");
		policy->without_builtin = !item->truth;
		return 0;
	}
	if (strcmp(key, "fail_on") == 0)
		return read_severity(reader, item, &policy->fail_on);
	status = read_for_all(reader, key, item, policy);
	return status == 1 ? unknown_key(reader, item, key) : status;
}

int scan_policy_read(const char *bytes, size_t len, const char *origin,
		     struct scan_policy *ret_policy, struct error *err)
{
	owned(value_release) struct value *tree = NULL;
	owned(scan_policy_done) struct scan_policy policy;
	const struct value_reader reader = { origin, err };

	scan_policy_init(&policy);
	if (yaml_read(bytes, len, origin, YAML_TYPED, &tree, err) < 0)
		return -1;
	if (tree->kind != VALUE_MAP)
		return wrong(&reader, tree,
			     "a policy is a map: python: {forbidden_imports: [...]}");
	for (size_t i = 0; i < tree->many.count; i++) {
		if (read_top(&reader, tree->many.keys[i], tree->many.items[i], &policy) < 0)
			return -1;
	}
	*ret_policy = policy;
	scan_policy_init(&policy);
	return 0;
}
