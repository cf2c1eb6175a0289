/* SPDX-License-Identifier: Apache-2.0 */
/* Executing the command: exact argv, the sandbox's own PATH, and the reason when it cannot be. */
#include "launch/setup/command.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <sys/wait.h>

static struct scratch scratch;

static void make_executable(const char *name, const char *text)
{
	owned(free_ptr) char *path = scratch_write(&scratch, name, text);

	if (chmod(path, 0755) < 0)
		tap_bail("cannot make a program");
}

/* Runs the command in a child and keeps what it prints; a failure prints its code and text. */
static int run(const struct strv *command, const struct strv *env, struct str *ret_output)
{
	int ends[2], status = -1;

	if (pipe2(ends, O_CLOEXEC) < 0)
		tap_bail("cannot make a pipe");
	pid_t child = fork();

	if (child == 0) {
		struct error err = { 0 };

		(void)dup2(ends[1], STDOUT_FILENO);
		command_exec(command, env, &err);
		dprintf(ends[1], "%s: %s", error_code_name(err.code), err.text);
		_exit(error_run_exit_status(err.code));
	}
	fd_close(&ends[1]);
	(void)fd_read_all(ends[0], 1 << 16, ret_output);
	fd_close(&ends[0]);
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* As run, with up to three words and a PATH, or none when NULL. */
static int run_words(const char *const words[3], const char *path, struct str *ret_output)
{
	owned(strv_done) struct strv command = STRV_INIT, env = STRV_INIT;

	for (size_t i = 0; i < 3 && words[i]; i++)
		strv_add(&command, words[i]);
	if (path)
		strv_addf(&env, "PATH=%s", path);
	return run(&command, &env, ret_output);
}

static void test_exact_words(void)
{
	owned(str_done) struct str out = STR_INIT;

	tap_is_int(run_words((const char *[3]){ "/bin/echo", "a  b", "$HOME;*" }, NULL, &out), 0,
		   "a path is executed as it is");
	tap_is_str(str_cstr(&out), "a  b $HOME;*\n", "no shell sees the words");
}

static void test_search(void)
{
	owned(free_ptr) char *path =
		xasprintf("/no/such:%s/first:%s/second", scratch.dir, scratch.dir);
	owned(str_done) struct str out = STR_INIT;
	owned(str_done) struct str default_out = STR_INIT;

	make_executable("second/tool", "#!/bin/sh\necho second \"$0\"\n");
	free(scratch_write(&scratch, "first/tool", "not executable"));
	tap_is_int(run_words((const char *[3]){ "tool" }, path, &out), 0,
		   "one that cannot be executed is passed over");
	tap_ok(str_starts(str_cstr(&out), "second "), "the next one runs");
	tap_is_int(run_words((const char *[3]){ "true" }, NULL, &default_out), 0,
		   "without PATH there is a default one");
}

static void test_not_found(void)
{
	owned(str_done) struct str out = STR_INIT;
	owned(str_done) struct str path_out = STR_INIT;
	owned(str_done) struct str under_file = STR_INIT;

	tap_is_int(run_words((const char *[3]){ "no-such-tool" }, "/usr/bin:/bin", &out), 127,
		   "a name found nowhere is 127");
	tap_ok(str_starts(str_cstr(&out), "command_not_found: no-such-tool: "), "%s",
	       str_cstr(&out));
	tap_is_int(run_words((const char *[3]){ "/no/such/tool" }, NULL, &path_out), 127,
		   "so is a path that leads nowhere");
	tap_is_int(run_words((const char *[3]){ "/etc/passwd/tool" }, NULL, &under_file), 127,
		   "or through a file");
}

static void test_refused(void)
{
	owned(free_ptr) char *path = xasprintf("%s/first:/no/such", scratch.dir);
	owned(str_done) struct str out = STR_INIT;
	owned(str_done) struct str dir_out = STR_INIT;
	owned(str_done) struct str text_out = STR_INIT;
	owned(free_ptr) char *text = scratch_path(&scratch, "plain-text");

	tap_is_int(run_words((const char *[3]){ "tool" }, path, &out), 126,
		   "found, but not executable, wins over not found");
	tap_ok(str_starts(str_cstr(&out), "command_not_executable: tool: "), "%s", str_cstr(&out));
	tap_is_int(run_words((const char *[3]){ "/tmp" }, NULL, &dir_out), 126,
		   "a directory is 126");
	make_executable("plain-text", "echo no interpreter\n");
	tap_is_int(run_words((const char *[3]){ text }, NULL, &text_out), 126,
		   "a script without an interpreter is not handed to a shell");
}

/* Nothing but what the plan says. */
static void test_environment(void)
{
	owned(strv_done) struct strv command = STRV_INIT, env = STRV_INIT, no_env = STRV_INIT;
	owned(str_done) struct str out = STR_INIT;
	owned(str_done) struct str empty_out = STR_INIT;

	strv_add(&command, "/usr/bin/env");
	strv_add(&env, "A=1");
	strv_add(&env, "B=two words");
	tap_is_int(run(&command, &env, &out), 0, "env runs");
	tap_is_str(str_cstr(&out), "A=1\nB=two words\n", "it sees the variables given");
	(void)run(&command, &no_env, &empty_out);
	tap_is_str(str_cstr(&empty_out), "", "none when there are none");
}

int main(void)
{
	scratch_open(&scratch);
	test_exact_words();
	test_search();
	test_not_found();
	test_refused();
	test_environment();
	scratch_close(&scratch);
	return tap_done();
}
