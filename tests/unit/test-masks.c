/* SPDX-License-Identifier: Apache-2.0 */
/* What is hidden: every path of the list, whatever the home, the workspace and the mounts look like. */
#include "plan/mask_list.h"
#include "plan/parts.h"

#include "base/core/own.h"
#include "services/service.h"
#include "spec/mask.h"
#include "tests/unit/plan_fixture.h"

static bool all_hidden(const struct fixture *fixture, const char *dir, const char *const *names)
{
	bool good = true;

	for (; *names; names++) {
		owned(free_ptr) char *path = plan_join(dir, *names);

		if (!mask_shows(&fixture->spec, path))
			continue;
		printf("# visible: %s\n", path);
		good = false;
	}
	return good;
}

static void test_usual(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_must_plan(&f);
	tap_ok(all_hidden(&f, "/", mask_system_hidden), "every system path of the list is hidden");
	tap_ok(all_hidden(&f, "/", mask_system_empty), "every place of the list is empty");
	tap_ok(all_hidden(&f, "/home/u", mask_home_hidden), "every credential of HOME is hidden");
	tap_ok(fixture_has_mask(&f, MASK_EMPTY, "/home/u"), "HOME exists and is empty");
	tap_ok(fixture_has_mask(&f, MASK_EMPTY, "/home"), "so is the directory of homes");
	tap_ok(!mask_shows(&f.spec, "/home/u/.newtoken"),
	       "what the list does not know is hidden too");
	tap_ok(!mask_shows(&f.spec, "/home/other/notes"), "other users are hidden");
	tap_ok(!mask_shows(&f.spec, "/root/x"), "root's home is hidden");
	tap_ok(mask_shows(&f.spec, "/home/u/work/src/a.c"), "the workspace is seen");
	tap_ok(!mask_shows(&f.spec, "/home/u/workbench"), "a name that starts like it is not");
	tap_ok(mask_shows(&f.spec, "/home/u/.cargo/bin/cargo"), "tool chains are seen");
	tap_ok(!mask_shows(&f.spec, "/home/u/.cargo/credentials.toml"),
	       "not what lies beside them");
	tap_ok(mask_shows(&f.spec, "/usr/bin/env"), "the system is seen");
	tap_ok(mask_shows(&f.spec, "/etc/ssh/ssh_config"), "also beside what a pattern hides");
	tap_ok(fixture_has_mask(&f, MASK_GLOB, "/etc/ssh/*_key"), "host keys go by a pattern");
	tap_ok(!fixture_mask(&f, "/home/u/.ssh"), "no rule for what is invisible anyway");
	tap_ok(!fixture_mask(&f, "/home/u/.gitconfig"),
	       "no git configuration when nothing is known");
	fixture_close(&f);
}

static void test_hide(void)
{
	struct fixture f;
	static const char *const paths[] = { "~/.cargo", "secret", "/srv/data", "/opt/*.key",
					     "/home" };
	static const char *const bad[] = { "/",	   "/home/u/work", ".",	  "/proc/1",
					   "/run", "a*/b",	   "../x" };

	fixture_open(&f);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		strv_add(&f.request.flags.hide, paths[i]);
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/home/u/.cargo/bin/cargo"), "a hidden tool chain is gone");
	tap_ok(!mask_shows(&f.spec, "/home/u/work/secret"), "a path of the workspace");
	tap_ok(!mask_shows(&f.spec, "/srv/data/x"), "one of the host");
	tap_ok(fixture_has_mask(&f, MASK_GLOB, "/opt/*.key"), "a pattern");
	tap_ok(mask_shows(&f.spec, "/home/u/work/src"),
	       "the workspace is seen below what is hidden");
	fixture_close(&f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fixture_open(&f);
		strv_add(&f.request.flags.hide, bad[i]);
		tap_ok(plan_make(&f.request, &f.profile, &f.host, &f.paths, &f.spec, &f.err) < 0 &&
			       strstr(f.err.text, "--hide "),
		       "refused: %s: %s", bad[i], f.err.text);
		spec_init(&f.spec);
		fixture_close(&f);
	}
}

static void test_own(const char *home_mode)
{
	struct fixture f;

	fixture_open(&f);
	fixture_flag(&f, "home", home_mode);
	fixture_text(&f.host.data_dir, "/big/disk/aisbx");
	fixture_text(&f.host.cache_dir, "/home/u/.pyenv/cache/aisbx");
	fixture_text(&f.host.state_dir, "/home/u/work/.state/aisbx");
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/big/disk/aisbx/sbx"), "%s: the store elsewhere is hidden",
	       home_mode);
	tap_ok(mask_shows(&f.spec, "/big/disk/other"), "%s: not what lies beside it", home_mode);
	tap_ok(!mask_shows(&f.spec, "/home/u/.pyenv/cache/aisbx"), "%s: hidden in a tool chain",
	       home_mode);
	tap_ok(!mask_shows(&f.spec, "/home/u/work/.state/aisbx/spool"),
	       "%s: hidden in the workspace", home_mode);
	tap_ok(!mask_shows(&f.spec, "/home/u/.config/aisbx/trust"), "%s: so is the configuration",
	       home_mode);
	tap_ok(!mask_shows(&f.spec, "/run/user/1000/aisbx/socket"), "%s: and the sockets",
	       home_mode);
	tap_ok(!mask_shows(&f.spec, "/home/u/.aisbx-mcp/8080.token") &&
		       !mask_shows(&f.spec, "/run/user/1000/.aisbx-mcp/8080.token"),
	       "%s: and the tokens of servers", home_mode);
	fixture_close(&f);
}

/* What a program inside would read as a mix of two times. */
static void test_services(void)
{
	struct fixture f;
	static const char *const places[] = { "/opt/pg",       "/home/u/work/db/dump.rdb",
					      "/usr",	       "/home/u",
					      "/home/u/work",  "/",
					      "/opt/new\nline" };
	bool all = true;

	fixture_open(&f);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		strv_add(&f.paths.services, places[i]);
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/opt/pg/base/1") && !mask_shows(&f.spec, "/opt/new\nline") &&
		       !mask_shows(&f.spec, "/home/u/work/db/dump.rdb"),
	       "the state of services is hidden, also in the workspace");
	tap_ok(mask_shows(&f.spec, "/usr/bin/env") && mask_shows(&f.spec, "/home/u/work/db/a.c") &&
		       mask_shows(&f.spec, "/opt/other"),
	       "what every sandbox needs is not, wherever a service stands");
	tap_ok(f.spec.notes.count == 1 && strstr(f.spec.notes.items[0], "--with-services"),
	       "and the plan says so");
	for (const struct recipe_row *row = recipe_rows; row->recipe; row++) {
		owned(free_ptr) char *words =
			xstrdup(strcmp(row->field, "usual") == 0 ? row->words : "");
		char *rest = words;

		for (char *one; (one = strsep(&rest, " "));)
			all &= !*one || !mask_shows(&f.spec, one);
	}
	tap_ok(all, "the usual places of all recipes are hidden");
	strv_done(&f.paths.services);
	fixture_close(&f);
}

static void test_full_home(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_flag(&f, "home", "full");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/home/u/notes.txt"), "home: full shows the home");
	tap_is_int((long long)f.spec.notes.count, 1, "and says so");
	tap_ok(all_hidden(&f, "/home/u", mask_home_hidden), "but no credential of the list");
	tap_ok(fixture_has_mask(&f, MASK_GLOB, "/home/u/.*_history"), "histories go by a pattern");
	tap_ok(!mask_shows(&f.spec, "/home/other"), "other users stay hidden");
	fixture_close(&f);
}

static void test_odd_workspaces(void)
{
	struct fixture f;

	fixture_open(&f);
	f.paths.workspace_given = true;
	fixture_text(&f.paths.workspace, "/home/u");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/home/u/notes.txt"), "HOME as the workspace is seen");
	tap_ok(all_hidden(&f, "/home/u", mask_home_hidden), "without its credentials");
	fixture_text(&f.paths.workspace, "/home/u/.config");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/home/u/.config/nvim"), "a part of HOME as the workspace");
	tap_ok(!mask_shows(&f.spec, "/home/u/.config/gh/hosts.yml"),
	       "without the credentials in it");
	tap_ok(!mask_shows(&f.spec, "/home/u/.ssh/id_rsa"), "and without those beside it");
	fixture_text(&f.paths.workspace, "/home/u/.aws/tool");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/home/u/.aws/tool/main.c"),
	       "a workspace in a hidden directory");
	tap_ok(!mask_shows(&f.spec, "/home/u/.aws/credentials"), "shows nothing beside it");
	fixture_text(&f.paths.workspace, "/var/log/app");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/var/log/app/x") && !mask_shows(&f.spec, "/var/log/syslog"),
	       "the same in a hidden place of the system");
	fixture_text(&f.paths.workspace, "/srv");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/srv/x"), "a hidden place itself, when it is named");
	fixture_text(&f.paths.workspace, "/");
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/home/u/.ssh") && !mask_shows(&f.spec, "/etc/shadow"),
	       "all of / as the workspace unhides nothing");
	fixture_close(&f);
}

static void test_homes(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_text(&f.host.home, "/");
	fixture_text(&f.paths.workspace, "/opt/job");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/usr/bin"), "a home of / is not emptied");
	tap_ok(all_hidden(&f, "/", mask_home_hidden), "but its credentials are hidden");
	fixture_text(&f.host.home, "/root");
	fixture_must_plan(&f);
	tap_ok(fixture_has_mask(&f, MASK_EMPTY, "/root") &&
		       mask_shows(&f.spec, "/root/.rustup/toolchains"),
	       "root's own home: empty but for tool chains");
	fixture_text(&f.host.home, "/var/lib/docker/u");
	fixture_must_plan(&f);
	tap_ok(fixture_has_mask(&f, MASK_EMPTY, "/var/lib/docker/u") &&
		       !mask_shows(&f.spec, "/var/lib/docker/volumes"),
	       "a home below a hidden directory exists; nothing beside it is seen");
	fixture_close(&f);
}

static void test_git_config(void)
{
	struct fixture f;

	fixture_open(&f);
	f.paths.git_name = "A \"B\" \\ C\n[core]\n\tpager = rm";
	fixture_must_plan(&f);
	const struct spec_mask *mask = fixture_mask(&f, "/home/u/.gitconfig");

	if (tap_ok(mask && mask->kind == MASK_FILE, "a git configuration is synthesised")) {
		tap_is_str(mask->content,
			   "[user]\n\tname = \"A \\\"B\\\" \\\\ C[core]pager = rm\"\n",
			   "a name cannot become another setting");
	}
	f.paths.git_email = "a@b.c";
	f.paths.git_name = NULL;
	fixture_must_plan(&f);
	mask = fixture_mask(&f, "/home/u/.gitconfig");
	tap_is_str(mask ? mask->content : NULL, "[user]\n\temail = \"a@b.c\"\n", "e-mail only");
	fixture_close(&f);
}

static void test_workspace_secrets(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_must_plan(&f);
	tap_ok(!fixture_mask(&f, "/home/u/work/.env"),
	       "secrets of the workspace are shown by default");
	fixture_flag(&f, "workspace-secrets", "mask");
	fixture_must_plan(&f);
	tap_ok(fixture_has_mask(&f, MASK_HIDE, "/home/u/work/.env"), "a file");
	tap_ok(fixture_has_mask(&f, MASK_GLOB, "/home/u/work/*.pem"), "a pattern");
	tap_ok(all_hidden(&f, "/home/u/work", mask_workspace_hidden), "all of the list");
	fixture_close(&f);
}

static void test_staging(void)
{
	struct fixture f;

	fixture_open(&f);
	strv_add(&f.paths.staging, "/home/u/work/deep/.aisbx-txn");
	fixture_must_plan(&f);
	tap_ok(fixture_has_mask(&f, MASK_HIDE, "/home/u/work/deep/.aisbx-txn"),
	       "where a promotion was prepared");
	tap_ok(fixture_has_mask(&f, MASK_HIDE, "/home/u/work/.aisbx-txn"),
	       "where the next one may be");
	tap_ok(!fixture_mask(&f, "/home/u/.aisbx-txn"), "an empty home needs no mask of its own");
	fixture_text(&f.paths.workspace, "/work");
	fixture_mount(&f, "1 0 8:1 / / rw - ext4 a rw\n"
			  "2 1 8:2 / /work/in rw - ext4 b rw\n"
			  "3 1 0:21 / /proc rw - proc proc rw\n");
	f.host.uid = 0;
	f.host.is_host_root = false;
	fixture_must_plan(&f);
	tap_ok(fixture_has_mask(&f, MASK_HIDE, "/.aisbx") &&
		       fixture_has_mask(&f, MASK_HIDE, "/work/in/.aisbx") &&
		       !fixture_mask(&f, "/proc/.aisbx"),
	       "root's are at the top of each mount");
	tap_ok(fixture_has_mask(&f, MASK_HIDE, "/.aisbx-txn"), "beside a workspace below /");
	strv_done(&f.paths.staging);
	fixture_close(&f);
}

static void test_aliases(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_mount(&f, "1 0 8:1 / / rw - ext4 a rw\n"
			  "2 1 8:2 /@home /home rw - btrfs b rw\n"
			  "3 1 8:2 / /pool rw - btrfs b rw\n"
			  "4 1 8:2 /@home/u/.pyenv /opt/pyenv rw - btrfs b rw\n"
			  "5 1 8:1 /srv/www /www rw - ext4 a rw\n"
			  "6 1 8:1 /etc/ssl/private /keys rw - ext4 a rw\n"
			  "7 1 8:1 / /again rw - ext4 a rw\n"
			  "8 1 8:1 /opt /opt rw - ext4 a rw\n");
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/pool/@home/u/.ssh/id_rsa"),
	       "a subvolume's parent shows no home");
	tap_ok(!mask_shows(&f.spec, "/pool/@home/u/.local/share/aisbx"), "and not the store");
	tap_ok(mask_shows(&f.spec, "/pool/other"), "what is not hidden by its first name is seen");
	tap_ok(mask_shows(&f.spec, "/opt/pyenv/bin"), "a tool chain bound elsewhere is seen");
	tap_ok(mask_shows(&f.spec, "/www/index.html"),
	       "a part of /srv that was bound to be seen is");
	tap_ok(!mask_shows(&f.spec, "/keys/host.key"),
	       "a credential directory bound elsewhere is not");
	tap_ok(!mask_shows(&f.spec, "/again/etc/shadow"), "the root bound a second time");
	tap_ok(fixture_has_mask(&f, MASK_GLOB, "/again/etc/ssh/*_key"), "patterns too");
	tap_ok(!mask_shows(&f.spec, "/again/root/x"), "and places");
	tap_ok(!fixture_mask(&f, "/opt"), "a directory bound onto itself has one name");
	fixture_close(&f);
}

/* HOME, or a part of it, bound elsewhere: the bind shows no credential either. */
static void test_home_twins(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_mount(&f, "1 0 8:1 / / rw - ext4 a rw\n"
			  "2 1 8:1 /home/u /opt/al rw - ext4 a rw\n"
			  "3 1 8:1 /home/u/.config /opt/cfg rw - ext4 a rw\n"
			  "4 1 8:1 /home/u/projects /projects rw - ext4 a rw\n"
			  "5 1 8:1 /home/u/.claude /opt/cl rw - ext4 a rw\n"
			  "6 1 8:1 /home /homes rw - ext4 a rw\n");
	fixture_must_plan(&f);
	tap_ok(all_hidden(&f, "/opt/al", mask_home_hidden), "HOME bound elsewhere");
	tap_ok(!mask_shows(&f.spec, "/opt/al/notes"), "is as empty as HOME");
	tap_ok(!mask_shows(&f.spec, "/opt/cfg/gh/hosts.yml"), "a part of HOME bound elsewhere");
	tap_ok(mask_shows(&f.spec, "/opt/cfg/nvim"), "is seen but for its credentials");
	tap_ok(mask_shows(&f.spec, "/projects/x"), "one that holds none is seen");
	tap_ok(!mask_shows(&f.spec, "/opt/cl/x"), "one that a pattern names is not");
	tap_ok(!mask_shows(&f.spec, "/homes/other/x"), "the directory of homes bound elsewhere");
	fixture_text(&f.paths.workspace, "/opt/al");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/opt/al/notes"), "as the workspace it is seen");
	tap_ok(all_hidden(&f, "/opt/al", mask_home_hidden), "without credentials");
	fixture_text(&f.paths.workspace, "/opt/al/.config");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/opt/al/.config/nvim") &&
		       !mask_shows(&f.spec, "/opt/al/.config/gh"),
	       "a part of it as the workspace");
	fixture_mount(&f, "1 0 8:1 / / rw - ext4 a rw\n"
			  "2 1 8:1 /data/u /home/u rw - ext4 a rw\n");
	fixture_text(&f.paths.workspace, "/data/u/work");
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/data/u/.ssh") && !mask_shows(&f.spec, "/data/u/notes"),
	       "where HOME is bound from shows nothing of it");
	tap_ok(mask_shows(&f.spec, "/data/u/work/x"), "but the workspace");
	fixture_mount(&f, "1 0 8:1 /home/u / rw - ext4 a rw\n"
			  "2 1 8:1 /home/u /home/u rw - ext4 a rw\n");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/usr/bin") && !mask_shows(&f.spec, "/.ssh"),
	       "a root that is HOME is not emptied");
	fixture_close(&f);
}

/* Credentials kept elsewhere: a link of HOME leads to them. */
static void test_links(void)
{
	static const char *const links[][2] = {
		{ ".ssh", "/opt/keys" },
		{ ".config", "/data/config" },
		{ ".claude.json", "/data/claude" },
		{ ".bash_history", "/dev/null" },
		{ ".gnupg", "/etc/gpg" },
		{ ".docker", "/usr/share/docker" },
		{ ".aws", "/srv" },
		{ ".kube", "/work" },
		{ ".m2", "/data/m2" },
		{ ".config/rclone", "/data/clouds" },
		{ ".gradle/gradle.properties", "/data/gradle" },
	};
	struct plan_link given[sizeof(links) / sizeof(links[0])];
	struct fixture f;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		given[i] = (struct plan_link){ xstrdup(links[i][0]), xstrdup(links[i][1]) };
	fixture_open(&f);
	fixture_text(&f.paths.workspace, "/work/job");
	f.paths.links = given;
	f.paths.link_count = sizeof(links) / sizeof(links[0]);
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/opt/keys/id_rsa"), "a linked directory is hidden");
	tap_ok(!mask_shows(&f.spec, "/data/config/gh/hosts.yml"), "what lies below a link");
	tap_ok(mask_shows(&f.spec, "/data/config/nvim"), "not what is no credential there");
	tap_ok(!mask_shows(&f.spec, "/data/claude"), "a link that a pattern names");
	tap_ok(fixture_has_mask(&f, MASK_GLOB, "/data/m2/settings*.xml"), "a pattern behind one");
	tap_ok(!mask_shows(&f.spec, "/data/clouds/rclone.conf") &&
		       !mask_shows(&f.spec, "/data/gradle"),
	       "links in directories of HOME");
	tap_ok(!fixture_mask(&f, "/dev/null"), "a history that is thrown away");
	tap_ok(!mask_shows(&f.spec, "/etc/gpg"), "also in /etc");
	tap_ok(mask_shows(&f.spec, "/usr/share/docker"), "no part of the system");
	tap_ok(mask_shows(&f.spec, "/work/job"), "and nothing that holds the workspace");
	tap_ok(plan_link_matters(".ssh") && plan_link_matters(".local") &&
		       plan_link_matters("a.kdbx"),
	       "names that may lead to a credential");
	tap_ok(!plan_link_matters("src") && !plan_link_matters(".sshx") && !plan_link_matters(".s"),
	       "names that do not");
	tap_ok(plan_link_matters(".config/gh") && plan_link_matters(".m2/settings-old.xml") &&
		       !plan_link_matters(".config/nvim") && !plan_link_matters("deep/a.kdbx"),
	       "the same below directories");
	tap_ok(plan_link_may_follow(".config") && plan_link_may_follow(".local/share") &&
		       !plan_link_may_follow(".ssh") && !plan_link_may_follow("src"),
	       "directories to look into");
	for (size_t i = 0; i < f.paths.link_count; i++) {
		free(given[i].name);
		free(given[i].target);
	}
	fixture_close(&f);
}

static void test_order(void)
{
	struct fixture f;
	bool sorted = true;

	fixture_open(&f);
	/* Names in which '-' and '.' sort before '/': the order has to survive them. */
	fixture_text(&f.host.data_dir, "/home/u/work-old/aisbx");
	fixture_text(&f.host.cache_dir, "/home/u/work/aisbx");
	fixture_text(&f.host.state_dir, "/home/u/work.d/aisbx");
	fixture_must_plan(&f);
	for (size_t i = 1; i < f.spec.mask_count; i++)
		sorted &= strcmp(f.spec.masks[i - 1].path, f.spec.masks[i].path) < 0;
	tap_ok(sorted, "masks are sorted, each path once");
	tap_ok(fixture_has_mask(&f, MASK_HIDE, "/home/u/work/aisbx"), "hidden in the workspace");
	tap_ok(!fixture_mask(&f, "/home/u/work-old/aisbx"), "idle rules are left out");
	tap_ok(plan_keeps_within(&f.spec, "/home"), "something below /home is kept");
	tap_ok(!plan_keeps_within(&f.spec, "/srv"), "nothing below /srv is");
	fixture_close(&f);
}

int main(void)
{
	test_usual();
	test_hide();
	test_own("tools");
	test_own("full");
	test_services();
	test_full_home();
	test_odd_workspaces();
	test_homes();
	test_git_config();
	test_workspace_secrets();
	test_staging();
	test_aliases();
	test_home_twins();
	test_links();
	test_order();
	return tap_done();
}
