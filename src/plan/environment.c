/* SPDX-License-Identifier: Apache-2.0 */
/* The environment inside: an allow-list of the caller's variables, our own marks, and what was named one by one. */
#include "base/own.h"
#include "plan/parts.h"
#include "spec/mask.h"

#include <stdlib.h>
#include <string.h>

/* Harmless words about terminal, language and tools. */
static const char *const kept[] = { "PATH", "SHELL",	"TERM", "COLORTERM", "LANG",
				    "TZ",   "NO_COLOR", "CI",	NULL };

/* Places of tool chains: kept as far as they can be seen inside. */
static const char *const places[] = { "VIRTUAL_ENV", "GOPATH",	  "GOROOT",  "CARGO_HOME",
				      "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT",
				      "PYTHONPATH",  "NODE_PATH", NULL };

static bool is_listed(const char *const *list, const char *pair, size_t name_len)
{
	for (; *list; list++) {
		if (strlen(*list) == name_len && memcmp(*list, pair, name_len) == 0)
			return true;
	}
	return false;
}

static void put_value(struct strv *env, const char *name, const char *value)
{
	owned(free_ptr) char *pair = xasprintf("%s=%s", name, value);

	settings_add_env(env, pair);
}

/* NAME=a:b:c with the parts that are visible inside; nothing when none is. */
static void put_visible(struct spec *spec, const char *pair, size_t name_len)
{
	owned(str_done) struct str out = STR_INIT;
	const char *at = pair + name_len + 1;

	str_add_bytes(&out, pair, name_len);
	while (*at) {
		size_t len = strcspn(at, ":");
		owned(free_ptr) char *part = xstrndup(at, len);

		if (part[0] == '/' && mask_shows(spec, part)) {
			str_add_char(&out, out.len == name_len ? '=' : ':');
			str_add(&out, part);
		}
		at += len + (at[len] == ':');
	}
	if (out.len > name_len)
		settings_add_env(&spec->env, str_cstr(&out));
}

static void put_kept(const struct planning *planning)
{
	struct spec *spec = planning->spec;

	for (const char *const *at = planning->request->environ; at && *at; at++) {
		const char *pair = *at;
		size_t len = (size_t)(strchrnul(pair, '=') - pair);

		if (!pair[len] || len == 0)
			continue;
		if (is_listed(kept, pair, len) || str_starts(pair, "LC_"))
			settings_add_env(&spec->env, pair);
		else if (is_listed(places, pair, len))
			put_visible(spec, pair, len);
	}
}

static void put_passed(const struct planning *planning)
{
	const struct strv *names = &planning->settings->pass_env;

	for (const char *const *at = planning->request->environ; at && *at; at++) {
		owned(free_ptr) char *name = xstrndup(*at, strcspn(*at, "="));

		if (names->count > 0 && strv_has(names, name))
			settings_add_env(&planning->spec->env, *at);
	}
}

static bool has_path(const struct strv *env)
{
	for (size_t i = 0; i < env->count; i++) {
		if (str_starts(env->items[i], "PATH="))
			return true;
	}
	return false;
}

void plan_environment(const struct planning *planning)
{
	const struct settings *settings = planning->settings;
	struct strv *env = &planning->spec->env;

	put_kept(planning);
	if (!has_path(env))
		settings_add_env(env, "PATH=" SETTINGS_PATH_DEFAULT);
	/* The resolved home: a link to it from a directory that is empty inside would lead nowhere. */
	put_value(env, "HOME", planning->spec->home);
	put_value(env, "USER", planning->host->user);
	put_value(env, "LOGNAME", planning->host->user);
	settings_add_env(env, "AISBX=1");
	put_value(env, "AISBX_SANDBOX", planning->spec->sandbox);
	if (settings->pass_env.count > 0)
		put_passed(planning);
	for (size_t i = 0; i < settings->env.count; i++)
		settings_add_env(env, settings->env.items[i]);
}

void plan_command_environment(const struct spec *spec, const struct settings *settings,
			      const struct host *host, const char *const *env, struct strv *ret_env)
{
	const struct request request = { .environ = env };
	/* Borrows everything but the list that is filled. */
	struct spec shadow = *spec;
	const struct planning planning = {
		.request = &request, .settings = settings, .host = host, .spec = &shadow
	};

	shadow.env = (struct strv)STRV_INIT;
	plan_environment(&planning);
	*ret_env = shadow.env;
}
