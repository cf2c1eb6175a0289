/* SPDX-License-Identifier: Apache-2.0 */
/* What a request is planned in: the host's facts, the workspace, the names of the run to come. */
#include "app/prepare/plan_context.h"

#include "app/prepare/certificates.h"
#include "app/prepare/git_outside.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/clean_path.h"
#include "plan/git_config.h"
#include "workspace/promote/staging_places.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For plan_default_workspace: is there a .git, and whose is the directory? */
static bool look_at(void *cookie, const char *dir, bool *ret_has_git, uid_t *ret_owner)
{
	char path[PATH_MAX];
	struct stat st;

	(void)cookie;
	if (lstat(dir, &st) < 0)
		return false;
	*ret_owner = st.st_uid;
	int len = snprintf(path, sizeof(path), "%s/.git", dir);

	*ret_has_git = len > 0 && (size_t)len < sizeof(path) && access(path, F_OK) == 0;
	return true;
}

/* Links below /proc and /dev lead wherever some process stands: no name for a place to work in. */
static bool is_of_processes(const char *path)
{
	while (path[0] == '/' && path[1] == '/')
		path++;
	return str_starts(path, "/proc/") || str_starts(path, "/dev/");
}

static int find_workspace(const struct request *request, struct plan_context *around,
			  struct error *err)
{
	struct plan_paths *paths = &around->paths;
	struct stat st;

	if (!request->workspace) {
		paths->workspace = plan_default_workspace(&around->host, look_at, NULL);
		return 0;
	}
	if (is_of_processes(request->workspace))
		return error_set(err, ERROR_USAGE, "-C %s: name the directory itself",
				 request->workspace);
	paths->workspace_given = true;
	paths->workspace = path_real(request->workspace);
	if (!paths->workspace)
		return error_errno(err, ERROR_USAGE, "-C %s", request->workspace);
	if (stat(paths->workspace, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(err, ERROR_USAGE, "-C %s: not a directory", request->workspace);
	if (access(paths->workspace, R_OK | X_OK) < 0)
		return error_errno(err, ERROR_USAGE, "-C %s", request->workspace);
	return 0;
}

int plan_context_check_store(const struct host *host, struct error *err)
{
	owned(free_ptr) char *workspace =
		host->cwd[0] ? plan_default_workspace(host, look_at, NULL) : NULL;

	return workspace ? plan_check_brought(host, workspace, err) : 0;
}

/* Commits made inside carry the caller's name, and servers are trusted as outside; nothing else of the configuration is shown. */
static void read_git_identity(struct plan_context *around)
{
	owned(str_done) struct str text = STR_INIT;
	char path[PATH_MAX];
	struct error ignored;
	int used = snprintf(path, sizeof(path), "%s/.gitconfig", around->host.home);

	if (used <= 0 || (size_t)used >= sizeof(path) ||
	    file_read(AT_FDCWD, path, GIT_CONFIG_MAX, &text, &ignored) < 0)
		return;
	around->git_name = git_config_find(&text, "user", "name");
	around->git_email = git_config_find(&text, "user", "email");
	around->git_authority = git_config_find(&text, "http", "sslcainfo");
	git_config_find_addressed(&text, "http", "sslcainfo", &around->git_authorities);
	around->paths.git_name = around->git_name;
	around->paths.git_email = around->git_email;
}

/* Most users have no such list; one that cannot be read is as good as none. */
static void read_service_places(const char *state_dir, struct strv *ret_places)
{
	owned(free_ptr) char *path = xasprintf("%s/" SERVICE_PLACES, state_dir);
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;

	if (access(path, F_OK) < 0 ||
	    file_read(AT_FDCWD, path, SERVICE_PLACES_MAX * PATH_MAX, &text, &ignored) < 0)
		return;
	for (size_t at = 0; at < text.len && ret_places->count < SERVICE_PLACES_MAX;
	     at += strlen(text.data + at) + 1) {
		if (path_is_clean(text.data + at))
			strv_add(ret_places, text.data + at);
	}
}

int plan_context_read(const struct request *request, struct plan_context *ret_around,
		      struct error *err)
{
	if (plan_context_find(request, ret_around, err) < 0)
		return -1;
	return plan_context_look(NULL, ret_around, err);
}

int plan_context_find(const struct request *request, struct plan_context *ret_around,
		      struct error *err)
{
	memset(ret_around, 0, sizeof(*ret_around));
	if (host_read_self(&ret_around->host, err) < 0)
		return -1;
	if (!ret_around->host.cwd[0])
		return error_set(err, ERROR_HOST,
				 "the current directory was removed: change to one that is there");
	if (find_workspace(request, ret_around, err) < 0)
		return -1;
	certificates_read(request->environ, ret_around->host.home, &ret_around->paths.certificates);
	return ret_around->paths.workspace
		       ? plan_check_brought(&ret_around->host, ret_around->paths.workspace, err)
		       : 0;
}

int plan_context_look(struct plan_context_memory *memory, struct plan_context *around,
		      struct error *err)
{
	if (host_read_rest(memory ? &memory->host : NULL, &around->host, err) < 0)
		return -1;
	read_git_identity(around);
	git_outside_read(around->host.uid, &around->paths);
	home_links_read(around->host.home, memory ? &memory->home : NULL, &around->paths);
	staging_places_read(around->host.data_dir, &around->paths.staging);
	read_service_places(around->host.state_dir, &around->paths.services);
	if (id_run(around->run_id, err) < 0 || id_short("s", around->sandbox, err) < 0)
		return -1;
	around->paths.run_id = around->run_id;
	around->paths.sandbox = around->sandbox;
	return 0;
}

void plan_context_done(struct plan_context *around)
{
	host_done(&around->host);
	free(around->paths.workspace);
	for (size_t i = 0; i < around->paths.link_count; i++) {
		free(around->paths.links[i].name);
		free(around->paths.links[i].target);
	}
	free(around->paths.links);
	strv_done(&around->paths.staging);
	strv_done(&around->paths.services);
	strv_done(&around->paths.certificates);
	git_outside_done(&around->paths);
	free(around->git_name);
	free(around->git_email);
	free(around->git_authority);
	strv_done(&around->git_authorities);
}
