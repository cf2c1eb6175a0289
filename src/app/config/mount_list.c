/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and files the user keeps in sight of a workspace's sandboxes. */
#include "app/config/mount_list.h"

#include "app/config/own_list.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/real_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define LIST_NAME "mounts"

enum part { HOST, GUEST, WORKSPACE, PARTS };

static void parts_done(char *(*parts)[PARTS])
{
	for (size_t i = 0; i < PARTS; i++)
		free_ptr(&(*parts)[i]);
}

/* Steps to the next line and cuts a copy of it into its parts; NULL for each where the line is none of ours. */
static bool next_line(const char **at, const char **ret_line, size_t *ret_len,
		      char *(*parts)[PARTS])
{
	const char *text = *at, *end = text + strcspn(text, "\n");

	parts_done(parts);
	if (!*text)
		return false;
	*ret_line = text;
	*ret_len = (size_t)(end - text);
	*at = end + (*end == '\n');
	for (size_t i = 0; i < PARTS && text < end; i++) {
		size_t len = i + 1 < PARTS ? strcspn(text, "\t\n") : (size_t)(end - text);

		(*parts)[i] = xstrndup(text, len);
		text += len + 1;
	}
	if (!(*parts)[WORKSPACE])
		parts_done(parts);
	return true;
}

static bool is_of(char *const parts[PARTS], const char *workspace)
{
	return parts[WORKSPACE] && strcmp(parts[WORKSPACE], workspace) == 0;
}

static int refuse(const char *config_dir, struct error *err)
{
	if (errno == EPERM)
		return error_set(err, ERROR_DENIED,
				 "%s/" LIST_NAME " is not yours alone: take write permission from "
				 "others (chmod go-w), or remove it",
				 config_dir);
	return error_errno(err, ERROR_HOST, "%s/" LIST_NAME, config_dir);
}

int mount_list_read(const char *config_dir, const char *workspace, struct settings *settings,
		    struct error *err)
{
	owned(fd_close) int dir_fd = open(config_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);
	owned(str_done) struct str list = STR_INIT;
	owned(parts_done) char *parts[PARTS] = { NULL };
	const char *at, *line;
	size_t len;

	if (dir_fd < 0)
		return 0;
	if (own_list_read(dir_fd, LIST_NAME, &list) < 0)
		return refuse(config_dir, err);
	for (at = str_cstr(&list); next_line(&at, &line, &len, &parts);) {
		if (is_of(parts, workspace))
			settings_add_mount(settings, parts[HOST], parts[GUEST], false, false);
	}
	return 0;
}

int mount_list_change(const char *config_dir, const char *workspace, const char *host,
		      const char *guest, struct error *err)
{
	owned(str_done) struct str list = STR_INIT, out = STR_INIT;
	owned(parts_done) char *parts[PARTS] = { NULL };
	owned(fd_close) int dir_fd = -1;
	const char *at, *line;
	bool was_there = false;
	size_t len;

	if (strchr(workspace, '\n') || (host && strpbrk(host, "\t\n")))
		return error_set(err, ERROR_INPUT,
				 "a path with a tab or a line break cannot be kept");
	if (host && dir_make_all(config_dir) < 0)
		return refuse(config_dir, err);
	dir_fd = open(config_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (dir_fd >= 0 &&
	    (flock(dir_fd, LOCK_EX) < 0 || own_list_read(dir_fd, LIST_NAME, &list) < 0))
		return refuse(config_dir, err);
	for (at = str_cstr(&list); next_line(&at, &line, &len, &parts);) {
		if (is_of(parts, workspace) && strcmp(parts[GUEST], guest) == 0) {
			was_there = true;
			continue;
		}
		str_add_bytes(&out, line, len);
		str_add_char(&out, '\n');
	}
	if (!host && !was_there)
		return error_advise(err, ERROR_NOT_FOUND, "`aisbx mount` lists what is",
				    "nothing is kept at %s for %s", guest, workspace);
	if (host)
		str_addf(&out, "%s\t%s\t%s\n", host, guest, workspace);
	return own_list_replace(dir_fd, LIST_NAME, &out) < 0 ? refuse(config_dir, err) : 0;
}

int mount_list_apply(const struct request *request, const char *config_dir, const char *workspace,
		     struct settings *profile, struct error *err)
{
	const size_t before = profile->mount_count;

	/* A settings file lists all that may be read; what was shown here before must not widen it unseen. */
	if (!workspace || !config_dir || request->settings_file || request->only_flags)
		return 0;
	if (mount_list_read(config_dir, workspace, profile, err) < 0)
		return -1;
	for (size_t i = before; i < profile->mount_count; i++) {
		const struct settings_mount *mount = &profile->mounts[i];
		owned(free_ptr) char *real = path_real(mount->host);

		if (!real || strcmp(real, mount->host) != 0)
			return error_set(err, ERROR_NOT_FOUND,
					 "%s, which `aisbx mount` shows at %s, %s: put it back, or "
					 "`aisbx mount --rm %s`",
					 mount->host, mount->guest,
					 real ? "leads elsewhere now" : "is not there",
					 mount->guest);
	}
	return 0;
}
