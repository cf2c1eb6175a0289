/* SPDX-License-Identifier: Apache-2.0 */
/* A profile for a workspace to begin with. */
#include "app/config/init.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define FILE_NAME ".aisbx.yaml"

/* What a project is by the file at its top; only names are looked at, and nothing of the project's own goes into the profile. */
static const struct {
	const char *file, *language, *tests, *registry;
} kinds[] = {
	{ "pyproject.toml", "python", "python3 -m pytest -q", "@pypi" },
	{ "setup.py", "python", "python3 -m pytest -q", "@pypi" },
	{ "requirements.txt", "python", "python3 -m pytest -q", "@pypi" },
	{ "package.json", "javascript", "npm test", "@npm" },
	{ "go.mod", "go", "go test ./...", "@go" },
	{ "Cargo.toml", "rust", "cargo test", "@crates" },
	{ "pom.xml", "java", "mvn -q test", "@maven" },
	{ "build.gradle", "java", "gradle test", "@maven" },
	{ "build.gradle.kts", "java", "gradle test", "@maven" },
};

static void describe(struct str *out)
{
	size_t found = 0, count = sizeof(kinds) / sizeof(kinds[0]);
	struct stat st;

	while (found < count && lstat(kinds[found].file, &st) < 0)
		found++;
	str_add(out, "# How aisbx runs commands in this workspace. It can only narrow what is "
		     "allowed anyway, until\n# `aisbx profile trust .aisbx.yaml` lets it say all. "
		     "`aisbx profile check .aisbx.yaml` reads it.\nname: project\n");
	if (found < count)
		str_addf(out,
			 "# A project in %s, by its %s: `aisbx run --profile %s-project` is "
			 "fitted to such.\n",
			 kinds[found].language, kinds[found].file, kinds[found].language);
	str_addf(out,
		 "# Wall time and memory of one command:\n# time: 300s\n# mem: 2g\n"
		 "# Hidden from all commands:\n# hide: [private]\n"
		 "# What must succeed for --gate tests==pass:\n# tests: [\"%s\"]\n"
		 "# Registries and hosts that may be reached, once the file is trusted:\n"
		 "# allow: [\"%s\"]\n",
		 found < count ? kinds[found].tests : "make test",
		 found < count ? kinds[found].registry : "api.example.org:443");
}

int app_init(struct value **ret_answer, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = openat(AT_FDCWD, FILE_NAME,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 && errno == EEXIST)
		return error_advise(err, ERROR_CONFLICT,
				    "aisbx profile check " FILE_NAME " reads it",
				    "there is a " FILE_NAME " here already");
	describe(&text);
	if (fd < 0 || fd_write_all(fd, text.data, text.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write " FILE_NAME);
	*ret_answer = value_new_map();
	value_add(*ret_answer, "path", value_new_text(FILE_NAME));
	return 0;
}
