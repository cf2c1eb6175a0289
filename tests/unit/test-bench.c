/* SPDX-License-Identifier: Apache-2.0 */
/* `bench` with a program that isolates nothing: walls and limits must be called broken, not held. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/doctor/bench.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Runs the command as it is; asked for data, claims that all went well. */
static const char stub[] =
	"#!/bin/sh\n"
	"case $2 in\n"
	"--json) echo "
	"'{\"status\":\"success\",\"exit_code\":0,\"limits_hit\":[],\"truncated\":false}' ;;\n"
	"*) shift 2; exec \"$@\" ;;\n"
	"esac\n";

/* As above, but every limit is told and no command is run at all. */
static const char mute[] =
	"#!/bin/sh\n"
	"[ \"$2\" = --json ] || [ \"$3\" = /bin/true ] || exit 125\n"
	"[ \"$2\" != --json ] || echo '{\"status\":\"limit\",\"exit_code\":1,\"truncated\":true,"
	"\"limits_hit\":[\"mem\",\"pids\",\"disk\",\"time\",\"cpu-time\"]}'\n";

/* Without compilers, so that a unit test does not wait for them. */
static const char *const tools[] = { "sh",   "cat", "grep", "rm",   "ls",
				     "find", "wc",  "test", "kill", NULL };

static void put(const char *dir, const char *name, const char *text)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		tap_bail("no scratch file");
}

static void clean(const char *dir)
{
	static const char *const made[] = { "aisbx", "mute" };

	for (size_t i = 0; tools[i]; i++) {
		owned(free_ptr) char *path = xasprintf("%s/%s", dir, tools[i]);

		(void)unlink(path);
	}
	for (size_t i = 0; i < 2; i++) {
		owned(free_ptr) char *path = xasprintf("%s/%s", dir, made[i]);

		(void)unlink(path);
	}
	tap_ok(rmdir(dir) == 0, "nothing is left in HOME or the scratch directory");
}

static const char *state_of(const struct value *answer, const char *part, const char *name)
{
	const struct value *rows = value_get(answer, part);

	for (size_t i = 0; rows && i < rows->many.count; i++) {
		const char *found = value_get_text(rows->many.items[i], "name");

		if (found && strstr(found, name))
			return value_get_text(rows->many.items[i], "state");
	}
	return NULL;
}

static unsigned told;

static void count_progress(const char *what)
{
	told += what != NULL;
}

static struct value *bench_with(const char *program, const char *const *env)
{
	struct bench_options options = { .program = program,
					 .starts = 4,
					 .builds = 1,
					 .environ = env,
					 .progress = count_progress };
	struct value *answer = NULL;
	struct error err = { .text = "" };

	if (app_bench(&options, &answer, &err) < 0)
		printf("# %s\n", err.text);
	return answer;
}

static void test_no_isolation(const char *dir, const char *const *env)
{
	owned(free_ptr) char *program = xasprintf("%s/aisbx", dir);
	owned(value_release) struct value *answer = bench_with(program, env);
	int64_t broken = 0;

	if (!tap_ok(answer != NULL, "it measures any program that takes `run`"))
		return;
	tap_is_int((long long)value_get(answer, "starts")->many.count, 4,
		   "two kinds of start, each with and without rests");
	tap_is_str(state_of(answer, "checks", "memory"), "broken",
		   "a limit that is not told is broken");
	tap_is_str(state_of(answer, "checks", "output"), "broken",
		   "output that is not cut is broken");
	tap_is_str(state_of(answer, "checks", "by its name"), "broken",
		   "a secret that can be read is broken");
	tap_is_str(state_of(answer, "checks", "a descriptor left open"), "broken",
		   "a descriptor that leaks is broken");
	tap_is_str(state_of(answer, "checks", "delete a file"), "broken",
		   "a deleted file is broken");
	tap_is_str(state_of(answer, "checks", "connect to a server"), "skipped",
		   "a missing tool is a reason to skip");
	tap_is_str(state_of(answer, "builds", "Go"), "skipped",
		   "a missing compiler is a reason to skip");
	(void)value_get_int(answer, "broken", &broken);
	tap_ok(broken >= 10, "broken ones are counted (%lld)", (long long)broken);
	tap_ok(told > 20, "what is under way is told");
}

static void test_claims(const char *dir, const char *const *env)
{
	owned(free_ptr) char *program = xasprintf("%s/mute", dir);
	owned(value_release) struct value *answer = bench_with(program, env);

	if (!tap_ok(answer != NULL, "it measures a program that only claims"))
		return;
	tap_is_str(state_of(answer, "checks", "memory"), "held", "a limit that is told holds");
	tap_is_str(state_of(answer, "checks", "output"), "held", "output that is cut holds");
	tap_is_str(state_of(answer, "checks", "by its name"), "broken",
		   "an attack that was never started is not an attack that failed");
}

int main(void)
{
	char dir[] = "/tmp/aisbx-test-bench-XXXXXX";
	owned(free_ptr) char *home = NULL, *path = NULL, *scratch = NULL;

	if (!mkdtemp(dir))
		tap_bail("no scratch directory");
	home = xasprintf("HOME=%s", dir);
	path = xasprintf("PATH=%s", dir);
	scratch = xasprintf("TMPDIR=%s", dir);
	put(dir, "aisbx", stub);
	put(dir, "mute", mute);
	for (size_t i = 0; tools[i]; i++) {
		owned(free_ptr) char *link = xasprintf("%s/%s", dir, tools[i]);
		owned(free_ptr) char *target = xasprintf("/usr/bin/%s", tools[i]);

		if (symlink(target, link) < 0)
			tap_bail("no link");
	}
	test_no_isolation(dir, (const char *const[]){ home, path, scratch, NULL });
	test_claims(dir, (const char *const[]){ home, path, scratch, NULL });
	tap_ok(bench_with("/nonexistent/aisbx",
			  (const char *const[]){ home, path, scratch, NULL }) == NULL,
	       "a program that cannot be started is an error");
	clean(dir);
	return tap_done();
}
