/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver: plays a script instead of starting anything, for tests and demonstrations.
 *
 * The command's words are the script, played in order: `print TEXT`, `error TEXT` (to stderr),
 * `flood BYTES`, `sleep MS`, `deny LAYER WHAT`, `use memory BYTES`, `use cpu MS`, and to end it
 * `exit N`, `signal N`, `oom`, `hang`, `fail TEXT` (the start fails). Without an ending it exits 0.
 * Any other word is a command that was not found.
 *
 * No process is started, so there is nothing to isolate: isolation is "none", no layer holds, and a
 * required one is refused. One timerfd is all there is to poll: it fires at once, when a sleep is
 * over, when a full pipe may have room again, or when the task is killed. step() never blocks.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "driver/driver.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

extern const struct driver driver_fake;

struct fake_task {
	struct task base; /* first: the run layer sees only this */
	const struct spec *spec;
	int outputs[2];
	int timer_fd;
	size_t at;	    /* next word of the script */
	struct str pattern; /* what is being printed, over and over until `owed` is 0 */
	uint64_t printed, owed;
	int which; /* of the outputs */
	bool killed;
	struct task_usage usage;
};

/* What a step of the script leaves behind. */
enum next { NEXT_WORD, NEXT_WAIT, NEXT_END };

static struct fake_task *fake_of(struct task *task)
{
	return (struct fake_task *)task;
}

static const char *take_word(struct fake_task *fake)
{
	const struct strv *script = &fake->spec->command;

	return fake->at < script->count ? script->items[fake->at++] : NULL;
}

static uint64_t take_number(struct fake_task *fake)
{
	const char *word = take_word(fake);

	return word ? strtoull(word, NULL, 10) : 0;
}

/* Fires the timer after MS; 0 would disarm it, so "now" is one nanosecond. */
static void fire_after(struct fake_task *fake, uint64_t ms)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = ms ? (long)(ms % 1000 * 1000000) : 1 },
	};

	(void)timerfd_settime(fake->timer_fd, 0, &when, NULL);
}

/* Writes what is owed as far as it goes without blocking. */
static enum next play_owed(struct fake_task *fake)
{
	int fd = fake->outputs[fake->which];

	while (fake->owed > 0 && fd >= 0) {
		size_t offset = (size_t)(fake->printed % fake->pattern.len);
		size_t len = fake->pattern.len - offset;
		ssize_t done;

		/* A pipe that polls writable takes PIPE_BUF bytes without blocking. */
		if (fd_wait(fd, POLLOUT, 0) != POLLOUT) {
			fire_after(fake, 1);
			return NEXT_WAIT;
		}
		len = len < PIPE_BUF ? len : PIPE_BUF;
		len = len < fake->owed ? len : (size_t)fake->owed;
		done = write(fd, fake->pattern.data + offset, len);
		if (done < 0)
			break;
		fake->printed += (uint64_t)done;
		fake->owed -= (uint64_t)done;
	}
	/* A reader that went away is the run layer's business, not ours. */
	fake->owed = 0;
	return NEXT_WORD;
}

static enum next start_print(struct fake_task *fake, int which, uint64_t bytes)
{
	fake->which = which;
	fake->printed = 0;
	fake->owed = bytes;
	return play_owed(fake);
}

static enum next print_word(struct fake_task *fake, int which)
{
	const char *text = take_word(fake);

	str_clear(&fake->pattern);
	str_add(&fake->pattern, text ? text : "");
	str_add_char(&fake->pattern, '\n');
	return start_print(fake, which, fake->pattern.len);
}

static enum next play_print(struct fake_task *fake)
{
	return print_word(fake, 0);
}

static enum next play_error(struct fake_task *fake)
{
	return print_word(fake, 1);
}

static enum next play_flood(struct fake_task *fake)
{
	str_clear(&fake->pattern);
	for (size_t i = 0; i < PIPE_BUF / 2; i++)
		str_add(&fake->pattern, "y\n");
	return start_print(fake, 0, take_number(fake));
}

static enum next play_sleep(struct fake_task *fake)
{
	fire_after(fake, take_number(fake));
	return NEXT_WAIT;
}

static enum next play_hang(struct fake_task *fake)
{
	(void)fake;
	return NEXT_WAIT;
}

static enum next play_deny(struct fake_task *fake)
{
	const char *layer = take_word(fake), *what = take_word(fake);

	denials_add(&fake->base.denials, layer ? layer : "fake", what ? what : "something",
		    "scripted", "take it out of the script");
	return NEXT_WORD;
}

static enum next play_use(struct fake_task *fake)
{
	const char *what = take_word(fake);
	uint64_t amount = take_number(fake);

	if (what && strcmp(what, "cpu") == 0)
		fake->usage.cpu_us += amount * 1000;
	else if (amount > fake->usage.peak_memory_bytes)
		fake->usage.peak_memory_bytes = amount;
	return NEXT_WORD;
}

static enum next play_exit(struct fake_task *fake)
{
	fake->base.wait_status = (int)(take_number(fake) & 0xff) << 8;
	return NEXT_END;
}

static enum next play_signal(struct fake_task *fake)
{
	fake->base.wait_status = (int)(take_number(fake) & 0x7f);
	return NEXT_END;
}

static enum next play_oom(struct fake_task *fake)
{
	fake->usage.oom_kills++;
	fake->usage.peak_memory_bytes = fake->spec->limits.mem_bytes;
	fake->base.wait_status = SIGKILL;
	return NEXT_END;
}

static enum next play_fail(struct fake_task *fake)
{
	const char *text = take_word(fake);

	error_set(&fake->base.error, ERROR_DENIED, "%s", text ? text : "scripted refusal");
	return NEXT_END;
}

static const struct {
	const char *word;
	enum next (*play)(struct fake_task *fake);
} steps[] = {
	{ "print", play_print }, { "error", play_error }, { "flood", play_flood },
	{ "sleep", play_sleep }, { "hang", play_hang },	  { "deny", play_deny },
	{ "use", play_use },	 { "exit", play_exit },	  { "signal", play_signal },
	{ "oom", play_oom },	 { "fail", play_fail },
};

static enum next play_word(struct fake_task *fake, const char *word)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strcmp(steps[i].word, word) == 0)
			return steps[i].play(fake);
	}
	error_set(&fake->base.error, ERROR_EXEC_NOT_FOUND, "%s: command not found", word);
	return NEXT_END;
}

static void close_outputs(struct fake_task *fake)
{
	for (int i = 0; i < 2; i++)
		fd_close(&fake->outputs[i]);
}

static void finish(struct fake_task *fake)
{
	fake->base.state = TASK_ENDED;
	/* The readers see the end of the streams, as when a process exits. */
	close_outputs(fake);
	/* Ended stays readable, so that a late poll still sees it. */
	fire_after(fake, 0);
}

static void fake_step(struct task *task)
{
	struct fake_task *fake = fake_of(task);
	enum next next;
	uint64_t ticks;
	const char *word;

	if (task->state == TASK_ENDED)
		return;
	(void)!read(fake->timer_fd, &ticks, sizeof(ticks));
	if (fake->killed) {
		task->wait_status = SIGKILL;
		finish(fake);
		return;
	}
	task->state = TASK_RUNNING;
	next = play_owed(fake);
	while (next == NEXT_WORD) {
		word = take_word(fake);
		next = word ? play_word(fake, word) : NEXT_END;
	}
	if (next == NEXT_END)
		finish(fake);
}

static int fake_check(const struct spec *spec, struct error *err)
{
	if (spec->command.count == 0)
		return error_set(err, ERROR_USAGE, "the fake driver needs a script");
	/* Nothing real runs, so nothing can be harmed: only what was demanded is refused. */
	for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
		if (spec->require & 1u << layer)
			return error_set(err, ERROR_DENIED,
					 "--require %s: the fake driver enforces nothing",
					 layer_name((enum layer)layer));
	}
	return 0;
}

static void fake_free(struct task *task)
{
	struct fake_task *fake = fake_of(task);

	if (!task)
		return;
	fd_close(&fake->timer_fd);
	fd_close(&task->pty_master);
	close_outputs(fake);
	str_done(&fake->pattern);
	strv_done(&task->layers);
	denials_done(&task->denials);
	free(fake);
}

/* Streams of our own, closed when the script ends; a pty where one is asked for. */
static int open_outputs(struct fake_task *fake, const struct driver_io *io, struct error *err)
{
	owned(fd_close) int slave = -1;

	if (io->tty[1] || io->tty[2]) {
		fake->base.pty_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (fake->base.pty_master < 0 || unlockpt(fake->base.pty_master) < 0)
			return error_errno(err, ERROR_HOST, "pty for the fake driver");
		slave = ioctl(fake->base.pty_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (slave < 0)
			return error_errno(err, ERROR_HOST, "pty for the fake driver");
	}
	for (int i = 0; i < 2; i++) {
		int from = io->tty[i + 1] ? slave : io->fds[i + 1];

		if (from >= 0)
			fake->outputs[i] = fcntl(from, F_DUPFD_CLOEXEC, 3);
	}
	return 0;
}

static int fake_start(const struct spec *spec, const struct driver_io *io, struct task **ret_task,
		      struct error *err)
{
	struct fake_task *fake = xcalloc(1, sizeof(*fake));

	fake->base = (struct task){ .driver = &driver_fake,
				    .state = TASK_STARTING,
				    .pty_master = -1,
				    .upper_fd = -1,
				    .isolation = "none" };
	fake->spec = spec;
	fake->outputs[0] = fake->outputs[1] = -1;
	fake->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fake->timer_fd < 0) {
		fake_free(&fake->base);
		return error_errno(err, ERROR_HOST, "timer for the fake driver");
	}
	if (open_outputs(fake, io, err) < 0) {
		fake_free(&fake->base);
		return -1;
	}
	fire_after(fake, 0);
	*ret_task = &fake->base;
	return 0;
}

static int fake_poll_fd(const struct task *task)
{
	return ((const struct fake_task *)task)->timer_fd;
}

static void fake_kill(struct task *task)
{
	struct fake_task *fake = fake_of(task);

	if (task->state == TASK_ENDED)
		return;
	fake->killed = true;
	fire_after(fake, 0);
}

static void fake_sample(struct task *task, struct task_usage *ret_usage)
{
	*ret_usage = fake_of(task)->usage;
}

const struct driver driver_fake = {
	.name = "fake",
	.isolation = "none",
	.strength = DRIVER_NONE,
	.lacks = "everything: nothing runs",
	.summary = "plays a script instead of running anything: for tests and demonstrations",
	.check = fake_check,
	.start = fake_start,
	.poll_fd = fake_poll_fd,
	.step = fake_step,
	.kill = fake_kill,
	.sample = fake_sample,
	.free = fake_free,
};
