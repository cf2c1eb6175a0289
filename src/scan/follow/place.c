/* SPDX-License-Identifier: Apache-2.0 */
/* What a path is about, judged by its text. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "scan/follow/in_list.h"
#include "scan/follow/place.h"

#include <limits.h>
#include <string.h>

static const char *const secrets[] = {
	"/etc/shadow",
	"/etc/gshadow",
	".ssh/id_",
	".aws/credentials",
	".netrc",
	".git-credentials",
	".gnupg",
	".kube/config",
	".docker/config.json",
	".pypirc",
	".config/gcloud",
	".bash_history",
	".zsh_history",
	".mozilla/firefox",
	"Login Data",
	"key4.db",
	"logins.json",
	"wallet.dat",
	"/proc/self/environ",
	".config/google-chrome",
	".password-store",
	".azure/",
	".config/gh/hosts",
	"Local State",
	".ethereum/keystore",
	".vault-token",
	"keychain-db",
	".mysql_history",
	"/etc/ssl/private",
	".local/share/keyrings",
	".npmrc",
	".ssh/config",
	".ssh/*",
	"/var/run/secrets",
	"/run/secrets",
	".electrum",
	"Cookies.sqlite",
	"/proc/1/environ",
	"cookies.sqlite",
	".bitcoin",
	"/etc/ssh/ssh_host_",
};

static const char *const starts[] = {
	".bashrc",
	".bash_profile",
	".profile",
	".zshrc",
	".zprofile",
	"/etc/cron",
	"/var/spool/cron",
	"/etc/systemd",
	".config/systemd",
	".config/autostart",
	"/etc/rc.local",
	".ssh/authorized_keys",
	".git/hooks/",
	"/etc/ld.so.preload",
	"/etc/profile",
	"sitecustomize.py",
	"usercustomize.py",
	"/etc/init.d/",
	"/etc/sudoers",
	"/etc/pam.d",
	"LaunchAgents",
	"/etc/passwd",
	"/etc/update-motd.d",
	".config/fish/config.fish",
	"/lib/systemd",
	"/etc/xdg/autostart",
	".bash_logout",
	"/etc/udev/rules.d",
	"/root/.ssh",
	".zshenv",
	"/etc/shadow",
	"/etc/environment",
};

static const char *const disks[] = { "/dev/sd",	    "/dev/hd",	   "/dev/vd",
				     "/dev/nvme",   "/dev/xvd",	   "/dev/mem",
				     "/dev/mmcblk", "/dev/mapper", "/dev/kmem",
				     "/dev/dm-",    "/dev/disk/",  "/dev/port",
				     "/dev/loop",   "/dev/md",	   "/proc/sysrq-trigger" };

static const char *const system_roots[] = { "/etc", "/usr",  "/bin",   "/sbin", "/lib",	  "/boot",
					    "/var", "/root", "/home",  "/opt",	"/dev",	  "/sys",
					    "/srv", "/proc", "/lib64", "/mnt",	"/media", "/run" };

static bool has_any(const char *path, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strstr(path, list[i]))
			return true;
	}
	return false;
}

static bool begins_with_any(const char *path, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_starts(path, list[i]))
			return true;
	}
	return false;
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The root, a home, or one of the system's directories as a whole. */
static bool is_everything(const char *path)
{
	static const char *const wholes[] = { "/",     "/*",	 "~",	    "~/",	"~/*",
					      "$HOME", "$HOME/", "${HOME}", "$HOME/*",	"..",
					      "../..", "/.",	 "*:\\",    "C:\\",	"${HOME}/*",
					      "~/.*",  "../*",	 "/.*",	    "${HOME}/", "../",
					      "../../" };
	size_t len = strlen(path);

	for (size_t i = 0; i < COUNT(wholes); i++) {
		if (strcmp(path, wholes[i]) == 0)
			return true;
	}
	while (len > 1 && (path[len - 1] == '/' || path[len - 1] == '*'))
		len--;
	for (size_t i = 0; i < COUNT(system_roots); i++) {
		if (strlen(system_roots[i]) == len && strncmp(path, system_roots[i], len) == 0)
			return true;
	}
	return false;
}

/* What package managers keep to fetch again; to empty it is what every image of a container does. */
static bool is_cache(const char *path)
{
	static const char *const homes[] = { "~/.cache/", "$HOME/.cache/", "${HOME}/.cache/" };

	return str_starts(path, "/var/lib/apt/lists/") || str_starts(path, "/var/cache/") ||
	       begins_with_any(path, homes, COUNT(homes));
}

/* What is in another process. */
static bool is_memory(const char *path)
{
	return str_starts(path, "/proc/") &&
	       (str_ends(path, "/mem") || str_ends(path, "/environ") || str_ends(path, "/kcore"));
}

static enum place_kind place_of_clean(const char *path)
{
	if (is_everything(path))
		return PLACE_EVERYTHING;
	if (begins_with_any(path, disks, COUNT(disks)))
		return PLACE_DISK;
	if (has_any(path, secrets, COUNT(secrets)) || is_memory(path) ||
	    strcmp(path, ".ssh") == 0 || str_ends(path, "/.ssh") || str_ends(path, "/.ssh/") ||
	    str_ends(path, "id_rsa") || str_ends(path, "id_ed25519") || str_ends(path, "/.aws"))
		return PLACE_SECRET;
	if (strcmp(path, "/etc/passwd") == 0)
		return PLACE_ACCOUNTS;
	if (has_any(path, starts, COUNT(starts)))
		return PLACE_START;
	if (str_starts(path, "/tmp/") || str_starts(path, "/var/tmp/") ||
	    str_starts(path, "/dev/shm/") || strcmp(path, "/dev/null") == 0 ||
	    str_starts(path, "/dev/std") || str_starts(path, "/dev/fd/") ||
	    strcmp(path, "/dev/tty") == 0 || str_starts(path, "/proc/self/fd") || is_cache(path))
		return PLACE_TEMPORARY;
	return begins_with_any(path, system_roots, COUNT(system_roots)) ? PLACE_SYSTEM
									: PLACE_PLAIN;
}

/* Longer ones no kernel takes. */
#define SPELLING_MAX PATH_MAX

/* Where the last part of OUT begins; a root or a home, which is the first, has none before it. */
static void climb(struct str *out)
{
	size_t len = out->len;

	while (len > 0 && out->data[len - 1] != '/')
		len--;
	/* Above a home there are all homes, and above the root the root. */
	if (len <= 1)
		str_clear(out);
	else
		str_truncate(out, len - 1);
}

/* /tmp/../home, //etc, /./usr: in the one spelling that is known. */
static void respell(const char *path, struct str *out)
{
	const char *at = path + strcspn(path, "/");

	str_add_bytes(out, path, (size_t)(at - path));
	while (*at) {
		size_t len = strcspn(++at, "/");

		if (len == 2 && memcmp(at, "..", 2) == 0) {
			climb(out);
		} else if (len > 0 && !(len == 1 && *at == '.')) {
			str_add_char(out, '/');
			str_add_bytes(out, at, len);
		}
		at += len;
	}
	if (out->len == 0)
		str_add_char(out, '/');
}

enum place_kind place_of(const char *path)
{
	owned(str_done) struct str clean = STR_INIT;
	enum place_kind as_written;

	/* Most words are no places: each that is known has one of these in it. */
	if (!strpbrk(path, "./~$-*: L\\"))
		return PLACE_PLAIN;
	as_written = place_of_clean(path);
	if ((as_written != PLACE_PLAIN && as_written != PLACE_TEMPORARY) ||
	    !strchr("/~$", path[0]) || (!strstr(path, "//") && !strstr(path, "/.")) ||
	    strlen(path) > SPELLING_MAX)
		return as_written;
	respell(path, &clean);
	return place_of_clean(str_cstr(&clean));
}

bool place_is_home(const char *path)
{
	static const char *const homes[] = { "~/", "$HOME/", "${HOME}/" };

	return begins_with_any(path, homes, COUNT(homes));
}

bool place_is_output(const char *path)
{
	path += str_starts(path, "./") ? 2 : 0;
	return in_list_bytes("build dist out output target public site _site release releases "
			     "coverage htmlcov reports artifacts node_modules __pycache__ "
			     ".pytest_cache .mypy_cache .next .cache",
			     path, strcspn(path, "/")) &&
	       !strstr(path, "/.") && !strpbrk(path, "*?[\x01");
}

bool place_is_obeyed(const char *path)
{
	static const char *const names[] = {
		".gitconfig",	   ".git/config",  ".config/git/config",
		".vimrc",	   ".inputrc",	   ".tmux.conf",
		".emacs",	   ".config/nvim", ".vscode/tasks.json",
		".pam_environment"
	};

	return has_any(path, names, COUNT(names));
}

bool place_is_metadata(const char *url)
{
	return strstr(url, "169.254.169.254") || strstr(url, "metadata.google.internal") ||
	       strstr(url, "100.100.100.200") || strstr(url, "fd00:ec2::254");
}
