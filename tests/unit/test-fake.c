/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver: scripts are played through the vtable as the run layer does it. */
#include "base/core/own.h"
#include "driver/driver.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* One script on its way: the spec it comes from, the task, and what it printed. */
struct play {
	struct spec spec;
	struct task *task;
	int read_fds[2];
	struct str printed[2];
};

static void play_begin(struct play *play, const char *const *words)
{
	const struct driver *driver = driver_find("fake");
	struct driver_io io = { .fds = { -1, -1, -1 } };
	struct error err = { .code = ERROR_NONE };

	*play = (struct play){ .task = NULL };
	spec_init(&play->spec);
	for (; *words; words++)
		strv_add(&play->spec.command, *words);
	play->spec.limits.mem_bytes = 4096;
	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			tap_bail("pipe");
		play->read_fds[i] = ends[0];
		(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
		io.fds[i + 1] = ends[1];
	}
	if (driver->check(&play->spec, &err) < 0 ||
	    driver->start(&play->spec, &io, &play->task, &err) < 0)
		tap_bail(err.text);
	close(io.fds[1]);
	close(io.fds[2]);
}

static void drain(struct play *play)
{
	char chunk[8192];
	ssize_t got;

	for (int i = 0; i < 2; i++) {
		while ((got = read(play->read_fds[i], chunk, sizeof(chunk))) > 0)
			str_add_bytes(&play->printed[i], chunk, (size_t)got);
	}
}

/* Steps until the end or until STEPS waits were over. */
static void play_on(struct play *play, int steps)
{
	const struct driver *driver = play->task->driver;
	struct pollfd ready = { .fd = driver->poll_fd(play->task), .events = POLLIN };

	for (; steps > 0 && play->task->state != TASK_ENDED; steps--) {
		if (poll(&ready, 1, 120000) == 1)
			driver->step(play->task);
		drain(play);
	}
}

static void play_end(struct play *play)
{
	play->task->driver->free(play->task);
	for (int i = 0; i < 2; i++) {
		close(play->read_fds[i]);
		str_done(&play->printed[i]);
	}
	spec_done(&play->spec);
}

#define PLAY(play, ...) play_begin(play, (const char *const[]){ __VA_ARGS__, NULL })

static void test_endings(void)
{
	struct play play;

	PLAY(&play, "exit", "3");
	tap_ok(play.task->state == TASK_STARTING, "a started task is starting");
	play_on(&play, 10);
	tap_ok(WIFEXITED(play.task->wait_status) && WEXITSTATUS(play.task->wait_status) == 3,
	       "exit N");
	tap_is_str(play.task->isolation, "none", "it isolates nothing and says so");
	play_end(&play);

	PLAY(&play, "signal", "15");
	play_on(&play, 10);
	tap_ok(WIFSIGNALED(play.task->wait_status) && WTERMSIG(play.task->wait_status) == SIGTERM,
	       "signal N");
	play_end(&play);

	PLAY(&play, "print", "x");
	play_on(&play, 10);
	tap_is_int(play.task->wait_status, 0, "no ending exits 0");
	play_end(&play);

	PLAY(&play, "frobnicate");
	play_on(&play, 10);
	tap_is_int(play.task->error.code, ERROR_EXEC_NOT_FOUND, "another word is not found");
	play_end(&play);

	PLAY(&play, "fail", "no room");
	play_on(&play, 10);
	tap_is_str(play.task->error.text, "no room", "fail TEXT");
	play_end(&play);
}

static void test_output(void)
{
	struct play play;

	PLAY(&play, "print", "out", "error", "bad", "exit", "1");
	play_on(&play, 10);
	tap_is_str(str_cstr(&play.printed[0]), "out\n", "print goes to stdout");
	tap_is_str(str_cstr(&play.printed[1]), "bad\n", "error goes to stderr");
	play_end(&play);

	PLAY(&play, "flood", "300001", "print", "end");
	play_on(&play, 1000);
	tap_is_int((long long)play.printed[0].len, 300005, "a flood larger than the pipe arrives");
	play_end(&play);
}

static void test_time(void)
{
	struct play play;

	PLAY(&play, "sleep", "20", "exit", "0");
	play_on(&play, 1);
	tap_ok(play.task->state == TASK_RUNNING, "sleeping is running");
	play_on(&play, 1);
	tap_ok(play.task->state == TASK_ENDED, "it ends when the sleep is over");
	play_end(&play);

	PLAY(&play, "hang");
	play_on(&play, 1);
	play.task->driver->kill(play.task);
	play_on(&play, 5);
	tap_is_int(play.task->wait_status, SIGKILL, "hang ends by kill");
	play_end(&play);

	PLAY(&play, "hang");
	play_end(&play);
	tap_ok(true, "a running task can be freed");
}

static void test_usage(void)
{
	struct play play;
	struct task_usage usage;

	PLAY(&play, "use", "cpu", "7", "use", "memory", "9000", "deny", "net", "connect", "deny",
	     "net", "connect");
	play_on(&play, 5);
	play.task->driver->sample(play.task, &usage);
	tap_is_int((long long)usage.cpu_us, 7000, "use cpu");
	tap_is_int((long long)usage.peak_memory_bytes, 9000, "use memory");
	tap_is_int((long long)play.task->denials.count, 1, "equal denials are counted together");
	play_end(&play);

	PLAY(&play, "oom");
	play_on(&play, 5);
	play.task->driver->sample(play.task, &usage);
	tap_ok(usage.oom_kills == 1 && usage.peak_memory_bytes == 4096, "oom");
	play_end(&play);
}

static void test_refusals(void)
{
	const struct driver *driver = driver_find("fake");
	struct error err;
	struct spec spec;

	spec_init(&spec);
	tap_ok(driver->check(&spec, &err) < 0 && err.code == ERROR_USAGE,
	       "an empty script is refused");
	strv_add(&spec.command, "exit");
	spec.require = 1u << LAYER_SECCOMP;
	tap_ok(driver->check(&spec, &err) < 0 && err.code == ERROR_DENIED &&
		       strstr(err.text, "seccomp"),
	       "a required layer is refused by name");
	spec_done(&spec);
	tap_ok(driver_find("nothing") == NULL, "unknown drivers are not found");
}

static void test_pty(void)
{
	const struct driver *driver = driver_find("fake");
	struct driver_io io = { .fds = { -1, -1, -1 }, .tty = { true, true, true } };
	struct error err = { .code = ERROR_NONE };
	struct task *task = NULL;
	struct spec spec;
	char got[16] = "";

	spec_init(&spec);
	strv_add(&spec.command, "print");
	strv_add(&spec.command, "hi");
	if (driver->start(&spec, &io, &task, &err) < 0)
		tap_bail(err.text);
	driver->step(task);
	tap_ok(read(task->pty_master, got, sizeof(got) - 1) == 4 && strcmp(got, "hi\r\n") == 0,
	       "on a terminal the script prints through a pty");
	driver->free(task);
	spec_done(&spec);
}

int main(void)
{
	test_endings();
	test_output();
	test_time();
	test_usage();
	test_refusals();
	test_pty();
	return tap_done();
}
