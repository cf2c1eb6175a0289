/* SPDX-License-Identifier: Apache-2.0 */
/* Which profile applies to a request: by file, by name among the user's, built in; and `extends`. */
#include "app/config/reads_yaml.h"
#include "app/config/profile_load.h"

#include "base/file/fd.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/yaml.h"
#include "app/config/profile_workspace.h"
#include "app/config/settings_file.h"
#include "profile/path.h"
#include "profile/profile.h"
#include "workspace/disk/fields.h"
#include "workspace/store/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CHAIN_DEPTH 8

/* Profiles from the one named to the one that extends nothing. */
struct chain {
	const char *config_dir; /* may be NULL */
	struct profile links[CHAIN_DEPTH];
	char *paths[CHAIN_DEPTH]; /* resolved; what a loop is known by */
	size_t count;
	const struct profile_builtin *builtin; /* beyond the last link, or NULL */
	enum profile_language language;	       /* of the command; PROFILE_LANGUAGES: none */
	struct sha256 *sum;		       /* of everything that was read; may be NULL */
	struct str *copy; /* of everything that was read, as it is kept; may be NULL */
};

static void chain_done(struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		profile_done(&chain->links[i]);
		free(chain->paths[i]);
	}
}

char *app_config_dir(const char *const *env)
{
	for (; env && *env; env++)
		if (str_starts(*env, "HOME=/"))
			return xasprintf("%s/.config/aisbx", *env + strlen("HOME="));
	return NULL;
}

/* Where the user's profile of that name would be; NULL when there can be none. */
static char *user_path(const char *config_dir, const char *name)
{
	if (!config_dir || !profile_is_name(name))
		return NULL;
	return xasprintf("%s/profiles/%s.yaml", config_dir, name);
}

static bool exists(const char *path)
{
	return path && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool app_profile_needs_yaml(const struct request *request, const char *workspace)
{
	const char *name = request->profile ? request->profile : "default";
	owned(free_ptr) char *config_dir = app_config_dir(request->environ);
	owned(free_ptr) char *own = user_path(config_dir, name);
	owned(free_ptr) char *found = NULL;

	if (request->kept_profile && (*request->kept_profile || request->settings_file))
		return true;
	if (request->kept_profile)
		free_ptr(&own);
	if (request->settings_file || profile_is_file(name) || !profile_builtin_find(name) ||
	    exists(own))
		return true;
	if (!workspace)
		return false;
	found = xasprintf("%s/" WORKSPACE_PROFILE, workspace);
	return exists(found);
}

static int unknown_profile(const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, name);
	for (const struct profile_builtin *builtin = profile_builtins; builtin->name; builtin++)
		suggest_try(&suggest, builtin->name);
	return error_advise(err, ERROR_NOT_FOUND, "`aisbx profile ls` lists them",
			    "no profile '%s'%s%s%s", str_shown(name, shown),
			    suggest.best ? " (did you mean '" : "",
			    suggest.best ? suggest.best : "", suggest.best ? "'?)" : "");
}

/* Parses what the file REAL holds, which an error calls ORIGIN, and adds it as the next link. */
static int add_text(struct chain *chain, const char *real, const char *origin,
		    const struct str *text, struct error *err)
{
	owned(free_ptr) char *dir = xstrndup(real, (size_t)(strrchr(real, '/') - real));

	if (profile_parse(str_cstr(text), text->len, origin, dir, &chain->links[chain->count],
			  err) < 0)
		return -1;
	if (chain->sum) {
		sha256_add(chain->sum, real, strlen(real) + 1);
		sha256_add(chain->sum, str_cstr(text), text->len + 1);
	}
	if (chain->copy) {
		fields_put(chain->copy, "path", real);
		fields_put(chain->copy, "text", str_cstr(text));
	}
	chain->paths[chain->count++] = xstrdup(real);
	return 0;
}

/* Reads, parses and adds the file as the next link. */
static int add_file(struct chain *chain, const char *path, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *real = path_real(path);

	if (!real)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	for (size_t i = 0; i < chain->count; i++)
		if (strcmp(chain->paths[i], real) == 0)
			return error_set(err, ERROR_INPUT, "%s: extends itself, by way of %s", real,
					 chain->paths[chain->count - 1]);
	if (chain->count == CHAIN_DEPTH)
		return error_set(err, ERROR_INPUT, "%s: more than %d profiles extend each other",
				 real, CHAIN_DEPTH);
	if (file_read(AT_FDCWD, real, YAML_MAX_BYTES, &text, err) < 0)
		return -1;
	return add_text(chain, real, path, &text, err);
}

/* A file beside the last link, or beside nothing: where the caller stands. */
static int add_relative(struct chain *chain, const char *word, struct error *err)
{
	const char *last = chain->count > 0 ? chain->paths[chain->count - 1] : NULL;
	owned(free_ptr) char *path = NULL;

	if (!last || word[0] == '/')
		return add_file(chain, word, err);
	path = xasprintf("%.*s/%s", (int)(strrchr(last, '/') - last), last, word);
	return add_file(chain, path, err);
}

/* A user's `default` that extends `default` means the built-in one. */
static bool is_last(const struct chain *chain, const char *path)
{
	owned(free_ptr) char *real = path_real(path);

	return real && chain->count > 0 && strcmp(chain->paths[chain->count - 1], real) == 0;
}

static int add_word(struct chain *chain, const char *word, struct error *err)
{
	owned(free_ptr) char *own = NULL;

	if (profile_is_file(word))
		return add_relative(chain, word, err);
	own = user_path(chain->config_dir, word);
	if (exists(own) && !is_last(chain, own))
		return add_file(chain, own, err);
	chain->builtin = profile_builtin_find(word);
	return chain->builtin ? 0 : unknown_profile(word, err);
}

/* Follows `extends` until nothing is extended. */
static int follow(struct chain *chain, struct error *err)
{
	while (chain->count > 0 && !chain->builtin) {
		const struct profile *last = &chain->links[chain->count - 1];

		if (!last->extends)
			return 0;
		if (add_word(chain, last->extends, err) < 0)
			return error_context(err, "%s: extends", chain->paths[chain->count - 1]);
	}
	return 0;
}

/* All links of a copy that a sandbox keeps. */
static int add_kept(struct chain *chain, const char *kept, struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };
	const char *builtin, *path = NULL;

	if (fields_parse(kept, strlen(kept), SANDBOX_PROFILE_KIND, &fields, err) < 0)
		return error_context(err, "the profile that the sandbox keeps");
	for (size_t i = 0; i < fields.count; i++) {
		const struct field *field = &fields.items[i];
		struct str text = STR_INIT;
		int status;

		if (strcmp(field->key, "path") == 0)
			path = field->value;
		if (strcmp(field->key, "text") != 0)
			continue;
		if (!path || path[0] != '/' || chain->count == CHAIN_DEPTH)
			return error_set(err, ERROR_INPUT,
					 "the profile that the sandbox keeps is damaged");
		str_add(&text, field->value);
		status = add_text(chain, path, path, &text, err);
		str_done(&text);
		if (status < 0)
			return -1;
	}
	builtin = fields_get(&fields, "builtin");
	chain->builtin = *builtin ? profile_builtin_find(builtin) : NULL;
	return *builtin && !chain->builtin ? unknown_profile(builtin, err) : 0;
}

/* The profile of a request; that of a sandbox is the one it was made with. */
static int fill_chain(struct chain *chain, const struct request *request, struct error *err)
{
	const char *word = request->profile ? request->profile : "default";

	if (request->kept_profile && *request->kept_profile)
		return add_kept(chain, request->kept_profile, err);
	/* Made with a built-in one: none of the user's that has its name by now. */
	if (request->kept_profile)
		chain->config_dir = NULL;
	return add_word(chain, word, err) < 0 ? -1 : follow(chain, err);
}

/* From the farthest ancestor to the one that was named: the nearer word replaces. */
static void merge_chain(const struct chain *chain, struct settings *ret_settings)
{
	settings_init(ret_settings);
	if (chain->builtin)
		chain->builtin->apply(ret_settings);
	for (size_t i = chain->count; i > 0; i--) {
		settings_merge(ret_settings, &chain->links[i - 1].settings);
		if (chain->language != PROFILE_LANGUAGES)
			settings_merge(ret_settings,
				       &chain->links[i - 1].languages[chain->language]);
	}
}

int app_resolve_profile(const char *word, const char *config_dir, const struct strv *command,
			struct settings *ret_settings, char **ret_path, struct error *err)
{
	owned(chain_done) struct chain chain = { .config_dir = config_dir,
						 .language = profile_language_of(command) };

	if (add_word(&chain, word, err) < 0 || follow(&chain, err) < 0)
		return -1;
	merge_chain(&chain, ret_settings);
	*ret_path = chain.count > 0 ? ptr_take(&chain.paths[0]) : NULL;
	return 0;
}

static void end_digest(struct chain *chain, char ret_digest[static SHA256_HEX_SIZE])
{
	if (chain->builtin)
		sha256_add(chain->sum, chain->builtin->name, strlen(chain->builtin->name) + 1);
	sha256_end(chain->sum, ret_digest);
}

int app_keep_profile(const struct request *request, char **ret_kept, struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(request->environ);
	owned(str_done) struct str copy = STR_INIT;
	char digest[SHA256_HEX_SIZE];
	struct sha256 sum;
	owned(chain_done) struct chain chain = {
		.config_dir = config_dir, .language = PROFILE_LANGUAGES, .sum = &sum, .copy = &copy
	};

	if (request->kept_profile) {
		*ret_kept = xstrdup(request->kept_profile);
		return 0;
	}
	if (!app_reads_yaml && app_profile_needs_yaml(request, NULL))
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	sha256_start(&sum);
	fields_begin(&copy, SANDBOX_PROFILE_KIND);
	if (fill_chain(&chain, request, err) < 0)
		return -1;
	if (chain.builtin)
		fields_put(&copy, "builtin", chain.builtin->name);
	end_digest(&chain, digest);
	fields_put(&copy, "sha256", digest);
	fields_end(&copy);
	if (copy.len > FIELDS_BYTES_MAX) {
		error_set(err, ERROR_INPUT,
			  "%s and what it extends are too large to be kept with a sandbox",
			  chain.paths[0]);
		return error_add_hint(err, "at most %u KiB", FIELDS_BYTES_MAX >> 10);
	}
	*ret_kept = chain.count > 0 ? str_detach(&copy) : xstrdup("");
	return 0;
}

int app_pin_profile(const char *word, const char *const *env, struct profile_pin *ret_pin,
		    struct error *err)
{
	owned(request_done) struct request request;

	request_init(&request);
	request.profile = xstrdup(word);
	return app_pin_request(&request, env, ret_pin, err);
}

int app_pin_request(const struct request *request, const char *const *env,
		    struct profile_pin *ret_pin, struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(env);
	struct sha256 sum;
	owned(chain_done) struct chain chain = { .config_dir = config_dir,
						 .language = PROFILE_LANGUAGES,
						 .sum = &sum };

	*ret_pin = (struct profile_pin){ .digest = "" };
	sha256_start(&sum);
	if (fill_chain(&chain, request, err) < 0)
		return -1;
	end_digest(&chain, ret_pin->digest);
	merge_chain(&chain, &ret_pin->settings);
	for (size_t i = 0; i < chain.count; i++)
		strv_add(&ret_pin->paths, chain.paths[i]);
	return 0;
}

void profile_pin_done(struct profile_pin *pin)
{
	settings_done(&pin->settings);
	strv_done(&pin->paths);
}

int app_extend_profile(struct profile *profile, const char *path, const char *config_dir,
		       struct settings *ret_settings, struct error *err)
{
	owned(chain_done) struct chain chain = { .config_dir = config_dir,
						 .count = 1,
						 .language = PROFILE_LANGUAGES };

	chain.paths[0] = xstrdup(path);
	chain.links[0] = *profile;
	profile_init(profile);
	if (follow(&chain, err) < 0)
		return -1;
	merge_chain(&chain, ret_settings);
	return 0;
}

int app_load_profile(const struct request *request, const char *workspace,
		     struct settings *ret_settings, struct strv *notes, struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(request->environ);
	owned(chain_done) struct chain chain = { .config_dir = config_dir,
						 .language =
							 profile_language_of(&request->command) };
	struct settings settings;

	if (fill_chain(&chain, request, err) < 0)
		return -1;
	merge_chain(&chain, &settings);
	if (settings_file_apply(request, workspace, &settings, notes, err) < 0 ||
	    (workspace &&
	     workspace_profile_apply(workspace, config_dir, &settings, notes, err) < 0)) {
		settings_done(&settings);
		return -1;
	}
	/* Filters are made of names by aisbx-full, also for a profile that is built in. */
	if (!app_reads_yaml && settings.syscalls.count > 0) {
		settings_done(&settings);
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	}
	settings_hide_targets(request, workspace, &settings);
	*ret_settings = settings;
	return 0;
}
