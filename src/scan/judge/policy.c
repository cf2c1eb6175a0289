/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force: what its lists say about a name, and how grave a rule is. */
#include "scan/judge/policy.h"

#include <stdlib.h>
#include <string.h>

void scan_policy_init(struct scan_policy *policy)
{
	*policy = (struct scan_policy){ .fail_on = -1 };
	for (size_t i = 0; i < SCAN_LANGUAGES; i++) {
		for (size_t rule = 0; rule < SCAN_RULES; rule++)
			policy->languages[i].severities[rule] = -1;
	}
}

static void entries_done(struct policy_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		free(entries->items[i].text);
		free(entries->items[i].message);
		free(entries->items[i].hint);
		pattern_free(entries->items[i].pattern);
	}
	free(entries->items);
}

void scan_policy_done(struct scan_policy *policy)
{
	for (size_t i = 0; i < SCAN_LANGUAGES; i++) {
		for (size_t list = 0; list < POLICY_LISTS; list++) {
			entries_done(&policy->languages[i].forbidden[list]);
			strv_done(&policy->languages[i].allowed[list]);
		}
	}
	scan_policy_init(policy);
}

enum scan_severity scan_policy_severity(const struct scan_policy *policy,
					enum scan_language language, enum scan_rule rule,
					enum scan_severity severity)
{
	int said = language == SCAN_UNKNOWN ? -1 : policy->languages[language].severities[rule];

	return said < 0 ? severity : (enum scan_severity)said;
}

/* "os" covers os and os.path; "git push" covers git push origin; "*.execute" covers cursor.execute. */
static bool covers(enum policy_list list, const char *entry, const char *name)
{
	size_t len = strlen(entry);
	const char *last;

	if (strcmp(entry, name) == 0)
		return true;
	if (len > 1 && entry[len - 1] == '*' && strncmp(entry, name, len - 1) == 0)
		return true;
	if (list == LIST_FUNCTIONS) {
		last = strrchr(name, '.');
		return entry[0] == '*' && entry[1] == '.' && last && strcmp(entry + 1, last) == 0;
	}
	if (strncmp(entry, name, len) != 0)
		return false;
	return list == LIST_IMPORTS ? name[len] == '.' || name[len] == '/' : name[len] == ' ';
}

const struct policy_entry *scan_policy_forbids(const struct scan_policy *policy,
					       enum scan_language language, enum policy_list list,
					       const char *name)
{
	const struct policy_entries *entries;

	if (language == SCAN_UNKNOWN)
		return NULL;
	entries = &policy->languages[language].forbidden[list];
	for (size_t i = 0; i < entries->count; i++) {
		if (covers(list, entries->items[i].text, name))
			return &entries->items[i];
	}
	return NULL;
}

bool scan_policy_allows(const struct scan_policy *policy, enum scan_language language,
			enum policy_list list, const char *name)
{
	const struct strv *allowed;

	if (language == SCAN_UNKNOWN)
		return false;
	allowed = &policy->languages[language].allowed[list];
	for (size_t i = 0; i < allowed->count; i++) {
		if (covers(list, allowed->items[i], name))
			return true;
	}
	return false;
}
