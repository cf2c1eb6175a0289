/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of the caller: home, the current one, and where aisbx keeps its own things. */
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/real_path.h"
#include "host/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Leaves out empty parts, "." and a slash at the end. */
static char *tidy(const char *path)
{
	struct str out = STR_INIT;

	while (*path) {
		path += strspn(path, "/");
		size_t len = strcspn(path, "/");

		if (len > 1 || (len == 1 && *path != '.')) {
			str_add_char(&out, '/');
			str_add_bytes(&out, path, len);
		}
		path += len;
	}
	if (out.len == 0)
		str_add_char(&out, '/');
	return str_detach(&out);
}

/*
 * PATH with symlinks resolved as far as it exists; the rest is appended as it stands, since one of our directories
 * that is not there yet still has to be hidden where it will be.
 */
static char *resolve(const char *path)
{
	owned(free_ptr) char *whole = tidy(path);
	owned(free_ptr) char *head = xstrdup(whole);
	size_t len = strlen(head);

	for (;;) {
		char real[PATH_MAX];

		if (path_real_into(head, real)) {
			const char *rest = whole + len;

			rest += strspn(rest, "/");
			if (!*rest)
				return xstrdup(real);
			return xasprintf("%s%s%s", real, strcmp(real, "/") == 0 ? "" : "/", rest);
		}
		char *slash = strrchr(head, '/');

		if (!slash || slash == head)
			return ptr_take(&whole);
		*slash = '\0';
		len = (size_t)(slash - head);
	}
}

/*
 * NAMES below BASE, which is resolved already. Where none of them is a link, one look at each part will do: a launch
 * asks for four of these.
 */
static char *resolve_below(const char *base, const char *names)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", strcmp(base, "/") == 0 ? "" : base, names);
	char link[2];

	for (char *at = path + strlen(path) - strlen(names); at;) {
		char *slash = strchr(at, '/');

		if (slash)
			*slash = '\0';
		bool is_link = readlink(path, link, sizeof(link)) >= 0;
		bool is_absent = !is_link && errno == ENOENT;

		if (slash)
			*slash = '/';
		if (is_link)
			return resolve(path);
		if (is_absent)
			break;
		at = slash ? slash + 1 : NULL;
	}
	return ptr_take(&path);
}

static bool is_clean_absolute(const char *path)
{
	return path && path[0] == '/' && !strstr(path, "/../") && !str_ends(path, "/..");
}

static bool is_directory(const char *path)
{
	struct stat st;

	return is_clean_absolute(path) && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A HOME left over from another user (su without a dash) is neither the caller's nor of use to it. */
static bool is_plausible_home(const struct host *host, const char *path)
{
	struct stat st;

	if (!is_clean_absolute(path) || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	return host->uid == 0 || st.st_uid == host->uid || access(path, W_OK | X_OK) == 0;
}

/* $NAME/aisbx when the variable holds an absolute path (anything else is to be ignored), else HOME/FALLBACK. */
static char *own_dir(const struct host *host, const char *name, const char *fallback)
{
	const char *base = name ? getenv(name) : NULL;
	owned(free_ptr) char *path = NULL;

	if (!is_clean_absolute(base))
		return resolve_below(host->home, fallback);
	path = xasprintf("%s/aisbx", base);
	return resolve(path);
}

void host_own_dirs(const struct host *host, const char *ret_dirs[static HOST_OWN_DIRS])
{
	ret_dirs[0] = host->data_dir;
	ret_dirs[1] = host->state_dir;
	ret_dirs[2] = host->cache_dir;
	ret_dirs[3] = host->config_dir;
	ret_dirs[4] = host->runtime_dir;
}

/* "/", a part of the operating system, or a directory that only holds other people's. */
static bool is_of_system(const char *path)
{
	static const char *const whole[] = { "/bin",  "/boot",	"/dev",	  "/etc",
					     "/lib",  "/lib32", "/lib64", "/libx32",
					     "/proc", "/sbin",	"/sys",	  "/usr" };
	static const char *const itself[] = { "/",    "/home", "/media", "/mnt",     "/opt",
					      "/run", "/srv",  "/var",	 "/var/lib", "/var/log" };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		size_t len = strlen(whole[i]);

		if (strncmp(path, whole[i], len) == 0 && (!path[len] || path[len] == '/'))
			return true;
	}
	for (size_t i = 0; i < sizeof(itself) / sizeof(itself[0]); i++) {
		if (strcmp(path, itself[i]) == 0)
			return true;
	}
	return false;
}

/* What the environment calls the caller; NULL when it does not. */
static const char *caller_name(void)
{
	const char *user = getenv("USER");

	if (!user || !*user)
		user = getenv("LOGNAME");
	return user && *user ? user : NULL;
}

/* HOME where it is usable, else the directory in passwd. */
static void find_home(struct host *host, const char *passwd, bool needs_name)
{
	const char *home = getenv("HOME"), *user = caller_name();
	owned(free_ptr) char *passwd_user = NULL;
	owned(free_ptr) char *passwd_home = NULL;
	owned(free_ptr) char *found = is_plausible_home(host, home) ? resolve(home) : NULL;
	bool will_do = found && !is_of_system(found);

	if ((!user && needs_name) || !will_do)
		host_read_passwd(passwd, host->uid, &passwd_user, &passwd_home);
	if (user)
		host->user = xstrdup(user);
	else
		host->user =
			passwd_user ? ptr_take(&passwd_user) : xasprintf("%u", (unsigned)host->uid);
	if (!will_do && is_directory(passwd_home)) {
		free(found);
		found = resolve(passwd_home);
	}
	host->home = found ? ptr_take(&found) : xstrdup("/");
}

/* Daemons without a home of their own are served where they say what else to use. */
static int check_home(const struct host *host, struct error *err)
{
	if (!is_of_system(host->home) || (is_clean_absolute(getenv("XDG_STATE_HOME")) &&
					  is_clean_absolute(getenv("XDG_DATA_HOME")) &&
					  is_clean_absolute(getenv("XDG_CACHE_HOME"))))
		return 0;
	return error_set(err, ERROR_DENIED,
			 "the home directory is %s, where the system's things are and nothing of "
			 "aisbx is put: set HOME to a directory of your own, or XDG_STATE_HOME, "
			 "XDG_DATA_HOME and XDG_CACHE_HOME",
			 host->home);
}

/* The current directory, home, and where the store and the records are. */
static int read_places(struct host *host, const char *passwd, bool needs_name, struct error *err)
{
	char cwd[PATH_MAX] = "";

	/* Verbs that only manage sandboxes may be called in a removed directory; running something needs one. */
	if (!getcwd(cwd, sizeof(cwd)) && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "the current directory");
	/* The kernel's prefix for a directory outside this process's root. */
	if (cwd[0] && cwd[0] != '/')
		return error_set(err, ERROR_HOST,
				 "the current directory cannot be reached by a path");
	host->cwd = xstrdup(cwd);
	find_home(host, passwd, needs_name);
	if (check_home(host, err) < 0)
		return -1;
	host->data_dir = own_dir(host, "XDG_DATA_HOME", ".local/share/aisbx");
	host->state_dir = own_dir(host, "XDG_STATE_HOME", ".local/state/aisbx");
	host->runtime_dir = is_directory(getenv("XDG_RUNTIME_DIR"))
				    ? own_dir(host, "XDG_RUNTIME_DIR", "")
				    : xstrdup(host->data_dir);
	return 0;
}

int host_read_places(struct host *host, const char *passwd, struct error *err)
{
	return read_places(host, passwd, false, err);
}

int host_read_dirs(struct host *host, const char *passwd, struct error *err)
{
	if (read_places(host, passwd, true, err) < 0)
		return -1;
	host->cache_dir = own_dir(host, "XDG_CACHE_HOME", ".cache/aisbx");
	host->config_dir = own_dir(host, NULL, ".config/aisbx");
	return 0;
}

int host_open_runtime(const struct host *host, struct error *err)
{
	int fd = dir_make_all(host->runtime_dir) < 0
			 ? -1
			 : open(host->runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_errno(err, ERROR_HOST, "%s", host->runtime_dir) : fd;
}
