/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a Docker or OCI seccomp profile, read from JSON one by one. */
#include "confine/seccomp/oci_rule.h"

#include "base/text/suggest.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#if defined(__x86_64__)
#define NATIVE_SCMP "SCMP_ARCH_X86_64"
#define NATIVE_GO "amd64"
#else
#define NATIVE_SCMP "SCMP_ARCH_AARCH64"
#define NATIVE_GO "arm64"
#endif

#define ERRNO_MAX 4095

static const struct action {
	const char *name;
	uint32_t answer;
	bool has_data; /* errnoRet belongs to it */
} actions[] = {
	{ "SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW, false },
	{ "SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO, true },
	{ "SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD, false },
	{ "SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD, false },
	{ "SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS, false },
	{ "SCMP_ACT_TRAP", SECCOMP_RET_TRAP, false },
	{ "SCMP_ACT_TRACE", SECCOMP_RET_TRACE, true },
	{ "SCMP_ACT_LOG", SECCOMP_RET_LOG, false },
};

static const struct operator
{
	const char *name;
	enum seccomp_compare compare;
	bool is_masked;
}
operators[] = {
	{ "SCMP_CMP_EQ", COMPARE_EQ, false },	    { "SCMP_CMP_NE", COMPARE_NE, false },
	{ "SCMP_CMP_LT", COMPARE_LT, false },	    { "SCMP_CMP_LE", COMPARE_LE, false },
	{ "SCMP_CMP_GT", COMPARE_GT, false },	    { "SCMP_CMP_GE", COMPARE_GE, false },
	{ "SCMP_CMP_MASKED_EQ", COMPARE_EQ, true },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "KEY: WHAT 'GIVEN'; did you mean 'BEST'?" */
static int refuse(struct error *err, const char *what, const struct suggest *suggest)
{
	char shown[STR_SHOWN_SIZE];

	error_set(err, ERROR_INPUT, "%s '%s'", what, str_shown(suggest->given, shown));
	return suggest_add_hint(suggest->best, err);
}

int oci_check_keys(const struct value *map, const char *where, const char *const *keys,
		   struct error *err)
{
	for (size_t i = 0; i < map->many.count; i++) {
		struct suggest suggest;
		size_t k = 0;

		suggest_init(&suggest, map->many.keys[i]);
		while (keys[k] && strcmp(keys[k], map->many.keys[i]) != 0)
			suggest_try(&suggest, keys[k++]);
		if (keys[k])
			continue;
		(void)refuse(err, "unknown key", &suggest);
		return where[0] ? error_context(err, "%s", where) : -1;
	}
	return 0;
}

/* A key that holds a number from 0 to MAX; *number stays as it is when the key is absent. */
static int read_number(const struct value *map, const char *key, int64_t max, int64_t *number,
		       struct error *err)
{
	const struct value *value = value_get(map, key);

	if (!value || value->kind == VALUE_NULL)
		return 0;
	if (value->kind != VALUE_INT || value->integer < 0 || value->integer > max)
		return error_set(err, ERROR_INPUT, "%s: not a whole number from 0 to %lld", key,
				 (long long)max);
	*number = value->integer;
	return 0;
}

int oci_action_read(const struct value *map, const char *action_key, const char *errno_key,
		    uint32_t *ret_answer, struct error *err)
{
	const char *text = value_get_text(map, action_key);
	int64_t number = EPERM;
	struct suggest suggest;

	if (!text)
		return error_set(err, ERROR_INPUT, "%s is missing", action_key);
	if (read_number(map, errno_key, ERRNO_MAX, &number, err) < 0)
		return -1;
	if (strcmp(text, "SCMP_ACT_NOTIFY") == 0)
		return error_set(err, ERROR_INPUT,
				 "%s: SCMP_ACT_NOTIFY is not possible in a sandbox", action_key);
	suggest_init(&suggest, text);
	for (size_t i = 0; i < COUNT(actions); i++) {
		suggest_try(&suggest, actions[i].name);
		if (strcmp(actions[i].name, text) != 0)
			continue;
		*ret_answer = actions[i].answer | (actions[i].has_data ? (uint32_t)number : 0);
		return 0;
	}
	(void)refuse(err, "unknown action", &suggest);
	return error_context(err, "%s", action_key);
}

static bool list_has(const struct value *list, const char *text)
{
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *item = list->many.items[i];

		if (item->kind == VALUE_TEXT && strcmp(item->text.bytes, text) == 0)
			return true;
	}
	return false;
}

/* A child that is a list, or NULL when absent or null. */
static int read_list(const struct value *map, const char *key, const struct value **ret_list,
		     struct error *err)
{
	const struct value *list = value_get(map, key);

	*ret_list = NULL;
	if (!list || list->kind == VALUE_NULL)
		return 0;
	if (list->kind != VALUE_LIST)
		return error_set(err, ERROR_INPUT, "%s: not a list", key);
	*ret_list = list;
	return 0;
}

int oci_check_arch(const struct value *root, struct error *err)
{
	const struct value *list, *map;

	if (read_list(root, "architectures", &list, err) < 0 ||
	    read_list(root, "archMap", &map, err) < 0)
		return -1;
	bool is_named = (list && list->many.count) || (map && map->many.count);
	bool has_native = list && list_has(list, NATIVE_SCMP);

	for (size_t i = 0; map && i < map->many.count; i++) {
		const struct value *item = map->many.items[i];
		const char *name =
			item->kind == VALUE_MAP ? value_get_text(item, "architecture") : NULL;

		has_native |= name && strcmp(name, NATIVE_SCMP) == 0;
	}
	if (is_named && !has_native)
		return error_set(err, ERROR_INPUT, "not for this machine: %s is not named",
				 NATIVE_SCMP);
	return 0;
}

/* Whether the running kernel is at least "MAJOR.MINOR"; -1 for a text that is no version. */
static int kernel_reaches(const char *text)
{
	struct utsname name;
	unsigned want_major, want_minor;
	unsigned major = 0;
	unsigned minor = 0;
	char rest;

	if (sscanf(text, "%3u.%3u%c", &want_major, &want_minor, &rest) != 2 || uname(&name) < 0)
		return -1;
	(void)sscanf(name.release, "%u.%u", &major, &minor);
	return major > want_major || (major == want_major && minor >= want_minor);
}

/*
 * Docker's `includes` and `excludes`: capabilities, architectures, oldest kernel. *ret_match: whether all of them hold;
 * absent ones count as given by FALLBACK.
 */
static int read_condition(const struct value *rule, const char *key, bool fallback, bool *ret_match,
			  struct error *err)
{
	static const char *const keys[] = { "caps", "arches", "minKernel", NULL };
	const struct value *map = value_get(rule, key);
	const struct value *caps, *arches;
	char where[16];

	*ret_match = fallback;
	if (!map || map->kind == VALUE_NULL)
		return 0;
	if (map->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "%s: not an object", key);
	(void)snprintf(where, sizeof(where), "%s", key);
	if (oci_check_keys(map, where, keys, err) < 0 || read_list(map, "caps", &caps, err) < 0 ||
	    read_list(map, "arches", &arches, err) < 0)
		return -1;
	const char *version = value_get_text(map, "minKernel");
	int reaches = version ? kernel_reaches(version) : fallback;
	if (reaches < 0)
		return error_set(err, ERROR_INPUT, "%s.minKernel: not a version", key);
	bool arch = arches && arches->many.count ? list_has(arches, NATIVE_GO) : fallback;
	/* The payload has no capability. */
	bool cap = caps && caps->many.count ? false : fallback;
	*ret_match = fallback ? reaches && arch && cap : reaches || arch || cap;
	return 0;
}

static bool fits_low_half(const struct seccomp_cond *cond)
{
	return cond->value <= UINT32_MAX && (cond->mask == UINT64_MAX || cond->mask <= UINT32_MAX);
}

static int read_cond(const struct value *arg, uint32_t answer, struct seccomp_cond *ret_cond,
		     struct error *err)
{
	static const char *const keys[] = { "index", "value", "valueTwo", "op", NULL };
	int64_t index = -1, value = 0, second = 0;
	const char *text = arg->kind == VALUE_MAP ? value_get_text(arg, "op") : NULL;
	bool permits = answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
	struct suggest suggest;
	size_t i = 0;

	if (!text)
		return error_set(err, ERROR_INPUT, "op is missing");
	if (oci_check_keys(arg, "", keys, err) < 0 ||
	    read_number(arg, "index", SECCOMP_CONDS - 1, &index, err) < 0 ||
	    read_number(arg, "value", INT64_MAX, &value, err) < 0 ||
	    read_number(arg, "valueTwo", INT64_MAX, &second, err) < 0)
		return -1;
	if (index < 0)
		return error_set(err, ERROR_INPUT, "index is missing");
	suggest_init(&suggest, text);
	while (i < COUNT(operators) && strcmp(operators[i].name, text) != 0)
		suggest_try(&suggest, operators[i++].name);
	if (i == COUNT(operators))
		return refuse(err, "unknown comparison", &suggest);
	*ret_cond = (struct seccomp_cond){
		.arg = (uint8_t)index,
		.is_wide = true,
		.compare = operators[i].compare,
		.mask = operators[i].is_masked ? (uint64_t)value : UINT64_MAX,
		.value = (uint64_t)(operators[i].is_masked ? second : value),
	};
	/* Where fewer bits refuse more calls, and the kernel most likely sees no more of them. */
	if (ret_cond->compare == (permits ? COMPARE_NE : COMPARE_EQ))
		ret_cond->is_wide = !fits_low_half(ret_cond);
	return 0;
}

static bool has_repeated_arg(const struct seccomp_cond *conds, size_t count)
{
	unsigned seen = 0;

	for (size_t i = 0; i < count; i++) {
		if (seen & 1U << conds[i].arg)
			return true;
		seen |= 1U << conds[i].arg;
	}
	return false;
}

/*
 * Conditions must all hold; but naming one argument twice means "either", as container engines do
 * it.
 */
static int read_clauses(const struct value *value, struct oci_rule *rule, struct error *err)
{
	struct seccomp_cond conds[SECCOMP_CONDS];
	const struct value *args;
	size_t count = 0;

	if (read_list(value, "args", &args, err) < 0)
		return -1;
	if (args && args->many.count > SECCOMP_CONDS)
		return error_set(err, ERROR_INPUT, "args: more than %d", SECCOMP_CONDS);
	for (; args && count < args->many.count; count++) {
		if (read_cond(args->many.items[count], rule->answer, &conds[count], err) < 0)
			return error_context(err, "args[%zu]", count);
	}
	bool is_either = has_repeated_arg(conds, count);
	rule->clause_count = is_either ? count : 1;
	for (size_t i = 0; i < rule->clause_count; i++) {
		struct seccomp_clause *clause = &rule->clauses[i];

		clause->answer = rule->answer;
		clause->cond_count = (uint8_t)(is_either ? 1 : count);
		memcpy(clause->conds, is_either ? &conds[i] : conds,
		       clause->cond_count * sizeof(conds[0]));
	}
	return 0;
}

static int read_rule(const struct value *value, struct oci_rule *rule, struct error *err)
{
	static const char *const keys[] = { "names",   "name",	   "action",   "errnoRet", "args",
					    "comment", "includes", "excludes", NULL };
	bool is_included, is_excluded;

	if (value->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "not an object");
	if (oci_check_keys(value, "", keys, err) < 0)
		return -1;
	rule->name = value_get_text(value, "name");
	if (read_list(value, "names", &rule->names, err) < 0)
		return -1;
	if ((rule->name != NULL) == (rule->names != NULL))
		return error_set(err, ERROR_INPUT, "names is missing");
	if (oci_action_read(value, "action", "errnoRet", &rule->answer, err) < 0 ||
	    read_condition(value, "includes", true, &is_included, err) < 0 ||
	    read_condition(value, "excludes", false, &is_excluded, err) < 0)
		return -1;
	rule->applies = is_included && !is_excluded;
	return read_clauses(value, rule, err);
}

int oci_rule_read(const struct value *value, struct oci_rule *rule, struct error *err)
{
	if (read_rule(value, rule, err) < 0)
		return error_context(err, "syscalls[%zu]", rule->index);
	return 0;
}
