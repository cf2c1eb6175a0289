/* SPDX-License-Identifier: Apache-2.0 */
/* What `profile ls|show|check|trust|untrust` ask of app. */
#include "app/config/profile_verbs.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/hash/sha256.h"
#include "base/text/yaml.h"
#include "app/config/profile_load.h"
#include "app/config/trust.h"
#include "confine/seccomp/seccomp_set.h"
#include "profile/path.h"
#include "profile/profile.h"
#include "profile/show.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The comment a file begins with, which is what it is for. */
static char *first_comment(const char *text)
{
	const char *end = strchrnul(text, '\n');

	if (*text != '#')
		return xstrdup("");
	while (text < end && (*text == '#' || *text == ' '))
		text++;
	return xstrndup(text, (size_t)(end - text));
}

static void add_row(struct value *list, const char *name, const char *origin, const char *summary)
{
	struct value *row = value_append(list, value_new_map());

	value_set(row, "name", value_new_text(name));
	value_set(row, "origin", value_new_text(origin));
	value_set(row, "summary", value_new_text(summary));
}

/* The name a file in the user's directory gives a profile, owned by the caller; NULL when none. */
static char *name_of(const char *file)
{
	size_t len = strlen(file);
	owned(free_ptr) char *name = NULL;

	if (!str_ends(file, ".yaml"))
		return NULL;
	name = xstrndup(file, len - strlen(".yaml"));
	return profile_is_name(name) ? ptr_take(&name) : NULL;
}

static void add_user_row(struct value *list, const char *dir, const char *file,
			 const char *config_dir)
{
	owned(free_ptr) char *name = name_of(file);
	owned(free_ptr) char *path = xasprintf("%s/%s", dir, file);
	owned(free_ptr) char *summary = NULL;
	owned(free_ptr) char *real = NULL;
	owned(str_done) struct str text = STR_INIT;
	owned(settings_done) struct settings settings;
	struct error err;

	settings_init(&settings);
	if (!name)
		return;
	if (app_resolve_profile(name, config_dir, NULL, &settings, &real, &err) < 0)
		summary = xasprintf("broken: %s", err.text);
	else if (file_read(AT_FDCWD, path, YAML_MAX_BYTES, &text, &err) == 0)
		summary = first_comment(str_cstr(&text));
	add_row(list, name, "user", summary ? summary : "");
	value_set(list->many.items[list->many.count - 1], "path", value_new_text(path));
}

static void add_user_rows(struct value *list, const char *config_dir)
{
	owned(free_ptr) char *dir = xasprintf("%s/profiles", config_dir);
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		add_user_row(list, dir, entries[i]->d_name, config_dir);
		free(entries[i]);
	}
	free(entries);
}

static bool has_name(const struct value *list, const char *name)
{
	for (size_t i = 0; i < list->many.count; i++)
		if (strcmp(value_get_text(list->many.items[i], "name"), name) == 0)
			return true;
	return false;
}

struct value *app_profile_list(const char *const *env)
{
	owned(free_ptr) char *config_dir = app_config_dir(env);
	struct value *list = value_new_list();

	if (config_dir)
		add_user_rows(list, config_dir);
	for (const struct profile_builtin *builtin = profile_builtins; builtin->name; builtin++)
		if (!has_name(list, builtin->name))
			add_row(list, builtin->name, "built-in", builtin->summary);
	return list;
}

/* Each line of what is in force, as comments: the whole stays a profile that can be used. */
static void add_effective(struct str *text, const struct settings *settings)
{
	owned(str_done) struct str shown = STR_INIT;
	const char *line;

	profile_show(settings, &shown);
	str_add(text, "\n# In force, with what it extends:\n");
	for (line = str_cstr(&shown); *line;) {
		const char *end = strchrnul(line, '\n');

		str_addf(text, "#   %.*s\n", (int)(end - line), line);
		line = end + (*end == '\n');
	}
}

int app_profile_show(const char *word, const char *const *env, struct value **ret_answer,
		     struct str *text, struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(env);
	owned(free_ptr) char *path = NULL;
	owned(str_done) struct str source = STR_INIT;
	owned(settings_done) struct settings settings;
	struct value *answer;

	settings_init(&settings);
	if (app_resolve_profile(word, config_dir, NULL, &settings, &path, err) < 0)
		return -1;
	if (!path)
		str_add(&source, profile_builtin_find(word)->source);
	else if (file_read(AT_FDCWD, path, YAML_MAX_BYTES, &source, err) < 0)
		return -1;
	str_add(text, str_cstr(&source));
	add_effective(text, &settings);
	answer = value_new_map();
	value_set(answer, "name", value_new_text(word));
	value_set(answer, "origin",
		  value_new_text(!path			 ? "built-in"
				 : profile_is_file(word) ? "file"
							 : "user"));
	value_set(answer, "path", value_new_text(path));
	value_set(answer, "source", value_new_text(str_cstr(&source)));
	value_set(answer, "effective", profile_show_value(&settings));
	*ret_answer = answer;
	return 0;
}

static int check_calls(const char *word, const struct settings *settings, struct error *err)
{
	struct seccomp_set set = { .has = { false } };

	for (size_t i = 0; i < settings->syscalls.count; i++) {
		if (seccomp_set_add(&set, settings->syscalls.items[i], err) < 0)
			return error_context(err, "%s", word);
	}
	return 0;
}

int app_profile_check(const char *word, const char *const *env, struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(env);
	owned(free_ptr) char *path = NULL;
	owned(settings_done) struct settings settings;

	settings_init(&settings);
	return app_resolve_profile(word, config_dir, NULL, &settings, &path, err) < 0
		       ? -1
		       : check_calls(word, &settings, err);
}

static int need_config_dir(const char *const *env, char **ret_dir, struct error *err)
{
	*ret_dir = app_config_dir(env);
	if (!*ret_dir)
		return error_set(err, ERROR_HOST,
				 "HOME is not set: trust is kept in ~/.config/aisbx");
	return 0;
}

int app_profile_trust(const char *file, const char *const *env, struct value **ret_answer,
		      struct error *err)
{
	owned(free_ptr) char *config_dir = NULL;
	owned(free_ptr) char *given = xasprintf("%s%s", strchr(file, '/') ? "" : "./", file);
	owned(free_ptr) char *path = NULL;
	owned(str_done) struct str text = STR_INIT;
	owned(settings_done) struct settings settings;
	char hex[SHA256_HEX_SIZE];

	settings_init(&settings);
	if (need_config_dir(env, &config_dir, err) < 0 ||
	    app_resolve_profile(given, config_dir, NULL, &settings, &path, err) < 0 ||
	    file_read(AT_FDCWD, path, YAML_MAX_BYTES, &text, err) < 0 ||
	    trust_add(config_dir, path, str_cstr(&text), text.len, err) < 0)
		return -1;
	sha256_hex(str_cstr(&text), text.len, hex);
	*ret_answer = value_new_map();
	value_set(*ret_answer, "path", value_new_text(path));
	value_set(*ret_answer, "sha256", value_new_text(hex));
	value_set(*ret_answer, "effective", profile_show_value(&settings));
	return 0;
}

/* The file may be gone; its place is still known by the directory it was in. */
static char *place_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	owned(free_ptr) char *dir = slash ? xstrndup(file, (size_t)(slash - file)) : xstrdup(".");
	owned(free_ptr) char *real = path_real(file);
	owned(free_ptr) char *real_dir = NULL;

	if (real)
		return ptr_take(&real);
	real_dir = path_real(*dir ? dir : "/");
	return real_dir ? xasprintf("%s/%s", real_dir[1] ? real_dir : "", slash ? slash + 1 : file)
			: xstrdup(file);
}

int app_profile_untrust(const char *file, const char *const *env, struct value **ret_answer,
			struct error *err)
{
	owned(free_ptr) char *config_dir = NULL;
	owned(free_ptr) char *path = place_of(file);

	if (need_config_dir(env, &config_dir, err) < 0 || trust_remove(config_dir, path, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_set(*ret_answer, "path", value_new_text(path));
	return 0;
}
