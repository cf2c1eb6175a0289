/* SPDX-License-Identifier: Apache-2.0 */
/* What a project's own commands are, by the files it has. */
#include "app/trial/intent.h"

#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/text/suggest.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PROJECT_FILE_MAX ((size_t)1 << 20)

enum intent {
	INTENT_RUN,
	INTENT_TEST,
	INTENT_BUILD,
	INTENT_FORMAT,
	INTENT_LINT,
	INTENT_BENCH,
	INTENT_COUNT
};

static const char *const intent_names[INTENT_COUNT] = { "run",	  "test", "build",
							"format", "lint", "bench" };

struct kind_row {
	const char *file; /* that says so */
	const char *commands[INTENT_COUNT];
};

/* The first that fits. A Makefile and package.json come before these: they say what the project's people type. */
static const struct kind_row kinds[] = {
	{ "Cargo.toml",
	  { "cargo run", "cargo test", "cargo build", "cargo fmt", "cargo clippy",
	    "cargo bench" } },
	{ "go.mod",
	  { "go run .", "go test ./...", "go build ./...", "gofmt -w .", "go vet ./...",
	    "go test -bench=. ./..." } },
	{ "pom.xml", { NULL, "mvn -o -q test", "mvn -o -q package", NULL, NULL, NULL } },
	{ "build.gradle",
	  { NULL, "gradle --offline test", "gradle --offline build", NULL, NULL, NULL } },
	{ "meson.build", { NULL, "meson test -C build", "ninja -C build", NULL, NULL, NULL } },
	{ "CMakeLists.txt",
	  { NULL, "ctest --test-dir build", "cmake -B build && cmake --build build", NULL, NULL,
	    NULL } },
	{ "pyproject.toml",
	  { NULL, "python3 -m pytest -q", "python3 -m build", "python3 -m black .",
	    "python3 -m ruff check .", NULL } },
	{ "setup.py",
	  { NULL, "python3 -m pytest -q", "python3 setup.py build", NULL, NULL, NULL } },
	{ "main.py", { "python3 main.py", "python3 -m pytest -q", NULL, NULL, NULL, NULL } },
};

static int find_intent(const char *word, enum intent *ret_intent, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, word);
	for (size_t i = 0; i < INTENT_COUNT; i++) {
		suggest_try(&suggest, intent_names[i]);
		if (strcmp(word, intent_names[i]) == 0) {
			*ret_intent = (enum intent)i;
			return 0;
		}
	}
	error_set(err, ERROR_USAGE, "intent '%s' is none of run, test, build, format, lint, bench",
		  str_shown(word, shown));
	return suggest_add_hint(suggest.best, err);
}

static void set_script(struct strv *command, const char *script)
{
	strv_add_script(command, script);
}

/* Whether a line of the Makefile begins with "NAME:". */
static bool has_target(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return true;
		if (!*line)
			break;
	}
	return false;
}

static bool try_make(int dir_fd, const char *intent, struct strv *command)
{
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;

	if (file_read(dir_fd, "Makefile", PROJECT_FILE_MAX, &text, &ignored) < 0)
		return false;
	if (!has_target(str_cstr(&text), intent) && strcmp(intent, "build") != 0)
		return false;
	strv_add(command, "make");
	if (has_target(str_cstr(&text), intent))
		strv_add(command, intent);
	return true;
}

static bool try_npm(int dir_fd, const char *intent, struct strv *command)
{
	owned(str_done) struct str text = STR_INIT;
	owned(value_release) struct value *tree = NULL;
	const char *name = strcmp(intent, "run") == 0 ? "start" : intent;
	const struct value *scripts;
	struct error ignored;

	if (file_read(dir_fd, "package.json", PROJECT_FILE_MAX, &text, &ignored) < 0 ||
	    json_read(str_cstr(&text), text.len, NULL, &tree, &ignored) < 0 ||
	    tree->kind != VALUE_MAP)
		return false;
	scripts = value_get(tree, "scripts");
	if (!scripts || scripts->kind != VALUE_MAP || !value_get_text(scripts, name))
		return false;
	strv_add(command, "npm");
	strv_add(command, "run");
	strv_add(command, "--silent");
	strv_add(command, name);
	return true;
}

static bool try_kinds(int dir_fd, enum intent intent, struct strv *command)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].commands[intent] || faccessat(dir_fd, kinds[i].file, F_OK, 0) < 0)
			continue;
		set_script(command, kinds[i].commands[intent]);
		return true;
	}
	return false;
}

int intent_find(const char *intent, const char *workspace, struct strv *ret_command,
		struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	enum intent which = INTENT_RUN;

	if (find_intent(intent, &which, err) < 0)
		return -1;
	dir_fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", workspace);
	if (try_make(dir_fd, intent, ret_command) || try_npm(dir_fd, intent, ret_command) ||
	    try_kinds(dir_fd, which, ret_command))
		return 0;
	return error_advise(err, ERROR_NOT_FOUND, "name a command or a script",
			    "nothing in %s says how to %s it", workspace, intent);
}
