/* SPDX-License-Identifier: Apache-2.0 */
/* What is hidden of the system and of the workspace, as tables; HOME's are made from home_tools.tsv. */
#include "plan/mask_list.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "plan/parts.h"
#include "spec/mask.h"

#include <stddef.h>

const char *const mask_system_hidden[] = {
	".snapshots",
	"etc/NetworkManager/system-connections",
	"etc/boto.cfg",
	"etc/cni",
	"etc/davfs2/secrets",
	"etc/docker",
	"etc/gshadow",
	"etc/gshadow-",
	"etc/krb5.keytab",
	"etc/kubernetes",
	"etc/letsencrypt",
	"etc/machine-id",
	"etc/openvpn",
	"etc/passwd-",
	"etc/pki/private",
	"etc/ppp",
	"etc/rancher",
	"etc/shadow",
	"etc/shadow-",
	"etc/ssh/*_key",
	"etc/ssl/private",
	"etc/sudoers",
	"etc/sudoers.d",
	"etc/wireguard",
	"etc/wpa_supplicant",
	"lost+found",
	"var/lib/AccountsService",
	"var/lib/NetworkManager",
	"var/lib/containerd",
	"var/lib/containers",
	"var/lib/dbus/machine-id",
	"var/lib/docker",
	"var/lib/kubelet",
	"var/lib/libvirt",
	"var/lib/lxd",
	"var/lib/mongodb",
	"var/lib/mysql",
	"var/lib/postgresql",
	"var/lib/redis",
	"var/lib/snapd",
	"var/lib/sudo",
	"var/lib/systemd",
	"var/lib/valkey",
	NULL,
};

const char *const mask_system_empty[] = {
	"boot",
	"home",
	"media",
	"mnt",
	"root",
	"run",
	"srv",
	"tmp",
	"var/backups",
	"var/cache/apt",
	"var/cache/debconf",
	"var/cache/private",
	"var/log",
	"var/mail",
	"var/spool",
	"var/tmp",
	NULL,
};

const char *const mask_workspace_hidden[] = {
	".env",
	".env.*",
	"*.pem",
	"*.key",
	"id_*",
	"*.p12",
	"*.jks",
	"service-account*.json",
	"terraform.tfstate*",
	NULL,
};

const char *mask_rest_behind(const char *name, const char *link)
{
	size_t len = strlen(link);

	if (strncmp(name, link, len) == 0 && (name[len] == '/' || !name[len]))
		return name + len + (name[len] == '/');
	/* Only a last part is a pattern. */
	if (strchr(name, '*') && wildcard_matches(name, link, WILDCARD_PATH))
		return name + strlen(name);
	return NULL;
}

bool plan_link_matters(const char *name)
{
	for (const char *const *at = mask_home_hidden; *at; at++) {
		if (mask_rest_behind(*at, name))
			return true;
	}
	return false;
}

bool plan_link_may_follow(const char *name)
{
	size_t len = strlen(name);

	for (const char *const *at = mask_home_outside; *at; at++) {
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '/')
			return true;
	}
	return false;
}

bool mask_home_hides(const char *home, const char *path)
{
	for (const char *const *name = mask_home_hidden; *name; name++) {
		owned(free_ptr) char *hidden = plan_join(home, *name);

		if (strchr(*name, '*') ? mask_pattern_match(hidden, path) > 0
				       : path_is_within(path, hidden))
			return true;
	}
	return false;
}
