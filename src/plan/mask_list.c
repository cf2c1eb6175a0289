/* SPDX-License-Identifier: Apache-2.0 */
/* What is hidden, as tables. A new credential file in the world is one more line here and a canary in its test. */
#include "plan/mask_list.h"

#include "base/clean_path.h"
#include "base/own.h"
#include "base/wildcard.h"
#include "plan/parts.h"
#include "spec/mask.h"

#include <stddef.h>

const char *const mask_home_kept[] = {
	".asdf",	   ".bun",	 ".cache/go-build",
	".cache/pip",	   ".cache/uv",	 ".cargo/bin",
	".cargo/registry", ".deno",	 ".gradle/caches",
	".local/bin",	   ".local/lib", ".m2/repository",
	".npm/_cacache",   ".nvm",	 ".pyenv",
	".rbenv",	   ".rustup",	 ".sdkman",
	".volta",	   "go",	 NULL,
};

const char *const mask_home_hidden[] = {
	/* keys and certificates */
	".ssh",
	".gnupg",
	".pki",
	".cert",
	".config/age",
	".config/sops",
	".config/keybase",
	/* clouds */
	".aws",
	".azure",
	".boto",
	".s3cfg",
	".s3cmd",
	".passwd-s3fs",
	".oci",
	".fly",
	".railway",
	".config/gcloud",
	".config/doctl",
	".config/rclone",
	".terraform.d",
	".terraformrc",
	".vault-token",
	/* containers and clusters */
	".kube",
	".docker",
	".podman",
	".helm",
	".config/helm",
	".config/containers/auth.json",
	/* source hosting */
	".netrc",
	".git-credentials",
	".git-credential-cache",
	".config/git/credentials",
	".config/gh",
	".config/hub",
	".config/glab-cli",
	".config/github-copilot",
	/* package registries */
	".npmrc",
	".yarnrc.yml",
	".pypirc",
	".cargo/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".m2/settings*.xml",
	".gradle/gradle.properties",
	".composer/auth.json",
	".nuget",
	/* databases, shares, mail */
	".pgpass",
	".my.cnf",
	".mylogin.cnf",
	".dbshell",
	".smbcredentials",
	".davfs2",
	".msmtprc",
	".fetchmailrc",
	".mutt*",
	/* browsers, editors, messengers */
	".mozilla",
	".thunderbird",
	".config/chromium",
	".config/google-chrome",
	".config/BraveSoftware",
	".config/Code",
	".config/Cursor",
	".config/JetBrains",
	".config/discord",
	".config/Slack",
	".config/Signal",
	".local/share/TelegramDesktop",
	/* keyrings, vaults, wallets */
	".local/share/keyrings",
	".local/share/kwalletd",
	".local/share/gnome-keyring",
	".local/share/password-store",
	".password-store",
	".config/op",
	".vaults",
	".ecryptfs",
	".fscrypt",
	".wallet",
	".bitcoin",
	".ethereum",
	".electrum",
	"*.kdbx",
	"*.kdb",
	".local/share/Trash",
	/* histories and sessions */
	".*_history",
	".histfile",
	".viminfo",
	".lesshst",
	".python_history",
	".node_repl_history",
	".Xauthority",
	".ICEauthority",
	/* assistants and model hubs */
	".claude*",
	".codex",
	".gemini",
	".cursor",
	".aider*",
	".continue",
	".anthropic",
	".openai",
	".ollama",
	".huggingface/token",
	".cache/huggingface/token",
	/* our own, should they lie elsewhere today */
	".config/aisbx",
	".local/share/aisbx",
	".local/state/aisbx",
	".cache/aisbx",
	NULL,
};

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
	"var/lib/mysql",
	"var/lib/postgresql",
	"var/lib/redis",
	"var/lib/snapd",
	"var/lib/sudo",
	"var/lib/systemd",
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

	for (const char *const *at = mask_home_hidden; *at; at++) {
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
