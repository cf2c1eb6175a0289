/* SPDX-License-Identifier: Apache-2.0 */
/* Which directory is the workspace, and which directories never become one by default. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "plan/parts.h"

#include <stdlib.h>
#include <string.h>

char *plan_join(const char *dir, const char *name)
{
	size_t dir_len = strcmp(dir, "/") == 0 ? 0 : strlen(dir), name_len = strlen(name);
	char *path = xmalloc(dir_len + name_len + 2);

	memcpy(path, dir, dir_len);
	path[dir_len] = '/';
	memcpy(path + dir_len + 1, name, name_len);
	path[dir_len + 1 + name_len] = '\0';
	return path;
}

bool plan_is_system_dir(const char *path)
{
	static const char *const whole[] = { "/bin",  "/boot",	"/dev",	  "/etc",
					     "/lib",  "/lib32", "/lib64", "/libx32",
					     "/proc", "/sbin",	"/sys",	  "/usr" };
	static const char *const itself[] = { "/",    "/home",	  "/media",   "/mnt",
					      "/opt", "/run",	  "/srv",     "/tmp",
					      "/var", "/var/lib", "/var/log", "/var/tmp" };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (path_is_within(path, whole[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(itself) / sizeof(itself[0]); i++) {
		if (strcmp(path, itself[i]) == 0)
			return true;
	}
	return false;
}

const char *plan_own_dir(const struct host *host, const char *path, bool holds)
{
	const char *own[HOST_OWN_DIRS];

	host_own_dirs(host, own);
	for (size_t i = 0; i < HOST_OWN_DIRS; i++) {
		/* host_read_caller() fills only some of them. */
		if (!own[i])
			continue;
		if (path_is_within(path, own[i]) || (holds && path_is_within(own[i], path)))
			return own[i];
	}
	return NULL;
}

/* A user's home: /root, or a directory right below /home. */
static bool is_a_home(const struct host *host, const char *path)
{
	if (strcmp(path, host->home) == 0 || strcmp(path, "/root") == 0)
		return true;
	return str_starts(path, "/home/") && !strchr(path + 6, '/');
}

static bool may_be_default(const struct host *host, const char *path)
{
	return !plan_is_system_dir(path) && !is_a_home(host, path) &&
	       !plan_own_dir(host, path, false);
}

char *plan_default_workspace(const struct host *host, plan_look look, void *cookie)
{
	owned(free_ptr) char *dir = xstrdup(host->cwd);

	while (strcmp(dir, "/") != 0) {
		bool has_git = false;
		uid_t owner = 0;

		/* A repository of another user around us is not what the caller works on. */
		if (look(cookie, dir, &has_git, &owner) && has_git) {
			if (owner == host->uid && may_be_default(host, dir))
				return ptr_take(&dir);
			break;
		}
		char *slash = strrchr(dir, '/');

		slash[slash == dir ? 1 : 0] = '\0';
	}
	return may_be_default(host, host->cwd) ? xstrdup(host->cwd) : NULL;
}

int plan_check_brought(const struct host *host, const char *workspace, struct error *err)
{
	const char *const own[] = { host->data_dir, host->state_dir, host->cache_dir };

	if (path_is_within(host->home, workspace))
		return 0;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (!own[i] || !path_is_within(own[i], workspace))
			continue;
		return error_advise(err, ERROR_DENIED,
				    "set XDG_DATA_HOME, XDG_STATE_HOME and XDG_CACHE_HOME to "
				    "places outside of it",
				    "%s, where aisbx keeps its own files, lies in the workspace %s "
				    "and may have come with it",
				    own[i], workspace);
	}
	return 0;
}

static int check_workspace(const struct host *host, const char *workspace, struct error *err)
{
	static const char *const fresh[] = { "/dev", "/proc", "/sys" };
	const char *own = plan_own_dir(host, workspace, false);

	if (!path_is_clean(workspace))
		return error_set(err, ERROR_INTERNAL, "workspace is not a resolved path: %s",
				 workspace);
	if (own)
		return error_set(
			err, ERROR_DENIED,
			"%s lies in a directory of aisbx itself (%s), which no sandbox sees: "
			"choose another workspace",
			workspace, own);
	for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++) {
		if (path_is_within(workspace, fresh[i]))
			return error_set(err, ERROR_DENIED,
					 "%s cannot be a workspace: a sandbox has its own %s",
					 workspace, fresh[i]);
	}
	return 0;
}

/*
 * Whether PLACE, a scratch directory, is the sandbox's own from top to bottom: where something of the host is shown
 * below it, the host's directory (empty but for that) stands there instead, and nothing can be made in it.
 */
static bool is_all_fresh(const struct planning *planning, const char *place)
{
	const char *home = planning->host->home;
	const struct spec *spec = planning->spec;

	if (path_is_within(home, place) && strcmp(home, place) != 0)
		return false;
	for (size_t i = 0; i < spec->bind_count; i++) {
		const char *target = spec->binds[i].target;

		if (path_is_within(target, place) || path_is_within(place, target))
			return false;
	}
	return true;
}

static int make_workspace(const struct planning *planning, struct error *err)
{
	static const char *const places[] = { "/tmp", "/var/tmp" };
	const char *cwd = planning->host->cwd;
	struct spec *spec = planning->spec;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!is_all_fresh(planning, places[i]))
			continue;
		spec->workspace = plan_join(places[i], "workspace");
		spec->cwd = xstrdup(spec->workspace);
		spec->workspace_made = true;
		strv_addf(&spec->notes,
			  "%s is not taken as a workspace by default: starting in an empty one "
			  "(name a directory with -C)",
			  cwd);
		return 0;
	}
	return error_set(
		err, ERROR_DENIED,
		"%s is not taken as a workspace by default, and with mounts in both /tmp "
		"and /var/tmp there is no place for an empty one: name a directory with -C",
		cwd);
}

/* Whether the caller's directory is there inside, too: a workspace may hold places that a sandbox has of its own. */
static bool is_seen(const char *cwd, const char *workspace)
{
	static const char *const fresh[] = { "/dev", "/proc", "/run", "/sys", "/tmp", "/var/tmp" };

	for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++) {
		if (path_is_within(cwd, fresh[i]) && !path_is_within(workspace, fresh[i]))
			return false;
	}
	return path_is_within(cwd, workspace);
}

int plan_workspace(const struct planning *planning, struct error *err)
{
	const struct host *host = planning->host;
	const char *workspace = planning->paths->workspace;
	struct spec *spec = planning->spec;

	spec->home = xstrdup(host->home);
	if (!workspace)
		return make_workspace(planning, err);
	if (check_workspace(host, workspace, err) < 0)
		return -1;
	spec->workspace = xstrdup(workspace);
	spec->cwd = xstrdup(is_seen(host->cwd, workspace) ? host->cwd : workspace);
	return 0;
}
