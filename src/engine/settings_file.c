/* --settings and --hide: what has to be looked up in the file system before it can be planned. */
#include "engine/settings_file.h"

#include "base/fd.h"
#include "base/own.h"
#include "profile/srt.h"

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

int settings_file_apply(const struct request *request, const char *workspace,
			struct settings *settings, struct strv *notes, struct error *err)
{
	owned(settings_done) struct settings found;
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *cwd = NULL;

	settings_init(&found);
	if (!request->settings_file)
		return 0;
	cwd = realpath(".", NULL);
	if (!cwd)
		return error_errno(err, ERROR_HOST, "the current directory");
	const struct srt_place place = {
		.origin = request->settings_file,
		.home = home_of(request->environ),
		.cwd = cwd,
		.workspace = workspace,
	};

	if (file_read(AT_FDCWD, request->settings_file, SRT_MAX_BYTES, &text, err) < 0 ||
	    srt_parse(str_cstr(&text), text.len, &place, &found, notes, err) < 0)
		return -1;
	/* The file says what may be reached: what a profile adds to it would be more than that. */
	strv_done(&settings->allow);
	settings_merge(settings, &found);
	return 0;
}

/* Where PATH really lies: its longest part that exists resolved, the rest as it is. NULL when no link is on the way. */
static char *target_of(const char *path)
{
	owned(free_ptr) char *head = xstrdup(path);
	owned(free_ptr) char *real = NULL;

	while (!(real = realpath(head, NULL))) {
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
