/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile found at a workspace's top, written by the workspace's author.
 *
 * It may be hostile. It is opened without following a link and without waiting, read within limits,
 * and unless the user trusts exactly these bytes at exactly this place it can only make things tighter.
 */
#include "app/config/profile_workspace.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/yaml.h"
#include "app/config/profile_load.h"
#include "app/config/trust.h"
#include "profile/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct found_file {
	char *dir;  /* resolved */
	char *path; /* of the file in it */
	struct str text;
	uid_t owner;
};

static void found_done(struct found_file *file)
{
	free(file->dir);
	free(file->path);
	str_done(&file->text);
}

/* 1 when there is one, 0 when there is none. */
static int read_found(const char *dir, struct found_file *file, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/" WORKSPACE_PROFILE, dir);
	struct stat st;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, O_NOFOLLOW, &st);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 && errno == ELOOP)
		return error_set(err, ERROR_INPUT, "%s: is a symbolic link", path);
	if (fd < 0 && file_is_other_kind(errno))
		return error_set(err, ERROR_INPUT, "%s: not a regular file", path);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (fd_read_all(fd, YAML_MAX_BYTES, &file->text) < 0) {
		if (errno == EFBIG)
			return error_set(err, ERROR_INPUT, "%s: larger than %d bytes", path,
					 YAML_MAX_BYTES);
		return error_errno(err, ERROR_HOST, "%s", path);
	}
	file->dir = path_real(dir);
	if (!file->dir)
		return error_errno(err, ERROR_HOST, "%s", dir);
	file->path = xasprintf("%s/" WORKSPACE_PROFILE, file->dir[1] ? file->dir : "");
	file->owner = st.st_uid;
	return 1;
}

/* Files beyond the workspace's top are none of its author's business. */
static void drop_foreign_parent(struct profile *profile, struct strv *notes)
{
	if (!profile->extends || !profile_is_file(profile->extends))
		return;
	strv_add(notes,
		 "workspace profile: 'extends' ignored: an untrusted profile cannot read files");
	free(profile->extends);
	profile->extends = NULL;
}

/* Everything is opened by the user's own word alone, flag or profile; trust in a project's file is not that. */
static void drop_net_all(struct settings *repo, struct strv *notes)
{
	if (!repo->net || strcmp(repo->net, "all") != 0)
		return;
	strv_add(notes, "workspace profile: 'net: all' ignored: give --net all, or keep it in a "
			"profile of your own");
	free_ptr(&repo->net);
}

static void narrow(struct settings *settings, const struct settings *repo, struct strv *notes)
{
	owned(strv_done) struct strv left_out = STRV_INIT;

	settings_narrow(settings, repo, &left_out);
	for (size_t i = 0; i < left_out.count; i++)
		strv_addf(notes,
			  "workspace profile: %s ignored: an untrusted profile can only narrow",
			  left_out.items[i]);
}

int workspace_profile_apply(const char *workspace, const char *config_dir,
			    struct settings *settings, struct strv *notes, struct error *err)
{
	owned(found_done) struct found_file file = { .path = NULL };
	owned(profile_done) struct profile profile;
	owned(settings_done) struct settings repo;
	int present = read_found(workspace, &file, err);
	bool trusted;

	profile_init(&profile);
	settings_init(&repo);
	if (present <= 0)
		return present;
	trusted =
		config_dir && trust_has(config_dir, file.path, str_cstr(&file.text), file.text.len);
	if (!trusted && file.owner != getuid() && file.owner != 0) {
		strv_addf(notes, "workspace profile ignored: %s belongs to another user",
			  file.path);
		return 0;
	}
	if (profile_parse(str_cstr(&file.text), file.text.len, file.path, file.dir, &profile, err) <
	    0)
		return -1;
	if (!trusted)
		drop_foreign_parent(&profile, notes);
	if (app_extend_profile(&profile, file.path, config_dir, &repo, err) < 0)
		return -1;
	drop_net_all(&repo, notes);
	if (trusted)
		settings_merge(settings, &repo);
	else
		narrow(settings, &repo, notes);
	return 0;
}
