/* SPDX-License-Identifier: Apache-2.0 */
/* --settings and --hide: what has to be looked up in the file system before it can be planned. */
#include "app/config/settings_file.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "profile/srt.h"
#include "workspace/consent/write_rule.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *home_of(const char *const *env)
{
	for (; env && *env; env++) {
		if (str_starts(*env, "HOME=/"))
			return *env + strlen("HOME=");
	}
	return "/";
}

/* Where PATH really lies: its longest part that exists resolved, the rest as it is. NULL when no link is on the way. */
static char *target_of(const char *path)
{
	owned(free_ptr) char *head = xstrdup(path);
	owned(free_ptr) char *real = NULL;

	while (!(real = path_real(head))) {
		char *slash = strrchr(head, '/');

		if (!slash || slash == head)
			return NULL;
		*slash = '\0';
	}
	const char *rest = path + strlen(head);

	if (strcmp(real, head) == 0)
		return NULL;
	return strcmp(real, "/") == 0 ? xstrdup(rest) : xasprintf("%s%s", real, rest);
}

static int read_file(const struct request *request, const char *workspace, struct str *ret_text,
		     struct srt_place *ret_place, char **ret_cwd, struct error *err)
{
	*ret_cwd = path_real(".");
	if (!*ret_cwd)
		return error_errno(err, ERROR_HOST, "the current directory");
	*ret_place = (struct srt_place){
		.origin = request->settings_file,
		.home = home_of(request->environ),
		.cwd = *ret_cwd,
		.workspace = workspace,
	};
	return file_read(AT_FDCWD, request->settings_file, SRT_MAX_BYTES, ret_text, err);
}

int settings_file_apply(const struct request *request, const char *workspace,
			struct settings *settings, struct strv *notes, struct error *err)
{
	owned(settings_done) struct settings found;
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *cwd = NULL;

	struct srt_place place;

	settings_init(&found);
	/* The file lists what may be reached: a profile must not add to it. */
	if (request->only_flags)
		strv_done(&settings->allow);
	if (!request->settings_file)
		return 0;
	if (read_file(request, workspace, &text, &place, &cwd, err) < 0 ||
	    srt_parse(str_cstr(&text), text.len, &place, &found, notes, err) < 0)
		return -1;
	strv_done(&settings->allow);
	settings_merge(settings, &found);
	return 0;
}

static void add_rules(struct strv *words, const char *name, const struct strv *paths)
{
	for (size_t i = 0; i < paths->count; i++) {
		owned(free_ptr) char *target = target_of(paths->items[i]);

		strv_add(words, name);
		strv_add(words, paths->items[i]);
		if (!target)
			continue;
		strv_add(words, name);
		strv_add(words, target);
	}
}

static int add_writes(const struct str *text, const struct srt_place *place, struct strv *words,
		      struct error *err)
{
	owned(srt_writes_done) struct srt_writes writes = { .unclear = NULL };
	char shown[STR_SHOWN_SIZE];

	if (srt_parse_writes(str_cstr(text), text->len, place, &writes, err) < 0)
		return -1;
	if (writes.unclear)
		return error_advise(err, ERROR_DENIED, "write it as a path without .. and {",
				    "%s: filesystem.denyWrite: '%s' cannot be enforced when what "
				    "is kept is applied",
				    place->origin, str_shown(writes.unclear, shown));
	strv_add(words, WRITE_RULES);
	strv_add(words, "yes");
	add_rules(words, WRITE_ALLOW, &writes.allow);
	add_rules(words, WRITE_DENY, &writes.deny);
	return 0;
}

int settings_file_keep(const struct request *request, const char *workspace,
		       struct request *ret_kept, struct strv *words, struct error *err)
{
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *cwd = NULL;
	struct srt_place place = { 0 };

	if (read_file(request, workspace, &text, &place, &cwd, err) < 0 ||
	    srt_parse(str_cstr(&text), text.len, &place, &ret_kept->flags, &notes, err) < 0)
		return -1;
	/* A rule of the user's own opens what the file leaves shut; both as flags would contradict. */
	if (!request->flags.net &&
	    (request->flags.allow.count > 0 || request->flags.publish.count > 0)) {
		free(ret_kept->flags.net);
		ret_kept->flags.net = xstrdup("allow");
	}
	settings_merge(&ret_kept->flags, &request->flags);
	ret_kept->profile = request->profile ? xstrdup(request->profile) : NULL;
	ret_kept->only_narrows = request->only_narrows;
	ret_kept->only_flags = true;
	return add_writes(&text, &place, words, err);
}

static void add_targets(const struct strv *paths, const char *home, const char *workspace,
			struct strv *ret_found)
{
	for (size_t i = 0; i < paths->count; i++) {
		const char *path = paths->items[i];
		owned(free_ptr) char *joined = NULL;
		char *target;

		if (path[0] == '~')
			joined = xasprintf("%s%s", home, path + 1);
		else if (path[0] != '/')
			joined = xasprintf("%s/%s", workspace ? workspace : "", path);
		target = target_of(joined ? joined : path);
		if (target)
			strv_take(ret_found, target);
	}
}

void settings_hide_targets(const struct request *request, const char *workspace,
			   struct settings *settings)
{
	const char *home = home_of(request->environ);
	owned(strv_done) struct strv found = STRV_INIT;

	add_targets(&settings->hide, home, workspace, &found);
	add_targets(&request->flags.hide, home, workspace, &found);
	strv_copy(&settings->hide, &found);
}
