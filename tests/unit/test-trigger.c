/* Which paths promotion asks about: those that make something run, whatever their spelling, and no plain source. */
#include "base/str.h"
#include "tests/tap.h"
#include "workspace/trigger.h"
#include "workspace/trigger_table.h"

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
	"",
	"...",
};

/* A table that is not sorted loses rows. */
static void check_table(const struct trigger_row *rows, size_t count, const char *below)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		char *path = xasprintf("some/%s%s", rows[i].name, below);
		const char *why = trigger_why(path);

		if (why && strcmp(why, rows[i].why) == 0)
			found++;
		else
			printf("# not found: %s\n", path);
		free(path);
	}
	tap_is_int((long long)found, (long long)count, "every row of a table is found");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		tap_ok(trigger_why(asks[i]) != NULL, "case %zu asks", i);
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		tap_is_str(trigger_why(passes[i]), NULL, "'%s' does not ask", passes[i]);
	tap_is_str(trigger_why(".git/hooks/x"), "git hook", "a hook is called so");
	tap_is_str(trigger_why("CLAUDE.md"), "agent configuration", "an agent's file is called so");
	check_table(trigger_names, trigger_name_count, "");
	check_table(trigger_folders, trigger_folder_count, "/below/it");
	return tap_done();
}
