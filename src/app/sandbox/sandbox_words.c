/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a sandbox as words: kept when it is made, read again at each start. */
#include "base/core/own.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/service_copy.h"
#include "profile/path.h"
#include "profile/show.h"
#include "workspace/consent/write_rule.h"

#include <string.h>

/* No flag of any verb: it stands among the words of a sandbox whose workspace is made at each start. */
#define MADE_WORKSPACE "--workspace-made"

/* The same for one that a program made: what it was made with is held to its profile at each start. */
#define ONLY_NARROWS "--only-narrows"

/* And for one whose flags were a settings file's: nothing else opens anything. */
#define ONLY_FLAGS "--only-flags"

bool sandbox_makes_workspace(const struct sandbox *sandbox)
{
	return strv_has(&sandbox->settings, MADE_WORKSPACE);
}

static void add_pair(struct strv *words, const char *name, const char *value)
{
	strv_addf(words, "--%s", name);
	strv_add(words, value);
}

/* A start may be asked for from anywhere: what is relative is so to where the sandbox was made. */
static void add_path(struct strv *words, const char *name, const char *cwd, const char *path)
{
	strv_addf(words, "--%s", name);
	if (path[0] == '/')
		strv_add(words, path);
	else
		strv_addf(words, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, path);
}

static void add_secret(struct strv *words, const char *name, const char *cwd, const char *pair)
{
	strv_addf(words, "--%s", name);
	strv_take(words, settings_file_pair(pair, cwd));
}

static void add_mount(struct strv *words, const char *cwd, const struct settings_mount *mount)
{
	strv_addf(words, "--%s", profile_mount_mode(mount));
	strv_addf(words, "%s%s%s%s%s", mount->host[0] == '/' ? "" : cwd,
		  mount->host[0] == '/' ? "" : "/", mount->host, mount->guest ? ":" : "",
		  mount->guest ? mount->guest : "");
}

static void add_setting(struct strv *words, const char *cwd, const struct settings *flags,
			const struct setting_row *row)
{
	const struct strv *list = profile_list(flags, row);
	owned(str_done) struct str value = STR_INIT;

	for (size_t i = 0; list && i < list->count; i++) {
		if (list == &flags->secret || list == &flags->secret_header)
			add_secret(words, row->name, cwd, list->items[i]);
		else
			add_pair(words, row->name, list->items[i]);
	}
	if (!profile_words(flags, row, &value))
		return;
	if (strcmp(row->name, "seccomp") == 0)
		add_path(words, row->name, cwd, str_cstr(&value));
	else
		add_pair(words, row->name, str_cstr(&value));
}

void sandbox_words_write(const struct request *request, const char *cwd, bool workspace_made,
			 struct strv *ret_words)
{
	const struct settings *flags = &request->flags;

	if (workspace_made)
		add_pair(ret_words, &MADE_WORKSPACE[2], "yes");
	if (request->only_narrows)
		add_pair(ret_words, &ONLY_NARROWS[2], "yes");
	if (request->only_flags)
		add_pair(ret_words, &ONLY_FLAGS[2], "yes");
	if (request->profile && profile_is_file(request->profile))
		add_path(ret_words, "profile", cwd, request->profile);
	else if (request->profile)
		add_pair(ret_words, "profile", request->profile);
	for (const struct setting_row *row = setting_rows; row->name; row++)
		if (row->flag || strcmp(row->name, "require-signature") == 0 ||
		    strcmp(row->name, "cache") == 0)
			add_setting(ret_words, cwd, flags, row);
	for (size_t i = 0; i < flags->mount_count; i++)
		add_mount(ret_words, cwd, &flags->mounts[i]);
}

/* Whether that is no setting, but says something about them; or about what is kept, which is not handled here. */
static bool take_mark(const char *name, struct request *request)
{
	bool only_flags = strcmp(name, ONLY_FLAGS) == 0;
	bool only_narrows = strcmp(name, ONLY_NARROWS) == 0;

	request->only_flags |= only_flags;
	request->only_narrows |= only_narrows;
	return only_flags || only_narrows || strcmp(name, MADE_WORKSPACE) == 0 ||
	       strcmp(name, SERVICE_COPY_WORD) == 0 || strcmp(name, SERVICE_NETWORK_WORD) == 0 ||
	       write_rule_is_word(name);
}

int sandbox_words_read(const struct strv *words, struct request *request, struct error *err)
{
	for (size_t i = 0; i < words->count; i += 2) {
		const char *name = words->items[i];
		const char *value = i + 1 < words->count ? words->items[i + 1] : NULL;
		const struct setting_row *row =
			str_starts(name, "--") ? setting_find(name + 2) : NULL;

		if (take_mark(name, request))
			continue;
		if (value && strcmp(name, "--profile") == 0) {
			free(request->profile);
			request->profile = xstrdup(value);
		} else if (!value || !row) {
			return error_set(err, ERROR_INPUT, "the sandbox keeps a setting '%.40s'",
					 name);
		} else if (settings_set(&request->flags, row, name, value, err) < 0) {
			return -1;
		}
	}
	return 0;
}
