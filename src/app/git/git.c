/* SPDX-License-Identifier: Apache-2.0 */
/* The host's git as a tool that runs nothing but itself. */
#include "app/git/git.h"

#include "base/process/child.h"
#include "base/text/clean_path.h"
#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/file/tree.h"
#include "app/git/git_plain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 60000
#define OUTPUT_MAX ((size_t)64 << 20)
#define ZEROS "0000000000000000000000000000000000000000"
#define ZEROS_MORE "000000000000000000000000" /* of a repository with sha256 */
#define PATH_USUAL "/usr/local/bin:/usr/bin:/bin"

/* These override every configuration. */
static const char *const overrides[] = {
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.pager=cat",
	"-c", "core.attributesFile=/dev/null",
	"-c", "commit.gpgSign=false",
	"-c", "gpg.program=/bin/false",
	"-c", "core.alternateRefsCommand=false",
	NULL,
};

/* The same for what has no key; what git would ask of the network it is refused. */
static const char *const settings[] = {
	"GIT_ALLOW_PROTOCOL=none",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_EDITOR=false",
	"GIT_ASKPASS=false",
	"LC_ALL=C",
	NULL,
};

void git_close(struct git *git)
{
	free(git->program);
	free(git->top);
	free(git->directory);
	free(git->objects);
	free(git->index);
	tmp_dir_close(&git->private);
	strv_done(&git->env);
	strv_done(&git->directories);
	memset(git, 0, sizeof(*git));
}

/* Absolute, and not in what a sandbox's changes go to. */
static bool is_safe_place(const char *directory, const char *target)
{
	owned(free_ptr) char *real = directory[0] == '/' ? path_real(directory) : NULL;

	return real && !path_is_within(real, target);
}

/* What is left of the caller's PATH, and the first git there. */
static char *find_program(const char *path, const char *target, struct str *ret_path)
{
	owned(free_ptr) char *copy = xstrdup(path);
	char *rest = NULL, *found = NULL;

	for (char *dir = strtok_r(copy, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest)) {
		owned(free_ptr) char *file = xasprintf("%s/git", dir);

		if (!is_safe_place(dir, target))
			continue;
		str_addf(ret_path, "%s%s", ret_path->len ? ":" : "", dir);
		if (!found && access(file, X_OK) == 0)
			found = ptr_take(&file);
	}
	return found;
}

static void build_argv(const struct git *git, const struct git_call *call, struct strv *argv)
{
	strv_add(argv, git->program);
	for (const char *const *word = overrides; *word; word++)
		strv_add(argv, *word);
	for (const char *const *word = call->words; *word; word++)
		strv_add(argv, *word);
}

static void build_env(const struct git *git, const struct git_call *call, struct strv *env)
{
	strv_copy(env, &git->env);
	for (size_t i = 0; call->env && i < call->env->count; i++)
		strv_add(env, call->env->items[i]);
	if (call->index)
		strv_addf(env, "GIT_INDEX_FILE=%s", call->index);
	if (call->is_real && git->directory)
		strv_addf(env, "GIT_DIR=%s", git->directory);
	if (call->is_real && git->directory)
		strv_addf(env, "GIT_WORK_TREE=%s", git->top);
	if (!call->is_real) {
		strv_addf(env, "GIT_DIR=%s", git->private.path);
		strv_addf(env, "GIT_OBJECT_DIRECTORY=%s", git->objects);
	}
}

static int explain(const struct git_call *call, int status, int errors_fd, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char shown[STR_SHOWN_SIZE];

	if (lseek(errors_fd, 0, SEEK_SET) < 0 || fd_read_all(errors_fd, OUTPUT_MAX, &text) < 0)
		str_clear(&text);
	str_truncate(&text, strcspn(str_cstr(&text), "\n"));
	return error_set(err, ERROR_HOST, "git %s failed (%d): %s", call->words[0],
			 WIFEXITED(status) ? WEXITSTATUS(status) : -1,
			 str_shown(str_cstr(&text), shown));
}

static int open_input(const struct git_call *call, struct error *err)
{
	int fd = memfd_create("git-input", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, call->input, call->input_len) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0) {
		fd_close(&fd);
		return error_errno(err, ERROR_HOST, "cannot hand data to git");
	}
	return fd;
}

/* Git's output and errors go to files: neither side ever waits for the other. */
static int spawn(const struct git *git, const struct git_call *call, const int streams[3],
		 int *ret_status, struct error *err)
{
	owned(strv_done) struct strv argv = STRV_INIT, env = STRV_INIT;
	int limit_ms = call->limit_ms ? call->limit_ms : LIMIT_MS;

	build_argv(git, call, &argv);
	build_env(git, call, &env);
	const struct child_exec exec = {
		argv.items, env.items, git->top, { streams[0], streams[1], streams[2] }
	};
	pid_t pid = child_exec(&exec, err);

	if (pid < 0)
		return -1;
	/* A repository can make git wait for ever, and a disk for long. */
	if (child_wait_within(pid, (uint64_t)limit_ms, ret_status))
		return 0;
	return error_set(err, ERROR_HOST, "git %s did not end within %d s and was stopped",
			 call->words[0], limit_ms / 1000);
}

int git_run(const struct git *git, const struct git_call *call, struct str *ret_output,
	    struct error *err)
{
	owned(fd_close) int input = call->input_fd > 0 ? -1 : open_input(call, err);
	owned(fd_close) int output = memfd_create("git-output", MFD_CLOEXEC);
	owned(fd_close) int errors = memfd_create("git-errors", MFD_CLOEXEC);
	const int streams[3] = { call->input_fd > 0 ? call->input_fd : input, output, errors };
	int status = 0;

	if (streams[0] < 0)
		return -1;
	if (output < 0 || errors < 0)
		return error_errno(err, ERROR_HOST, "cannot take data from git");
	if (spawn(git, call, streams, &status, err) < 0)
		return -1;
	str_clear(ret_output);
	if (call->may_say_no && WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return explain(call, status, errors, err);
	if (lseek(output, 0, SEEK_SET) < 0 || fd_read_all(output, OUTPUT_MAX, ret_output) < 0)
		return error_errno(err, ERROR_HOST, "what git %s said", call->words[0]);
	while (ret_output->len > 0 && ret_output->data[ret_output->len - 1] == '\n')
		str_truncate(ret_output, ret_output->len - 1);
	return 0;
}

static void choose_env(struct git *git, const char *path, const char *const *env)
{
	static const char *const kept[] = { "HOME", "XDG_CONFIG_HOME", "TZ" };

	strv_addf(&git->env, "PATH=%s", path);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const char *value = env_get(env, kept[i]);

		if (value)
			strv_addf(&git->env, "%s=%s", kept[i], value);
	}
	for (const char *const *one = settings; *one; one++)
		strv_add(&git->env, *one);
}

static int ask(const struct git *git, const char *what, const char *about, char **ret_answer,
	       struct error *err)
{
	const char *const words[] = { "rev-parse", "--path-format=absolute", what, about, NULL };
	const struct git_call call = { .words = words, .is_real = true };
	owned(str_done) struct str out = STR_INIT;

	if (git_run(git, &call, &out, err) < 0)
		return -1;
	*ret_answer = str_detach(&out);
	return 0;
}

/* A git directory that has the objects, and a configuration of one line. */
static int make_private(struct git *git, struct error *err)
{
	owned(free_ptr) char *format = NULL;
	owned(str_done) struct str text = STR_INIT;

	if (ask(git, "--show-object-format", NULL, &format, err) < 0)
		return -1;
	git->nothing = strcmp(format, "sha256") == 0 ? ZEROS ZEROS_MORE : ZEROS;
	if (tmp_dir_open("/tmp", &git->private, err) < 0)
		return -1;
	int fd = git->private.fd;

	str_addf(&text, "[core]\n\trepositoryFormatVersion = %d\n\tbare = true\n",
		 strcmp(format, "sha256") == 0);
	if (strcmp(format, "sha256") == 0)
		str_add(&text, "[extensions]\n\tobjectFormat = sha256\n");
	if (mkdirat(fd, "refs", 0700) < 0)
		return error_errno(err, ERROR_HOST, "%s/refs", git->private.path);
	owned(fd_close) int head_fd = openat(fd, "HEAD", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	owned(fd_close) int config_fd = openat(fd, "config", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (head_fd < 0 || config_fd < 0 ||
	    fd_write_all(head_fd, "ref: refs/heads/none\n", 21) < 0 ||
	    fd_write_all(config_fd, text.data, text.len) < 0)
		return error_errno(err, ERROR_HOST, "%s", git->private.path);
	return 0;
}

int git_locate(const char *target, const char *const *env, struct git *ret_git, struct error *err)
{
	const char *path = env_get(env, "PATH");
	owned(str_done) struct str safe = STR_INIT;
	struct git *git = ret_git;

	memset(git, 0, sizeof(*git));
	git->program = find_program(path ? path : PATH_USUAL, target, &safe);
	if (!git->program)
		return error_advise(err, ERROR_NOT_FOUND, "install git",
				    "no git on your PATH outside %s", target);
	if (git_plain_check_home(env_get(env, "HOME"), env_get(env, "XDG_CONFIG_HOME"), err) < 0)
		return -1;
	choose_env(git, str_cstr(&safe), env);
	git->top = xstrdup(target);
	return 0;
}

int git_open(const char *target, const char *const *env, struct git *ret_git, struct error *err)
{
	struct git *git = ret_git;
	owned(free_ptr) char *top = NULL;

	if (git_locate(target, env, git, err) < 0)
		return -1;
	git_plain_find(target, &git->directories);
	if (git_plain_check(&git->directories, err) < 0)
		return -1;
	if (ask(git, "--show-toplevel", NULL, &top, err) < 0) {
		err->code = ERROR_NOT_FOUND;
		return error_context(err, "%s", target);
	}
	free(git->top);
	git->top = ptr_take(&top);
	if (ask(git, "--absolute-git-dir", NULL, &git->directory, err) < 0 ||
	    ask(git, "--git-path", "objects", &git->objects, err) < 0 ||
	    ask(git, "--git-path", "index", &git->index, err) < 0)
		return -1;
	return make_private(git, err);
}
