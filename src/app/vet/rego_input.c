/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy is asked with: the plan, the change, the call; who and when. */
#include "app/vet/rego_parts.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "spec/codec.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Parts of a plan that are long, or say where aisbx keeps its own things: no rule is about them. */
static const char *const left_out[] = { "trees",     "masks",	   "layers",	"groups",
					"upper_dir", "resident",   "state_dir", "store_dir",
					"cache_dir", "config_dir", "notes",	"run_id",
					"hostname",  "env" };

/* Actions by what they are about, for rules that hold for all of a kind. */
static const char *kind_of(const char *action)
{
	static const char *const others[] = { "promote", "stage", "allow", "mcp", "job" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(action, others[i]) == 0)
			return i == 1 ? others[0] : others[i];
	}
	return "start";
}

/* Only names: values of variables may be secrets. */
static struct value *names_of(const struct strv *env)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < env->count; i++)
		value_append(list, value_new_bytes(env->items[i], strcspn(env->items[i], "=")));
	return list;
}

/* A rule may ask for a text where there is none: "" is one, null would be an error in most functions. */
static void fill_absent(struct value *map)
{
	for (size_t i = 0; i < map->many.count; i++) {
		if (map->many.items[i]->kind != VALUE_NULL)
			continue;
		value_free(map->many.items[i]);
		map->many.items[i] = value_new_text("");
	}
}

struct value *policy_spec(const struct request *request, const struct spec *spec)
{
	struct value *map = spec_to_value(spec);

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		value_free(value_take(map, left_out[i]));
	fill_absent(map);
	value_set(map, "variables", names_of(&spec->env));
	value_set(map, "profile",
		  value_new_text(request && request->profile ? request->profile : "default"));
	return map;
}

/* By the machine's zone: a caller that sets TZ must not change what hour it is. */
static void add_time(struct value *input)
{
	static const char *const days[] = { "sunday",	"monday", "tuesday", "wednesday",
					    "thursday", "friday", "saturday" };
	const uint64_t now_ms = clock_epoch_ms();
	const time_t now = (time_t)(now_ms / 1000);
	owned(free_ptr) char *zone = getenv("TZ") ? xstrdup(getenv("TZ")) : NULL;
	struct value *map = value_set(input, "time", value_new_map());
	struct tm local = { 0 };
	char utc[32];

	(void)unsetenv("TZ");
	tzset();
	(void)localtime_r(&now, &local);
	if (zone)
		(void)setenv("TZ", zone, 1);
	tzset();
	time_format_utc(now_ms, utc);
	value_add(map, "utc", value_new_text(utc));
	value_add(map, "hour", value_new_int(local.tm_hour));
	value_add(map, "minute", value_new_int(local.tm_min));
	value_add(map, "weekday", value_new_text(days[local.tm_wday % 7]));
}

void policy_input_add_common(struct value *input, const char *action)
{
	struct value *user = value_set(input, "user", value_new_map());
	/* Not by the environment, which the caller chooses. */
	const struct passwd *account = getpwuid(geteuid());

	value_set(input, "action", value_new_text(action));
	value_set(input, "kind", value_new_text(kind_of(action)));
	value_add(user, "uid", value_new_int((int64_t)geteuid()));
	value_add(user, "name", value_new_text(account ? account->pw_name : ""));
	add_time(input);
	if (!value_get(input, "agent"))
		value_add(input, "agent", value_new_text(""));
}

struct value *policy_change(const struct value *promotion)
{
	static const char *const texts[] = { "bundle", "sandbox", "target" };
	static const char *const lists[] = { "applied", "merged" };
	const struct value *consents = promotion ? value_get(promotion, "consent") : NULL;
	struct value *map = value_new_map(), *paths = value_new_list(), *asks = value_new_list();

	for (size_t i = 0; i < 3; i++) {
		const char *text = promotion ? value_get_text(promotion, texts[i]) : NULL;

		value_add(map, texts[i], value_new_text(text ? text : ""));
	}
	for (size_t i = 0; i < 2; i++) {
		const struct value *list = promotion ? value_get(promotion, lists[i]) : NULL;

		for (size_t k = 0; list && k < list->many.count; k++) {
			const struct value *one = list->many.items[k];
			const char *path = one->kind == VALUE_TEXT ? one->text.bytes
								   : value_get_text(one, "path");

			value_append(paths, value_new_text(path ? path : ""));
		}
	}
	for (size_t i = 0; consents && i < consents->many.count; i++) {
		struct value *row = value_append(asks, value_new_map());
		const struct value *one = consents->many.items[i];

		value_add(row, "path", value_new_text(value_get_text(one, "path")));
		value_add(row, "why", value_new_text(value_get_text(one, "why")));
	}
	value_add(map, "files", value_new_int((int64_t)paths->many.count));
	value_add(map, "paths", paths);
	value_add(map, "consent", asks);
	value_add(map, "git", value_new_bool(promotion && value_is_true(promotion, "git")));
	return map;
}

struct value *policy_sample(void)
{
	struct value *input = value_new_map(), *mcp, *job, *rule;
	struct spec spec;

	spec_init(&spec);
	value_add(input, "spec", policy_spec(NULL, &spec));
	spec_done(&spec);
	value_add(input, "change", policy_change(NULL));
	value_add(input, "gates", value_new_list());
	value_add(input, "approvals", value_new_list());
	value_add(input, "stage", value_new_text(""));
	mcp = value_add(input, "mcp", value_new_map());
	value_add(mcp, "tool", value_new_text(""));
	value_add(mcp, "arguments", value_new_map());
	job = value_add(input, "job", value_new_map());
	value_add(job, "name", value_new_text(""));
	rule = value_add(input, "rule", value_new_map());
	value_add(rule, "text", value_new_text(""));
	policy_input_add_common(input, "run");
	return input;
}
