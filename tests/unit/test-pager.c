/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the pager: which one is started, that it gets every byte, and what happens when it leaves. */
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "front/cli/pager.h"

#include <errno.h>
#include <fcntl.h>

static bool starts(const char *pager_variable, const char *terminal)
{
	const char *const env[] = { pager_variable, terminal, NULL };
	struct pager pager;
	struct error err = { 0 };
	bool started = pager_start(&pager, env);

	if (started)
		(void)pager_finish(&pager, &err);
	return started;
}

static void test_choice(void)
{
	tap_ok(!starts("PAGER=", "TERM=xterm"), "an empty PAGER means none");
	tap_ok(!starts("PAGER=cat", "TERM=xterm"), "and so does cat");
	tap_ok(!starts("PAGER=true", "TERM=dumb"), "a terminal that can do nothing needs none");
	tap_ok(!starts("PAGER=true", NULL), "nor does none at all");
	tap_ok(starts("PAGER=true", "TERM=xterm"), "else PAGER is started");
}

static void test_bytes(const char *directory)
{
	owned(free_ptr) char *command =
		xasprintf("PAGER=cat >%s/out; echo $LESS >>%s/out", directory, directory);
	owned(free_ptr) char *path = xasprintf("%s/out", directory);
	const char *const env[] = { command, "TERM=xterm", "PATH=/usr/bin:/bin", NULL };
	owned(str_done) struct str got = STR_INIT;
	struct pager pager;
	struct error err = { 0 };

	if (!tap_ok(pager_start(&pager, env), "a command with words is started"))
		return;
	tap_ok(pager_write(&pager, "one\n", 4) == 0 && pager_write(&pager, "two\n", 4) == 0,
	       "takes what is written");
	tap_is_int(pager_finish(&pager, &err), 0, "and ends");
	tap_is_int(file_read(AT_FDCWD, path, 1000, &got, &err), 0, "it got something");
	tap_is_str(str_cstr(&got), "one\ntwo\nFRX\n", "all of it, and how less should behave");
}

static void test_leaving(void)
{
	const char *const env[] = { "PAGER=exec <&-; :", "TERM=xterm", "PATH=/usr/bin:/bin", NULL };
	owned(free_ptr) char *much = xcalloc(1, 1 << 20);
	struct pager pager;
	struct error err = { 0 };
	struct sigaction before, now;

	/* Whoever started us may have it ignored. */
	(void)sigaction(SIGINT, NULL, &before);
	if (!tap_ok(pager_start(&pager, env), "one that reads nothing"))
		return;
	tap_ok(pager_write(&pager, much, 1 << 20) < 0 && errno == EPIPE, "is seen to have left");
	tap_is_int(pager_finish(&pager, &err), 0, "which is no failure");
	(void)sigaction(SIGINT, NULL, &now);
	tap_ok(now.sa_handler == before.sa_handler, "interrupts are what they were");
}

static void test_missing(void)
{
	const char *const env[] = { "PAGER=/nonexistent/pager", "TERM=xterm", NULL };
	struct pager pager;
	struct error err = { 0 };

	if (!tap_ok(pager_start(&pager, env), "one that is not there"))
		return;
	tap_ok(pager_finish(&pager, &err) < 0 && strstr(err.text, "PAGER"), "is a failure: %s",
	       err.text);
}

int main(void)
{
	struct scratch scratch;

	scratch_open(&scratch);
	test_choice();
	test_bytes(scratch.dir);
	test_leaving();
	test_missing();
	scratch_close(&scratch);
	return tap_done();
}
