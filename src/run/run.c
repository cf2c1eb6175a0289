/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: planned, starting, running, stopping, ended.
 *
 * A single poll loop moves the streams, lets the driver step, keeps the deadlines and listens for signals. The first end
 * decides: the command by itself, a limit, or a signal to us. Then the layers are looked at, the streams are drained and
 * the result is filled.
 */
#include "run/run.h"

#include "base/core/clock.h"
#include "base/core/die.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "run/ending.h"
#include "run/live.h"
#include "run/log.h"
#include "run/stdio.h"
#include "run/verdict.h"
#include "run/watch.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* How long to wait for a caller that does not read, once a limit or a signal has ended the run. */
#define PATIENCE_MS 2000

struct run {
	const struct driver *driver;
	const struct spec *spec;
	const struct run_options *options;
	struct run_result *result;
	struct task *task;
	struct stdio stdio;
	struct run_log log;
	struct watch watch;
	struct live live;
	uint64_t sampled; /* samples kept so far */
	unsigned warned;  /* enum watch_near: reported already */
	int signal_fd;
	sigset_t saved_mask;
	bool is_running; /* the command was executed */
	bool is_given_up;
	bool has_pty;
	uint64_t asked_ns, started_ns;
	uint64_t entered_ns; /* the driver was asked to start */
	enum watch_verdict stopped_by;
	struct ending ending;
};

static int listen_for_signals(struct run *run, struct error *err)
{
	sigset_t mask;

	process_handled_signals(&mask);
	sigprocmask(SIG_BLOCK, &mask, &run->saved_mask);
	run->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? error_errno(err, ERROR_HOST, "signalfd") : 0;
}

static void kill_all(struct run *run)
{
	run->ending.was_killed = true;
	run->driver->kill(run->task);
}

/* A task only moves on: starting, running, ended. */
static void step(struct run *run)
{
	enum task_state before = run->task->state;

	run->driver->step(run->task);
	invariant(run->task->state >= before);
}

/* The command may have been executed already, with the report of that still unread. */
static void catch_up(struct run *run)
{
	int fd = run->driver->poll_fd(run->task);

	while (run->task->state == TASK_STARTING && fd_wait(fd, POLLIN, 0) > 0)
		step(run);
}

/* Asks the command to end; where there is nothing to ask, or no time for it, everything ends now. */
static void end(struct run *run, int sig, uint64_t grace_ms)
{
	catch_up(run);
	if (run->task->state != TASK_RUNNING || !run->driver->end || grace_ms == 0) {
		kill_all(run);
		return;
	}
	run->driver->end(run->task, sig);
	ending_begin(&run->ending, clock_now_ns(), grace_ms);
}

static void handle_signal(struct run *run)
{
	struct signalfd_siginfo info;
	struct winsize size;

	if (read(run->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGPIPE)
		return; /* the failed write has reported it */
	if (info.ssi_signo == SIGWINCH) {
		if (run->driver->resize && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
			run->driver->resize(run->task, size.ws_row, size.ws_col);
		return;
	}
	if (info.ssi_signo == SIGCONT) {
		ending_continued(&run->ending);
		return;
	}
	if (!run->ending.signal)
		run->ending.signal = (int)info.ssi_signo;
	if (info.ssi_signo == SIGQUIT)
		kill_all(run);
	else if (run->ending.was_asked)
		ending_again(&run->ending, &info, clock_now_ns());
	else
		end(run, run->ending.signal, run->spec->limits.grace_ms);
}

/* One that came while we finished (a reader that went away is enough) must not end us before the record is kept. */
static void forget_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (run->signal_fd >= 0 && read(run->signal_fd, &info, sizeof(info)) > 0)
		;
	fd_close(&run->signal_fd);
}

static void note_progress(struct run *run)
{
	if (!run->is_running && run->task->state != TASK_STARTING &&
	    run->task->error.code == ERROR_NONE) {
		run->is_running = true;
		run->started_ns = run->task->began_ns ? run->task->began_ns : clock_now_ns();
		run->watch.has_group = !(run->task->degraded & (1u << LAYER_LIMITS));
		run->watch.has_disk |= (run->task->degraded & (1u << LAYER_DISK)) != 0;
		watch_started(&run->watch);
	}
	if (!run->has_pty && run->task->pty_master >= 0) {
		run->has_pty = true;
		stdio_take_pty(&run->stdio, run->task);
	}
}

/* Until the next deadline or look, whichever comes first. False: without end. */
static bool patience(const struct run *run, struct timespec *ret_wait)
{
	int watch_ms = watch_timeout_ms(&run->watch);
	uint64_t wait = watch_ms < 0 ? UINT64_MAX : (uint64_t)watch_ms * 1000000;
	const uint64_t looks[] = { stdio_next_look_ns(&run->stdio), ending_next_ns(&run->ending) };
	uint64_t now = clock_now_ns();

	if (!run->is_running && run->driver->answer_ms)
		wait = (uint64_t)run->driver->answer_ms * 1000000;
	for (size_t i = 0; i < 2; i++) {
		if (looks[i] && (looks[i] <= now || looks[i] - now < wait))
			wait = looks[i] <= now ? 0 : looks[i] - now;
	}
	*ret_wait = (struct timespec){ (time_t)(wait / 1000000000), (long)(wait % 1000000000) };
	return wait != UINT64_MAX;
}

/* A limit is reported when it is near, while something can still be done about it. */
static void note_nearness(struct run *run)
{
	static const struct {
		enum watch_near near;
		const char *text;
	} rows[] = {
		{ NEAR_TIME, "four fifths of its time were used" },
		{ NEAR_CPU_TIME, "four fifths of its processor time were used" },
		{ NEAR_MEMORY, "it came to four fifths of its memory" },
		{ NEAR_PIDS, "it came to four fifths of its processes" },
		{ NEAR_DISK, "it came to four fifths of its disk space" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((run->watch.near & rows[i].near) && !(run->warned & rows[i].near))
			strv_add(&run->result->warnings, rows[i].text);
	}
	run->warned = run->watch.near;
}

/* What the last look measured: kept, shown by `top`, and compared with the limits. */
static void take_sample(struct run *run)
{
	const struct task_usage *usage = &run->watch.usage;
	const struct usage_sample sample = {
		.at_ms = (clock_now_ns() - run->watch.started_ns) / 1000000,
		.cpu_us = usage->cpu_us,
		.memory_bytes = usage->memory_bytes,
		.pids = usage->pids,
		.disk_bytes = usage->disk_bytes,
	};

	if (run->sampled == run->watch.sampled)
		return;
	run->sampled = run->watch.sampled;
	samples_add(&run->result->samples, &sample);
	live_update(&run->live, usage);
	if (run->sampled == 1 && run->live.fd >= 0 && run->driver->listen)
		run->driver->listen(run->task, run->live.dir_fd);
	note_nearness(run);
}

/* The process that has to start the command is silent: probably stopped, for an unknown time. */
static void give_up(struct run *run)
{
	uint64_t limit_ns = (uint64_t)run->driver->answer_ms * 1000000;

	if (!limit_ns || run->is_running || clock_now_ns() - run->entered_ns < limit_ns)
		return;
	error_set(&run->task->error, ERROR_HOST,
		  "the sandbox '%s' does not answer: another call has frozen it, or its supervisor "
		  "is halted or stuck",
		  run->spec->sandbox);
	(void)error_add_hint(
		&run->task->error,
		"try again later; `aisbx stop %s` ends all in it, and the next exec starts it anew",
		run->spec->sandbox);
	run->task->state = TASK_ENDED;
	run->is_given_up = true;
}

static void attend(struct run *run, bool is_ready)
{
	const struct run_log *log = &run->log;
	const struct run_news news = { .is_ready = is_ready,
				       .has_started = run->is_running,
				       .kept_out = log->kept_out,
				       .kept_err = log->kept - log->kept_out };
	int sig = run->options->control->attend(&news, run->options->control->cookie);

	if (sig && run->task->state == TASK_RUNNING && run->driver->signal)
		run->driver->signal(run->task, sig);
}

/* As they come: a program may try again for minutes before it ends. */
static void report_denials(struct run *run)
{
	const struct denials *all = &run->task->denials;
	size_t *told = &run->result->denials_shown;

	if (!run->options->denied)
		return;
	for (; *told < all->count && *told < RUN_DENIALS_TOLD; (*told)++) {
		owned(denials_done) struct denials one = { 0 };

		denials_add_like(&one, &all->items[*told]);
		verdict_scrub(&run->stdio.words, &one);
		run->options->denied(&one.items[0], run->options->denied_cookie);
	}
}

/* A limit was met. Only that of time leaves the command a moment, and only where the caller wants it so. */
static void stop(struct run *run, enum watch_verdict by)
{
	run->stopped_by = by;
	if (by != WATCH_TIME || run->ending.was_asked) {
		kill_all(run);
		return;
	}
	watch_time_is_over(&run->watch);
	end(run, SIGTERM, run->spec->limits.time_grace_ms);
}

static void keep_bounds(struct run *run)
{
	enum watch_verdict verdict = watch_look(&run->watch, run->task);

	take_sample(run);
	if (verdict != WATCH_GO_ON)
		stop(run, verdict);
	else if (ending_is_due(&run->ending, clock_now_ns()))
		kill_all(run);
}

static void turn(struct run *run)
{
	struct run_control *control = run->options->control;
	struct pollfd polls[3 + STDIO_POLLS];
	struct timespec wait;
	size_t count;

	polls[0] = (struct pollfd){ .fd = run->driver->poll_fd(run->task), .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = run->signal_fd, .events = POLLIN };
	polls[2] = (struct pollfd){ .fd = control ? control->fd : -1, .events = POLLIN };
	count = stdio_polls(&run->stdio, polls + 3);
	if (ppoll(polls, 3 + count, patience(run, &wait) ? &wait : NULL, NULL) < 0)
		return;
	if (polls[0].revents)
		step(run);
	report_denials(run);
	note_progress(run);
	stdio_move(&run->stdio, polls + 3, count, clock_now_ns());
	if (polls[1].revents)
		handle_signal(run);
	if (control)
		attend(run, polls[2].revents != 0);
	if (run->task->state == TASK_STARTING)
		give_up(run);
	if (run->task->state == TASK_ENDED)
		return;
	keep_bounds(run);
}

/* The command could not be executed, or its sandbox was killed: that is the run's outcome, not a failure of ours. */
static bool is_outcome(const struct task *task)
{
	return task->error.code == ERROR_EXEC_NOT_FOUND || task->error.code == ERROR_EXEC_REFUSED ||
	       task->stopped_by == TASK_KILLED;
}

/* Whether a reader of the output does not get all of it. */
static bool is_truncated(const struct run *run)
{
	const struct run_result *result = run->result;

	if (run->options->control)
		return result->out.bytes + result->err.bytes > run->log.kept;
	return run->options->capture && (result->out.bytes > result->out.kept.len ||
					 result->err.bytes > result->err.kept.len);
}

/* A file that took no more, as on a full disk: the command does not know, so its success is none. */
static void report_lost(const struct run *run)
{
	const struct stream *const streams[] = { &run->stdio.out, &run->stdio.err };
	struct run_result *result = run->result;

	for (size_t i = 0; i < 2; i++) {
		if (!streams[i]->lost_errno)
			continue;
		strv_addf(&result->notes, "%s: %s: not all that was written has arrived there",
			  i ? "stderr" : "stdout", error_words(streams[i]->lost_errno));
		if (result->status != RUN_SUCCESS)
			continue;
		result->status = RUN_INTERNAL;
		result->exit_code = error_run_exit_status(ERROR_HOST);
	}
}

static int finish(struct run *run, struct error *err)
{
	struct run_result *result = run->result;
	struct task_usage usage;
	struct verdict_facts facts = { run->task,	run->spec,    &usage,
				       run->stopped_by, &run->ending, run->watch.pids_full };
	uint64_t now = run->task->ended_ns ? run->task->ended_ns : clock_now_ns();

	run->driver->sample(run->task, &usage);
	bool is_cut_short =
		run->stopped_by != WATCH_GO_ON || run->ending.signal || run->is_given_up;

	stdio_finish(&run->stdio, is_cut_short ? PATIENCE_MS : -1, run->signal_fd);
	result->duration_ms = (double)(now - (run->started_ns ? run->started_ns : now)) / 1e6;
	result->start_ms =
		(double)((run->started_ns ? run->started_ns : now) - run->asked_ns) / 1e6;
	result->truncated = is_truncated(run);
	verdict_fill(&facts, result);
	report_lost(run);
	verdict_scrub(&run->stdio.words, &result->denials);
	if (run->task->error.code == ERROR_NONE || run->ending.signal) {
		if (run->options->inspect)
			run->options->inspect(run->task, result, run->options->cookie);
		/* Names of files are made of anything. */
		for (size_t i = 0; i < result->changed.count; i++)
			scrub_text(&run->stdio.words, &result->changed.items[i]);
		return 0;
	}
	result->message = xstrdup(run->task->error.text);
	if (is_outcome(run->task)) {
		result->status = run->task->stopped_by == TASK_KILLED ? RUN_KILLED : RUN_ERROR;
		result->exit_code = error_run_exit_status(run->task->error.code);
		return 0;
	}
	*err = run->task->error;
	return -1;
}

static int refuse_secrets(const struct run *run, struct error *err)
{
	if (!run->options->secrets || run->driver->takes_secrets)
		return 0;
	return error_set(err, ERROR_DENIED, "--secret: the driver %s has no place for secrets",
			 run->driver->name);
}

static int run_task(struct run *run, struct error *err)
{
	if (run->driver->check(run->spec, err) < 0 || refuse_secrets(run, err) < 0)
		return -1;
	if (listen_for_signals(run, err) < 0 ||
	    stdio_open(&run->stdio, run->spec, run->options, run->result, &run->log, err) < 0)
		return -1;
	run->stdio.io.has_score = run->options->has_score;
	run->stdio.io.seen = run->options->seen;
	run->stdio.io.enter_fd = run->options->enter_fd;
	run->stdio.io.enter_env = run->options->enter_env;
	run->stdio.io.enter_user = run->options->enter_user;
	run->stdio.io.zygote_pool_fd = run->options->zygote_pool_fd;
	run->stdio.io.secrets = run->options->secrets;
	run->stdio.io.prestart = run->options->prestart;
	if (run->options->secrets || (run->options->hidden && run->options->hidden->count > 0))
		stdio_keep_out(&run->stdio, run->options->secrets, run->options->hidden);
	if (run->driver->start(run->spec, &run->stdio.io, &run->task, err) < 0)
		return -1;
	run->entered_ns = clock_now_ns();
	if (run->task->start && strcmp(run->task->start, "pool") == 0)
		watch_entered(&run->watch);
	stdio_started(&run->stdio);
	while (run->task->state != TASK_ENDED)
		turn(run);
	note_progress(run);
	return finish(run, err);
}

int run_execute(const struct driver *driver, const struct spec *spec,
		const struct run_options *options, struct run_result *result, struct error *err)
{
	struct run run = { .driver = driver,
			   .spec = spec,
			   .options = options,
			   .result = result,
			   .signal_fd = -1 };
	int status;

	run.asked_ns = options->asked_ns ? options->asked_ns : clock_now_ns();
	result->started_ms = clock_epoch_ms();
	run.stdio.out.from_fd = run.stdio.err.from_fd = -1;
	feed_init(&run.stdio.feed);
	for (int i = 0; i < 3; i++)
		run.stdio.child_fds[i] = -1;
	sigprocmask(SIG_SETMASK, NULL, &run.saved_mask);
	run_log_init(&run.log, spec->state_dir, spec->run_id, spec->limits.log_bytes);
	watch_init(&run.watch, spec);
	live_init(&run.live, spec, result->started_ms);
	status = run_task(&run, err);
	/* What the caller gave us was refused, or we failed. */
	if (status < 0)
		result->status = err->code == ERROR_HOST || err->code == ERROR_INTERNAL
					 ? RUN_INTERNAL
					 : RUN_DENIED;
	stdio_close(&run.stdio);
	if (run.task)
		driver->free(run.task);
	run_log_done(&run.log);
	live_done(&run.live);
	forget_signals(&run);
	sigprocmask(SIG_SETMASK, &run.saved_mask, NULL);
	return status;
}
