/* SPDX-License-Identifier: Apache-2.0 */
/* A batch: lines in, a process each, answers out in their order. */
#include "app/batch/batch.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "base/text/units.h"
#include "driver/zygote_pool.h"
#include "run/ending.h"
#include "app/batch/batch_line.h"
#include "app/batch/batch_worker.h"
#include "app/prepare/plan_context.h"
#include "app/vet/rego_evaluator.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define READ_SIZE 65536
/* Answers that wait for an earlier one, per job: a slow line holds others up only so far. */
#define WAITING_PER_JOB 16
/* Input, signals, the zygote pool, the reader of the answers; then two of each worker. */
#define POLLS_FIXED 4

struct job {
	uint64_t number; /* of its line */
	bool is_running; /* its answer is yet to come */
	struct str answer;
	bool has_run;
};

struct batch_hand {
	struct batch_worker worker;
	struct job *job; /* NULL: it has none */
};

struct batch {
	const struct app_batch *options;
	struct request base;
	struct batch_work work;
	unsigned jobs;
	struct batch_hand *hands; /* as many */
	struct job *ring;	  /* in the order of the lines */
	size_t ring_size, first, count, running;
	struct str input; /* read; lines before `at` are dealt with */
	size_t at;
	bool is_ended, is_skipping; /* the rest of a line that is too long */
	uint64_t number;
	bool has_begun;		/* its first line */
	const struct job *busy; /* the daemon refused that one, and so all; else NULL */
	int signal_fd;
	int out_fd; /* -1: not looked at any more */
	bool is_stopped, is_late, all_ran;
	uint64_t end_ns;		/* CLOCK_MONOTONIC; 0: none */
	uint64_t signalled_ns;		/* the same: the first signal to end */
	struct zygote_pool zygote_pool; /* zygotes for its lines */
	struct policy_keeper keeper;	/* an evaluator of policies for them */
};

static struct job *job_at(const struct batch *batch, size_t index)
{
	return &batch->ring[(batch->first + index) % batch->ring_size];
}

static void answer_error(struct job *job, const struct error *err)
{
	struct error named = *err;

	(void)error_context(&named, "line %llu", (unsigned long long)job->number);
	str_clear(&job->answer);
	batch_write_error(job->number, &named, &job->answer);
	job->is_running = job->has_run = false;
}

/* One of its descriptors is readable: the line is done, or its worker is gone. */
static void handle_hand(struct batch *batch, struct batch_hand *hand)
{
	struct job *job = hand->job;
	struct error err;
	int status;

	if (!job) {
		batch_worker_dismiss(&hand->worker);
		return;
	}
	hand->job = NULL;
	batch->running--;
	job->is_running = false;
	status = batch_worker_handle(&hand->worker, &job->answer, &job->has_run);
	if (status > 0)
		batch->busy = job;
	if (status >= 0)
		return;
	error_advise(&err, ERROR_HOST, "run it again", "its supervisor was killed");
	answer_error(job, &err);
}

/* An idle worker, one that is started already if possible. There are no more jobs than workers, so there is one. */
static struct batch_hand *find_hand(const struct batch *batch)
{
	unsigned found = 0;

	for (unsigned i = 1; i < batch->jobs; i++) {
		const struct batch_hand *hand = &batch->hands[i];

		if (!hand->job && (batch->hands[found].job || hand->worker.pid > 0))
			found = i;
	}
	return &batch->hands[found];
}

static int start(struct batch *batch, struct job *job, const char *bytes, size_t len,
		 struct error *err)
{
	struct batch_hand *hand = find_hand(batch);
	const struct line_note note = { job->number, !batch->has_begun };

	if (hand->worker.pid > 0 && batch_worker_give(&hand->worker, &note, bytes, len) < 0)
		batch_worker_dismiss(&hand->worker);
	if (hand->worker.pid == 0) {
		policy_keeper_look(&batch->keeper);
		batch->base.policy_fd = batch->keeper.ask_fd;
		if (batch_worker_start(&batch->work, &hand->worker, err) < 0)
			return -1;
		if (batch_worker_give(&hand->worker, &note, bytes, len) < 0)
			return error_errno(err, ERROR_HOST, "start: no place for the line");
	}
	hand->job = job;
	batch->has_begun = job->is_running = true;
	batch->running++;
	return 0;
}

/* A line becomes a run, or an answer with the reason why not. */
static void take_line(struct batch *batch, const char *bytes, size_t len)
{
	struct job *job = job_at(batch, batch->count++);
	struct error err;

	*job = (struct job){ .number = batch->number };
	if (len > BATCH_LINE_MAX)
		error_advise(&err, ERROR_INPUT, "make it several lines", "longer than %zu bytes",
			     BATCH_LINE_MAX);
	else if (start(batch, job, bytes, len, &err) == 0)
		return;
	answer_error(job, &err);
}

static bool is_blank(const char *bytes, size_t len)
{
	return strspn(bytes, " \t\r") >= len;
}

/* The next whole line, if there is one; also the last one, without a newline. */
static bool next_line(struct batch *batch, const char **ret_bytes, size_t *ret_len)
{
	const char *start = str_cstr(&batch->input) + batch->at;
	size_t left = batch->input.len - batch->at;
	const char *newline = left ? memchr(start, '\n', left) : NULL;

	/* Its beginning is enough to know that it is too long. */
	if (!newline && left <= BATCH_LINE_MAX && !(batch->is_ended && left > 0))
		return false;
	*ret_bytes = start;
	*ret_len = newline ? (size_t)(newline - start) : left;
	batch->at += *ret_len + (newline != NULL);
	return true;
}

static void take_lines(struct batch *batch)
{
	const char *bytes;
	size_t len;

	while (!batch->is_stopped && batch->running < batch->jobs &&
	       batch->count < batch->ring_size && next_line(batch, &bytes, &len)) {
		bool is_whole = bytes[len] == '\n' || batch->is_ended;
		bool is_rest = batch->is_skipping;

		batch->is_skipping = !is_whole;
		if (is_rest)
			continue;
		batch->number++;
		if (!is_blank(bytes, len))
			take_line(batch, bytes, len);
	}
	if (batch->at == batch->input.len) {
		str_clear(&batch->input);
		batch->at = 0;
	}
}

/* Whether more input could be used now. */
static bool wants_input(const struct batch *batch)
{
	return !batch->is_ended && !batch->is_stopped && batch->running < batch->jobs &&
	       batch->count < batch->ring_size;
}

static int read_input(struct batch *batch, struct error *err)
{
	char buffer[READ_SIZE];
	ssize_t got = read(batch->options->fd, buffer, sizeof(buffer));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (got < 0)
		return error_errno(err, ERROR_INPUT, "--batch");
	/* What was dealt with goes before more comes. */
	if (batch->at > 0) {
		memmove(batch->input.data, batch->input.data + batch->at,
			batch->input.len - batch->at);
		str_truncate(&batch->input, batch->input.len - batch->at);
		batch->at = 0;
	}
	batch->is_ended = got == 0;
	str_add_bytes(&batch->input, buffer, (size_t)got);
	return 0;
}

/* Everything that is ready from the first line on. */
static int pass_on(struct batch *batch, struct error *err)
{
	while (batch->count > 0 && !job_at(batch, 0)->is_running) {
		struct job *job = job_at(batch, 0);
		int status;

		str_add_char(&job->answer, '\n');
		status = batch->options->answer(&job->answer, batch->options->cookie, err);
		batch->all_ran &= job->has_run;
		str_done(&job->answer);
		batch->first = (batch->first + 1) % batch->ring_size;
		batch->count--;
		if (status < 0)
			return -1;
	}
	return 0;
}

static void stop(struct batch *batch, bool at_once)
{
	batch->is_stopped = true;
	for (unsigned i = 0; i < batch->jobs; i++) {
		if (batch->hands[i].job)
			ending_send(batch->hands[i].worker.pid, at_once);
	}
}

/* The client is gone, killed perhaps: what runs now has no reader. */
static void look_at_reader(struct batch *batch, short events)
{
	if (events & (POLLERR | POLLHUP))
		stop(batch, false);
	if (events)
		batch->out_fd = -1;
}

/* How long may be waited, for poll. */
static int patience(const struct batch *batch)
{
	uint64_t now_ns = clock_now_ns(), left_ms;

	if (batch->end_ns == 0 || batch->is_stopped)
		return -1;
	/* Rounded up: a moment too early would be no end yet. */
	left_ms = now_ns < batch->end_ns ? (batch->end_ns - now_ns) / 1000000 + 1 : 0;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Its own time is over: as after a request to end, and the first line that is not run any more is reported. */
static void look_at_clock(struct batch *batch)
{
	const char *bytes;
	struct error err;
	char time[32];
	size_t len;

	if (batch->end_ns == 0 || batch->is_stopped || clock_now_ns() < batch->end_ns)
		return;
	stop(batch, false);
	batch->is_late = true;
	if (batch->count == batch->ring_size || !next_line(batch, &bytes, &len))
		return;
	units_format_duration(batch->options->time_ms, time);
	error_set(&err, ERROR_DENIED, "--batch-time %s is over: not run, nor any line behind it",
		  time);
	*job_at(batch, batch->count) = (struct job){ .number = ++batch->number };
	answer_error(job_at(batch, batch->count++), &err);
}

static void poll_hands(const struct batch *batch, struct pollfd *polls)
{
	for (unsigned i = 0; i < batch->jobs; i++) {
		const struct batch_worker *worker = &batch->hands[i].worker;

		polls[2 * i] = (struct pollfd){ .fd = worker->end_fd, .events = POLLIN };
		polls[2 * i + 1] = (struct pollfd){ .fd = worker->fd, .events = POLLIN };
	}
}

static int turn(struct batch *batch, struct pollfd *polls, struct error *err)
{
	struct signalfd_siginfo info;

	polls[0] = (struct pollfd){ .fd = wants_input(batch) ? batch->options->fd : -1,
				    .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = batch->signal_fd, .events = POLLIN };
	polls[2] =
		(struct pollfd){ .fd = zygote_pool_poll_fd(&batch->zygote_pool), .events = POLLIN };
	polls[3] = (struct pollfd){ .fd = batch->out_fd };
	poll_hands(batch, polls + POLLS_FIXED);
	if (poll(polls, POLLS_FIXED + 2 * batch->jobs, patience(batch)) < 0)
		return errno == EINTR ? 0 : error_errno(err, ERROR_HOST, "poll");
	if (polls[2].revents)
		zygote_pool_step(&batch->zygote_pool);
	for (size_t i = 0; i < batch->jobs; i++) {
		if (polls[POLLS_FIXED + 2 * i].revents || polls[POLLS_FIXED + 2 * i + 1].revents)
			handle_hand(batch, &batch->hands[i]);
	}
	if (batch->busy)
		return error_set(err, ERROR_BUSY, "%s", str_cstr(&batch->busy->answer));
	if (polls[1].revents && read(batch->signal_fd, &info, sizeof(info)) > 0)
		stop(batch, ending_insists(&batch->signalled_ns, clock_now_ns()));
	look_at_reader(batch, polls[3].revents);
	look_at_clock(batch);
	if (polls[0].revents && read_input(batch, err) < 0)
		return -1;
	take_lines(batch);
	return pass_on(batch, err);
}

static int listen_for_signals(struct batch *batch, struct error *err)
{
	sigset_t mask;

	batch->signal_fd = process_watch_end(&batch->work.mask);
	/* A reader that went away is noticed by the write that fails; the signal ends us when all have been cleared up behind. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGPIPE);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	return batch->signal_fd < 0 ? error_errno(err, ERROR_HOST, "signalfd") : 0;
}

/* One workspace for all lines, whatever directory each starts in. */
static int prepare(struct batch *batch, struct error *err)
{
	const struct app_batch *options = batch->options;
	struct plan_context around;
	int status = plan_context_read(options->base, &around, err);

	if (status == 0) {
		batch->base = *options->base;
		batch->base.workspace =
			around.paths.workspace ? xstrdup(around.paths.workspace) : NULL;
		batch->jobs = options->jobs ? options->jobs : around.host.cores;
		batch->ring_size = (size_t)batch->jobs * WAITING_PER_JOB;
		batch->ring = xcalloc(batch->ring_size, sizeof(*batch->ring));
		batch->hands = xcalloc(batch->jobs, sizeof(*batch->hands));
		for (unsigned i = 0; i < batch->jobs; i++)
			batch->hands[i].worker = (struct batch_worker)BATCH_WORKER_INIT;
		status = zygote_pool_open(&batch->zygote_pool, err) < 0
				 ? -1
				 : listen_for_signals(batch, err);
	}
	batch->work.zygote_pool_fd = batch->zygote_pool.run_fd;
	plan_context_done(&around);
	return status;
}

/* What still runs is asked to end and waited for: nothing is left behind. */
static void clean_up(struct batch *batch)
{
	stop(batch, true);
	for (unsigned i = 0; i < batch->jobs; i++) {
		struct batch_hand *hand = &batch->hands[i];

		if (hand->job)
			batch_worker_end(&hand->worker);
		else
			batch_worker_dismiss(&hand->worker);
	}
	for (size_t i = 0; i < batch->count; i++)
		str_done(&job_at(batch, i)->answer);
	policy_keeper_close(&batch->keeper);
	zygote_pool_close(&batch->zygote_pool);
	free(batch->hands);
	free(batch->ring);
	free(batch->base.workspace);
	str_done(&batch->input);
	fd_close(&batch->signal_fd);
	(void)sigprocmask(SIG_SETMASK, &batch->work.mask, NULL);
}

int app_batch(const struct app_batch *options, enum batch_end *ret_end, struct error *err)
{
	struct batch batch = { .options = options,
			       .signal_fd = -1,
			       .out_fd = options->out_fd,
			       .all_ran = true,
			       .work = { .list_changes = options->list_changes,
					 .uses_daemon = options->uses_daemon,
					 .owner = getpid() },
			       .zygote_pool = ZYGOTE_POOL_INIT };
	owned(free_ptr) struct pollfd *polls = NULL;
	int status;

	if (options->time_ms > 0)
		batch.end_ns = clock_now_ns() + (uint64_t)options->time_ms * 1000000;
	(void)sigprocmask(SIG_SETMASK, NULL, &batch.work.mask);
	batch.work.base = &batch.base;
	status = prepare(&batch, err);
	polls = xcalloc(POLLS_FIXED + 2 * (size_t)batch.jobs, sizeof(*polls));
	while (status == 0 &&
	       (batch.count > 0 ||
		(!batch.is_stopped && !(batch.is_ended && batch.at == batch.input.len))))
		status = turn(&batch, polls, err);
	*ret_end = batch.is_late			? BATCH_LATE
		   : batch.all_ran && !batch.is_stopped ? BATCH_ALL_RAN
							: BATCH_SOME_RAN;
	clean_up(&batch);
	return status;
}
