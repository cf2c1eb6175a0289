/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths promotion asks about: those that make something run, whatever their spelling, and no plain source. */
#include "base/core/str.h"
#include "tests/tap.h"
#include "workspace/consent/name_fold.h"
#include "workspace/consent/trigger.h"
#include "workspace/consent/trigger_table.h"

#include <string.h>

/* What security says must ask, with siblings and spellings. */
static const char *const asks[] = {
	".git/hooks/pre-commit",
	".git/hooks/x/y",
	".git/config",
	".git/config.worktree",
	".git/info/attributes",
	".git/info/sparse-checkout",
	".git/modules/sub/config",
	".git/worktrees/w/gitdir",
	".git/commondir",
	"repo.git/config",
	"repo.git/hooks/post-receive",
	"mirrors/Some.GIT/hooks/update",
	".git/rebase-merge/git-rebase-todo",
	".git",
	"vendor/lib/.git",
	"vendor/lib/.git/hooks/post-checkout",
	".gitattributes",
	"docs/.gitattributes",
	".gitmodules",
	".envrc",
	".env",
	".env.local",
	".vscode/tasks.json",
	".idea/workspace.xml",
	".husky/pre-push",
	".devcontainer/devcontainer.json",
	".devcontainer.json",
	"Makefile",
	"sub/GNUmakefile",
	"GNUmakefile.am",
	"Dockerfile.go",
	"Dockerfile.dev",
	"makefile",
	"rules.mk",
	"package.json",
	"web/package.json",
	"conftest.py",
	"tests/conftest.py",
	"sitecustomize.py",
	"lib/evil.pth",
	"build.rs",
	"Cargo.toml",
	"setup.py",
	"pyproject.toml",
	"tox.ini",
	"noxfile.py",
	"Rakefile",
	"Gemfile",
	"x.gemspec",
	".pre-commit-config.yaml",
	".github/workflows/ci.yml",
	".gitlab-ci.yml",
	"Jenkinsfile",
	"Jenkinsfile.release",
	".circleci/config.yml",
	".travis.yml",
	".bashrc",
	".zshrc",
	".profile",
	".bash_profile",
	".npmrc",
	".vimrc",
	".config/fish/config.fish",
	".local/bin/ls",
	"CLAUDE.md",
	"sub/AGENTS.md",
	".mcp.json",
	".claude/settings.json",
	".codex/config.toml",
	".cursor/rules/a.mdc",
	".cursorrules",
	".gemini/settings.json",
	".aisbx.yaml",
	"units/evil.service",
	"evil.timer",
	"etc/cron.d/x",
	"crontab",
	".ssh/authorized_keys",
	"vite.config.ts",
	".eslintrc.js",
	"Dockerfile",
	"docker-compose.yml",
	"tools/HEAD",
	"BUILD",
	/* spellings */
	".GIT/Hooks/pre-commit",
	".Git/CONFIG",
	".git./config",
	".git /config",
	".git/hooks./pre-commit",
	".g\xe2\x80\x8cit/config",
	"\xef\xbb\xbf.git/config",
	"GIT~1/config",
	".git::$INDEX_ALLOCATION/config",
	".gitmodules ",
	"claude.MD",
	"MAKEFILE",
	".VSCode/settings.json",
	"/.git/config",
	"a//.git//config",
	/* names that passed once, by tool */
	"binding.gyp",
	"gems.rb",
	"main.tf",
	"main.tofu.json",
	"tests/main.tftest.hcl",
	"tests/main.tftest.json",
	"tests/main.tofutest.hcl",
	"tests/main.tofutest.json",
	"buf.gen.yaml",
	"proto/buf.yaml",
	"sqlc.yaml",
	"hie.yaml",
	".iex.exs",
	"pylintrc",
	".venv/bin/activate",
	"env/bin/activate.fish",
	"venv/Scripts/Activate.ps1",
	"gradle/wrapper/gradle-wrapper.properties",
	".clinerules-code",
	".clinerules-architect/rules.md",
	"Taskfile.dist.yml",
	"Procfile.dev",
	".mocharc.jsonc",
	".storybook/main.js",
	"units/x.service.d/override.conf",
	"debian/rules",
	"debian/pkg.postinst",
	"requirements.txt",
	"requirements/dev.txt",
	"dev-requirements.txt",
	"renv/activate.R",
	".git/objects/info/alternates",
	".git/refs/replace/0123",
	".git/objects/package.json",
	".git/objects/.envrc",
	"some.git/refs/.vscode/tasks.json",
	".git/lfs/config",
	/* Unicode */
	"Ma\xe2\x84\xaa"
	"efile",
	".cla\xc5\xbfspath",
	".\xc5\xbf"
	"sh/authorized_keys",
	"Make\xef\xac\x81le",
	".cla\xc3\x9fpath",
	"\xef\xbc\xad"
	"akefile",
	".hu\xc5\xbf\xe2\x84\xaay/x",
	"pac\xe2\x84\xaa"
	"age.j\xc5\xbfon",
	"M\xf3\xa0\x80\x81"
	"akefile",
	"Make\xcd\x8f"
	"file",
	"Makefile\xef\xb8\x8f",
};

static const char *const passes[] = {
	"new.txt",
	"src/f1.txt",
	"src/moved.txt",
	"src/link",
	"tried",
	"f0",
	"only-new",
	"src/main.c",
	"include/x.h",
	"app.py",
	"tests/test_app.py",
	"index.js",
	"src/hooks/useState.ts",
	"lib/config.js",
	"config",
	"config/app.yml",
	"README.md",
	"LICENSE",
	".gitignore",
	"git/config",
	"agents/base.md",
	"claude/notes.md",
	"src/head",
	"build/out.o",
	"doc/makefile-guide.txt",
	"src/service.c",
	".git/HEAD",
	".git/index",
	".git/objects/ab/cdef",
	".git/refs/heads/main",
	".git/logs/HEAD",
	".git/COMMIT_EDITMSG",
	".git/info/exclude",
	"out/bin/new.txt",
	"arc",
	"makefile.py",
	"lib/__pycache__/makefile.cpython-311.pyc",
	"Makefile.generator.py",
	"src/makefile.md",
	"gnumakefile.py",
	"GNUmakefile.notes.md",
	"tools/Dockerfile.py",
	"Containerfile.md",
	"bin/tool",
	"src/activate",
	"bin/activated.c",
	"docs/rules",
	"rules",
	"service.d.txt",
	"requirements.md",
	"M\xc3\xa4kefile",
	"\xff\xfe",
	"",
	"...",
};

/* NAME as one file system or another would take it for the same; FORM counts up, NULL: there are no more. */
static char *spell(const char *name, unsigned form)
{
	static const struct {
		const char *plain, *other;
	} points[] = { { "s", "\xc5\xbf" },	 { "k", "\xe2\x84\xaa" },  { "ss", "\xc3\x9f" },
		       { "fi", "\xef\xac\x81" }, { "fl", "\xef\xac\x82" }, { "ff", "\xef\xac\x80" },
		       { "st", "\xef\xac\x86" }, { "i", "\xc4\xb1" },	   { "a", "\xef\xbd\x81" },
		       { "e", "\xef\xbc\xa5" } };
	static const char *const unseen[] = { "\xe2\x80\x8b", "\xc2\xad",     "\xef\xbb\xbf",
					      "\xe2\x81\xa0", "\xcd\x8f",     "\xef\xb8\x80",
					      "\xd8\x9c",     "\xe3\x85\xa4", "\xf3\xa0\x84\x80",
					      "\xe1\xa0\x8e" };
	const size_t point_count = sizeof(points) / sizeof(points[0]);
	const size_t unseen_count = sizeof(unseen) / sizeof(unseen[0]);
	struct str out = STR_INIT;

	if (form < point_count) {
		const char *at = strstr(name, points[form].plain);

		if (at)
			str_addf(&out, "%.*s%s%s", (int)(at - name), name, points[form].other,
				 at + strlen(points[form].plain));
		else
			str_add(&out, name);
	} else if ((form -= (unsigned)point_count) < 3 * unseen_count) {
		size_t split = form % 3 == 0 ? 0 : form % 3 == 1 ? strlen(name) / 2 : strlen(name);

		str_addf(&out, "%.*s%s%s", (int)split, name, unseen[form / 3], name + split);
	} else if ((form -= (unsigned)(3 * unseen_count)) < 3) {
		str_addf(&out, "%s%s", name, form == 0 ? "." : form == 1 ? " " : "::$DATA");
	} else if (form == 3) {
		for (const char *at = name; *at; at++)
			str_add_char(&out, *at >= 'a' && *at <= 'z' ? (char)(*at - 32) : *at);
	} else {
		return NULL;
	}
	return str_detach(&out);
}

/* A pattern of the table as a name: with something in place of the star, and with nothing. */
static char *instance(const char *pattern, const char *filler)
{
	struct str out = STR_INIT;

	for (; *pattern; pattern++) {
		if (*pattern == '*')
			str_add(&out, filler);
		else
			str_add_char(&out, *pattern);
	}
	return str_detach(&out);
}

/* Every spelling of one name, at every depth. */
static size_t count_missed(const char *name, const char *below)
{
	static const char *const places[] = { "", "some/", "a/b/c/", "x.git/refs/", ".git/logs/" };
	size_t missed = 0;

	for (unsigned form = 0;; form++) {
		char *spelt = spell(name, form);

		if (!spelt)
			return missed;
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			char *path = xasprintf("%s%s%s", places[i], spelt, below);

			if (!trigger_why(path) && missed++ < 5)
				printf("# missed: %s\n", path);
			free(path);
		}
		free(spelt);
	}
}

static void check_table(const char *what, const struct trigger_row *rows, size_t count,
			const char *below)
{
	size_t missed = 0;

	for (size_t i = 0; i < count; i++) {
		char *full = instance(rows[i].pattern, "some");
		char *bare = instance(rows[i].pattern, "");

		missed += count_missed(full, below);
		if (bare[0] && !strchr("./", bare[strlen(bare) - 1]) && !strstr(bare, "/."))
			missed += count_missed(bare, below);
		free(full);
		free(bare);
	}
	tap_ok(count > 0 && missed == 0, "%zu %s, in every spelling and place", count, what);
}

/* What is no trigger stays none by a letter that only looks like another. */
static void check_folding(void)
{
	static const char *const pairs[][2] = {
		{ "A\xc3\xa9z", "a\xc3\xa9z" },
		{ "\xe2\x84\xaa", "k" },
		{ "x\xe2\x80\x8by", "xy" },
		{ "\xef\xbc\xa1\xef\xbd\x82", "ab" },
		{ "\xd0\xb0", "\xd0\xb0" },
		{ "a. .", "a" },
		{ "\xff"
		  "A",
		  "\xff"
		  "a" },
		{ "\xf0\x9d\x90\x80", "\xf0\x9d\x90\x80" },
		{ "config::$DATA", "config" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char folded[NAME_FOLD_SIZE];

		(void)name_fold(pairs[i][0], folded);
		tap_is_str(folded, pairs[i][1], "folding %zu", i);
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		tap_ok(trigger_why(asks[i]) != NULL, "case %zu asks", i);
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		tap_is_str(trigger_why(passes[i]), NULL, "'%s' does not ask", passes[i]);
	tap_is_str(trigger_why(".git/hooks/x"), "git hook", "a hook is called so");
	tap_is_str(trigger_why(".git/objects/pack/multi-pack-index"),
		   "git cache of other objects, which the host's git can make itself",
		   "a cache is called so");
	tap_is_str(trigger_why(".git/refs/replace/commit-graph"),
		   "git replacement of objects by others", "a replacement is none by its name");
	tap_is_str(trigger_why(".git/objects/info/alternates"), "git objects of another repository",
		   "alternates are no configuration");
	tap_is_str(trigger_why("CLAUDE.md"), "agent configuration", "an agent's file is called so");
	check_table("names", trigger_names, trigger_names_count, "");
	check_table("patterns of names", trigger_name_patterns, trigger_name_patterns_count, "");
	check_table("folders", trigger_folders, trigger_folders_count, "/below/it");
	check_table("patterns of folders", trigger_folder_patterns, trigger_folder_patterns_count,
		    "/below/it");
	check_table("paths", trigger_paths, trigger_paths_count, "");
	check_folding();
	return tap_done();
}
