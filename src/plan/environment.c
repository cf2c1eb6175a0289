/* SPDX-License-Identifier: Apache-2.0 */
/* The environment inside: an allow-list of the caller's variables, our own marks, and what was named one by one. */
#include "base/core/env.h"
#include "base/core/own.h"
#include "base/text/url.h"
#include "net/rule/inject.h"
#include "net/rule/judge.h"
#include "plan/parts.h"
#include "plan/variables.h"
#include "spec/mask.h"

#include <stdlib.h>
#include <string.h>

/* Harmless words about terminal, language and tools. */
static const char *const kept[] = {
	"PATH", "SHELL", /* of this machine's root: KEPT_PLACES */
	"TERM", "COLORTERM", "LANG", "TZ", "NO_COLOR", "CI",
	/* Those of locale(7): a name that only begins like them may hold anything. */
	"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT",
	"LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE",
	"LC_TIME", NULL
};

#define KEPT_PLACES 2

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

/* A variable of the caller's: "NAME=VALUE", and how long the name is. */
struct pair {
	const char *text;
	size_t name_len;
};

static int compare_names(const void *key, const void *row)
{
	const struct pair *pair = key;
	const struct plan_variable *variable = row;
	int order = strncmp(pair->text, variable->name, pair->name_len);

	return order || !variable->name[pair->name_len] ? order : -1;
}

const struct plan_variable *plan_variable_find(const char *text)
{
	const struct pair pair = { text, (size_t)(strchrnul(text, '=') - text) };

	return text[pair.name_len] && text[pair.name_len + 1]
		       ? bsearch(&pair, plan_variables, plan_variables_count,
				 sizeof(plan_variables[0]), compare_names)
		       : NULL;
}

/* NAME=a:b:c with the parts that are visible inside; false when none is. */
static bool put_visible(struct spec *spec, const char *pair, size_t name_len)
{
	owned(str_done) struct str out = STR_INIT;
	const char *at = pair + name_len + 1;

	str_add_bytes(&out, pair, name_len);
	while (*at) {
		size_t len = strcspn(at, ":");
		owned(free_ptr) char *part = xstrndup(at, len);

		/* Of ~/go and ~/.cargo only some directories are. */
		if (part[0] == '/' && (mask_shows(spec, part) || mask_has_file(spec, part) ||
				       plan_keeps_within(spec, part))) {
			str_add_char(&out, out.len == name_len ? '=' : ':');
			str_add(&out, part);
		}
		at += len + (at[len] == ':');
	}
	if (out.len > name_len)
		settings_add_env(&spec->env, str_cstr(&out));
	return out.len > name_len;
}

/* Arguments for a package client: user names and passwords stay outside. False when they cannot be separated from the rest. */
static bool put_words(struct spec *spec, const struct pair *pair, struct strv *stripped)
{
	const char *value = pair->text + pair->name_len + 1;
	owned(free_ptr) char *bare = url_list_without_users(value);
	owned(free_ptr) char *name = xstrndup(pair->text, pair->name_len);

	if (!bare)
		return false;
	if (strcmp(bare, value) != 0)
		strv_add(stripped, name);
	put_value(&spec->env, name, bare);
	return true;
}

static void note_names(struct spec *spec, const struct strv *names, const char *why)
{
	owned(str_done) struct str list = STR_INIT;

	for (size_t i = 0; i < names->count; i++)
		str_addf(&list, "%s%s", i ? ", " : "", names->items[i]);
	if (names->count > 0)
		strv_addf(&spec->notes, "%s %s", str_cstr(&list), why);
}

/* Configuration of package clients, without user and password: another registry than the host's would be a silent exchange of packages. */
static void put_clients(const struct planning *planning)
{
	owned(strv_done) struct strv stripped = STRV_INIT, dropped = STRV_INIT;
	owned(strv_done) struct strv trusted = STRV_INIT;
	struct spec *spec = planning->spec;

	for (const char *const *at = planning->request->environ; at && *at; at++) {
		const struct plan_variable *row = plan_variable_find(*at);

		if (!row)
			continue;
		const struct pair pair = { *at, strlen(row->name) };

		/*
		 * A stranger's host could pass for one that a signed script fetches code from. Without them that fails; without
		 * an index or a registry another one would answer, so these stay for the check to refuse.
		 */
		if (spec->signed_only && row->kind != VARIABLE_WORDS)
			strv_add(&trusted, row->name);
		else if (row->kind == VARIABLE_WORDS ? !put_words(spec, &pair, &stripped)
						     : !put_visible(spec, *at, pair.name_len))
			strv_add(&dropped, row->name);
	}
	note_names(spec, &trusted,
		   "left out: with --require-signature the machine's own certificates are "
		   "trusted alone");
	note_names(spec, &stripped, "came along without user and password");
	note_names(spec, &dropped,
		   "left out: not a plain URL, a path that may be a token, or a file that is "
		   "hidden inside "
		   "(--pass-env passes a variable as it is)");
}

static void put_kept(const struct planning *planning)
{
	struct spec *spec = planning->spec;

	for (const char *const *at = planning->request->environ; at && *at; at++) {
		const char *pair = *at;
		size_t len = (size_t)(strchrnul(pair, '=') - pair);

		if (!pair[len] || len == 0)
			continue;
		/* Another root has its programs elsewhere. */
		if (spec->image && !is_listed(kept + KEPT_PLACES, pair, len))
			continue;
		if (is_listed(kept, pair, len))
			settings_add_env(&spec->env, pair);
		else if (is_listed(places, pair, len))
			(void)put_visible(spec, pair, len);
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

/* Whether aisbx-gateway stands between programs and a host, which gets a secret or whose requests are judged. */
static bool has_tls_gateway(const struct spec *spec)
{
	owned(strv_done) struct strv hosts = STRV_INIT;

	if (spec->net == NET_ALLOW)
		judge_tls_hosts(&spec->allow, &spec->deny, &hosts);
	for (size_t i = 0; i < spec->secrets.count; i++) {
		if (spec->secrets.items[i][0] == INJECT_MARK)
			return true;
	}
	return hosts.count > 0;
}

/* None of the variables that would say so may a signed script have; it can name the file. */
static bool may_trust_gateway(struct spec *spec)
{
	if (spec->signed_only)
		strv_add(&spec->notes,
			 "hosts whose TLS is ended outside are not trusted: --require-signature "
			 "leaves SSL_CERT_FILE and its kind out; a script can name "
			 "/run/aisbx/ca.pem");
	return !spec->signed_only;
}

/* Programs have to trust its certificate. */
static void put_bundle(const struct planning *planning)
{
	static const char *const names[] = {
		"SSL_CERT_FILE",     "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
		"CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO", "PIP_CERT",	     "NPM_CONFIG_CAFILE",
		"AWS_CA_BUNDLE",     "DENO_CERT",      "NIX_SSL_CERT_FILE",  NULL
	};

	for (const char *const *name = names; *name; name++)
		put_value(&planning->spec->env, *name, "/run/aisbx/ca.pem");
	/* Wget has no variable for it, but one for the place of the machine's settings. */
	put_value(&planning->spec->env, "SYSTEM_WGETRC", "/run/aisbx/wgetrc");
}

/* Java has a list of its own, and reads options for it. They come first: of two of a name the last one counts, the user's. */
static void put_java_store(struct strv *env)
{
	const char *given = env_get((const char *const *)env->items, "JAVA_TOOL_OPTIONS");
	owned(free_ptr) char *options =
		xasprintf("-Djavax.net.ssl.trustStore=/run/aisbx/ca.jks%s%s", given ? " " : "",
			  given ? given : "");

	put_value(env, "JAVA_TOOL_OPTIONS", options);
}

/* What the driver compiles is no change to the home directory. */
static void put_gpu(const struct planning *planning)
{
	if (planning->spec->gpu.count > 0)
		put_value(&planning->spec->env, "CUDA_CACHE_PATH", "/tmp/.nv-cache");
}

void plan_environment(const struct planning *planning)
{
	const struct settings *settings = planning->settings;
	struct strv *env = &planning->spec->env;
	bool has_gateway = has_tls_gateway(planning->spec) && may_trust_gateway(planning->spec);

	for (size_t i = 0; i < planning->spec->image_env.count; i++)
		settings_add_env(env, planning->spec->image_env.items[i]);
	put_kept(planning);
	put_clients(planning);
	if (!env_get((const char *const *)env->items, "PATH"))
		settings_add_env(env, "PATH=" SETTINGS_PATH_DEFAULT);
	/* The resolved home: a link to it from a directory that is empty inside would lead nowhere. */
	put_value(env, "HOME", planning->spec->home);
	put_value(env, "USER", planning->host->user);
	put_value(env, "LOGNAME", planning->host->user);
	settings_add_env(env, "AISBX=1");
	put_value(env, "AISBX_SANDBOX", planning->spec->sandbox);
	if (settings->pass_env.count > 0)
		put_passed(planning);
	if (has_gateway)
		put_bundle(planning);
	put_gpu(planning);
	for (size_t i = 0; i < settings->env.count; i++)
		settings_add_env(env, settings->env.items[i]);
	if (has_gateway)
		put_java_store(env);
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
	shadow.notes = (struct strv)STRV_INIT;
	plan_environment(&planning);
	strv_done(&shadow.notes);
	*ret_env = shadow.env;
}
