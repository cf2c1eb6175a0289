/* A batch: lines in, a process each, answers out in their order. */
#include "engine/batch.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/parent_end.h"
#include "driver/nursery.h"
#include "engine/batch_line.h"
#include "engine/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE 65536
/* Answers that wait for an earlier one, per job: a slow line holds others up only so far. */
#define WAITING_PER_JOB 16
/* Input, signals, the nursery, the reader of the answers; then the jobs. */
#define POLLS_FIXED 4
#define ANSWER_MAX ((size_t)64 << 20)

struct job {
	uint64_t number; /* of its line */
	pid_t pid;	 /* 0: its answer is there */
	int end_fd;	 /* readable at its end */
	int answer_fd;
	struct str answer;
	bool has_run;
};

struct batch {
	const struct engine_batch *options;
	struct request base;
	unsigned jobs;
	struct job *ring; /* in the order of the lines */
	size_t ring_size, first, count, running;
	struct str input; /* read; lines before `at` are dealt with */
	size_t at;
	bool is_ended, is_skipping; /* the rest of a line that is too long */
	uint64_t number;
	int signal_fd;
	int out_fd; /* -1: not looked at any more */
	sigset_t saved_mask;
	bool is_stopped, all_ran;
	pid_t pid;		/* our own */
	struct nursery nursery; /* zygotes for its lines */
};

static struct job *job_at(const struct batch *batch, size_t index)
{
	return &batch->ring[(batch->first + index) % batch->ring_size];
}

static void write_error(struct job *job, const struct error *err)
{
	struct json json;

	json_init(&json, &job->answer);
	json_open(&json, '{');
	json_key(&json, "ok");
	json_bool(&json, false);
	json_key(&json, "line");
	json_int(&json, (int64_t)job->number);
	json_key(&json, "error");
	json_open(&json, '{');
	json_key(&json, "code");
	json_text(&json, error_code_name(err->code));
	json_key(&json, "message");
	json_text(&json, err->text);
	json_close(&json, '}');
	json_close(&json, '}');
	job->has_run = false;
}

static int open_input(const struct str *input)
{
	owned(fd_close) int fd = -1;

	if (input->len == 0)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("stdin", MFD_CLOEXEC);
	if (fd < 0 || fd_write_all(fd, input->data, input->len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd_take(&fd);
}

/* Nothing of the batch's own reaches the run but where its answer goes. */
static int settle(const struct batch_line *line, int answer_fd, int nursery_fd)
{
	owned(fd_close) int input_fd = open_input(&line->input);
	owned(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int keep[] = { 0, 1, 2, answer_fd, nursery_fd };

	if (input_fd < 0 || null_fd < 0 || dup2(input_fd, 0) < 0 || dup2(null_fd, 1) < 0 ||
	    dup2(null_fd, 2) < 0)
		return -1;
	fd_close(&input_fd);
	fd_close(&null_fd);
	fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
	return line->cwd ? chdir(line->cwd) : 0;
}

static _Noreturn void run_line(const struct batch *batch, const struct batch_line *line,
			       struct job *job)
{
	const struct engine_run_options options = { .capture = true,
						    .list_changes = batch->options->list_changes,
						    .nursery_fd = batch->nursery.run_fd };
	struct error err = { .code = ERROR_NONE };
	struct run_result result;

	parent_end_follow(batch->pid, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &batch->saved_mask, NULL);
	run_result_init(&result);
	job->has_run = false;
	if (settle(line, job->answer_fd, batch->nursery.run_fd) < 0) {
		error_errno(&err, ERROR_INPUT, "line %llu: %s", (unsigned long long)job->number,
			    line->cwd ? line->cwd : "its input");
		write_error(job, &err);
	} else {
		job->has_run = engine_run(&line->request, &options, &result, &err) == 0;
		if (!job->has_run && !result.message)
			result.message = xstrdup(err.text);
		run_result_write(&result, &job->answer);
	}
	_exit(fd_write_all(job->answer_fd, job->answer.data, job->answer.len) < 0 ? 2
	      : job->has_run							  ? 0
										  : 1);
}

static void finish(struct batch *batch, struct job *job)
{
	struct error err;
	int status = 0;

	fd_close(&job->end_fd);
	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	job->pid = 0;
	batch->running--;
	job->has_run = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 ||
	    lseek(job->answer_fd, 0, SEEK_SET) < 0 ||
	    fd_read_all(job->answer_fd, ANSWER_MAX, &job->answer) < 0 || job->answer.len == 0) {
		str_clear(&job->answer);
		error_set(&err, ERROR_HOST, "line %llu: its supervisor was killed; run it again",
			  (unsigned long long)job->number);
		write_error(job, &err);
	}
	fd_close(&job->answer_fd);
}

static int start(struct batch *batch, const struct batch_line *line, struct job *job,
		 struct error *err)
{
	pid_t pid;

	job->answer_fd = memfd_create("answer", MFD_CLOEXEC);
	if (job->answer_fd < 0)
		return error_errno(err, ERROR_HOST, "start: no place for the answer");
	pid = fork();
	if (pid == 0)
		run_line(batch, line, job);
	if (pid < 0)
		return error_errno(err, ERROR_HOST, "start: fork");
	job->pid = pid;
	job->end_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	batch->running++;
	/* Without a way to hear of its end it is waited for here. */
	if (job->end_fd < 0)
		finish(batch, job);
	return 0;
}

/* A line becomes a run, or an answer that says why not. */
static void take_line(struct batch *batch, const char *bytes, size_t len)
{
	owned(batch_line_done) struct batch_line line;
	struct job *job = job_at(batch, batch->count++);
	struct error err, named;

	*job = (struct job){ .number = batch->number, .end_fd = -1, .answer_fd = -1 };
	batch_line_init(&line);
	if (len > BATCH_LINE_MAX)
		error_set(&err, ERROR_INPUT, "longer than %zu bytes; make it several lines",
			  BATCH_LINE_MAX);
	else if (batch_line_read(bytes, len, &batch->base, &line, &err) == 0 &&
		 start(batch, &line, job, &err) == 0)
		return;
	/* A line has no lines: the reader's own count of them would only confuse. */
	const char *text =
		str_starts(err.text, "line 1 ") ? err.text + strlen("line 1 ") : err.text;

	error_set(&named, err.code, "line %llu: %s", (unsigned long long)batch->number, text);
	write_error(job, &named);
}

static bool is_blank(const char *bytes, size_t len)
{
	return strspn(bytes, " \t\r") >= len;
}

/* The next whole line, if there is one; also the last one, that nobody ended. */
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
	while (batch->count > 0 && job_at(batch, 0)->pid == 0) {
		struct job *job = job_at(batch, 0);
		int status;

		str_add_char(&job->answer, '\n');
		status = batch->options->answer(&job->answer, batch->options->cookie, err);
		batch->all_ran &= job->has_run;
		fd_close(&job->end_fd);
		fd_close(&job->answer_fd);
		str_done(&job->answer);
		batch->first = (batch->first + 1) % batch->ring_size;
		batch->count--;
		if (status < 0)
			return -1;
	}
	return 0;
}

static void stop(struct batch *batch)
{
	batch->is_stopped = true;
	for (size_t i = 0; i < batch->count; i++) {
		if (job_at(batch, i)->pid > 0)
			(void)kill(job_at(batch, i)->pid, SIGTERM);
	}
}

/* Whoever asked is gone, killed perhaps: what runs now runs for nobody. */
static void look_at_reader(struct batch *batch, short events)
{
	if (events & (POLLERR | POLLHUP))
		stop(batch);
	if (events)
		batch->out_fd = -1;
}

static int turn(struct batch *batch, struct pollfd *polls, struct error *err)
{
	struct signalfd_siginfo info;

	polls[0] = (struct pollfd){ .fd = wants_input(batch) ? batch->options->fd : -1,
				    .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = batch->signal_fd, .events = POLLIN };
	polls[2] = (struct pollfd){ .fd = nursery_poll_fd(&batch->nursery), .events = POLLIN };
	polls[3] = (struct pollfd){ .fd = batch->out_fd };
	for (size_t i = 0; i < batch->count; i++)
		polls[POLLS_FIXED + i] =
			(struct pollfd){ .fd = job_at(batch, i)->end_fd, .events = POLLIN };
	if (poll(polls, POLLS_FIXED + batch->count, -1) < 0)
		return errno == EINTR ? 0 : error_errno(err, ERROR_HOST, "poll");
	if (polls[2].revents)
		nursery_step(&batch->nursery);
	for (size_t i = 0; i < batch->count; i++) {
		if (polls[POLLS_FIXED + i].revents)
			finish(batch, job_at(batch, i));
	}
	if (polls[1].revents && read(batch->signal_fd, &info, sizeof(info)) > 0)
		stop(batch);
	look_at_reader(batch, polls[3].revents);
	if (polls[0].revents && read_input(batch, err) < 0)
		return -1;
	take_lines(batch);
	return pass_on(batch, err);
}

static int listen_for_signals(struct batch *batch, struct error *err)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &mask, &batch->saved_mask);
	batch->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return batch->signal_fd < 0 ? error_errno(err, ERROR_HOST, "signalfd") : 0;
}

/* One workspace for all lines, whatever directory each starts in. */
static int prepare(struct batch *batch, struct error *err)
{
	const struct engine_batch *options = batch->options;
	struct surroundings around;
	int status = surroundings_read(options->base, &around, err);

	if (status == 0) {
		batch->base = *options->base;
		batch->base.workspace =
			around.paths.workspace ? xstrdup(around.paths.workspace) : NULL;
		batch->jobs = options->jobs ? options->jobs : around.host.cores;
		batch->ring_size = (size_t)batch->jobs * WAITING_PER_JOB;
		batch->ring = xcalloc(batch->ring_size, sizeof(*batch->ring));
		status = nursery_open(&batch->nursery, err) < 0 ? -1
								: listen_for_signals(batch, err);
	}
	surroundings_done(&around);
	return status;
}

/* Whoever still runs is told to end and waited for: nothing is left behind. */
static void clean_up(struct batch *batch)
{
	stop(batch);
	for (size_t i = 0; i < batch->count; i++) {
		if (job_at(batch, i)->pid > 0)
			finish(batch, job_at(batch, i));
		fd_close(&job_at(batch, i)->end_fd);
		fd_close(&job_at(batch, i)->answer_fd);
		str_done(&job_at(batch, i)->answer);
	}
	nursery_close(&batch->nursery);
	free(batch->ring);
	free(batch->base.workspace);
	str_done(&batch->input);
	fd_close(&batch->signal_fd);
	(void)sigprocmask(SIG_SETMASK, &batch->saved_mask, NULL);
}

int engine_batch(const struct engine_batch *options, bool *ret_all_ran, struct error *err)
{
	struct batch batch = { .options = options,
			       .signal_fd = -1,
			       .out_fd = options->out_fd,
			       .all_ran = true,
			       .pid = getpid(),
			       .nursery = NURSERY_INIT };
	owned(free_ptr) struct pollfd *polls = NULL;
	int status;

	(void)sigprocmask(SIG_SETMASK, NULL, &batch.saved_mask);
	status = prepare(&batch, err);
	polls = xcalloc(POLLS_FIXED + batch.ring_size, sizeof(*polls));
	while (status == 0 &&
	       (batch.count > 0 ||
		(!batch.is_stopped && !(batch.is_ended && batch.at == batch.input.len))))
		status = turn(&batch, polls, err);
	*ret_all_ran = batch.all_ran && !batch.is_stopped;
	clean_up(&batch);
	return status;
}
