/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of a batch: lines in, a run each, answers out. */
#include "app/batch/batch_worker.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "base/process/process.h"
#include "app/batch/batch_line.h"
#include "app/run/run_request.h"
#include "app/prepare/plan_context.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)64 << 20)
/* A long line or answer is not kept in memory until the next one comes. */
#define POST_KEPT ((size_t)1 << 16)
/* Nor whatever else a line may leave there: then another worker takes over. */
#define LINES_MAX 256

/* How one ends that leaves an answer behind. */
enum { EXIT_RAN, EXIT_REFUSED, EXIT_BUSY, EXIT_LOST };

/* From the worker, which takes another. */
struct answer_note {
	bool has_run;
};

/* The process itself. */
#define FIRST_LINE "line 1 "

struct labour {
	const struct batch_work *work;
	int fd, post_fd;
	int cwd_fd; /* where lines start that do not say where */
	struct plan_context_memory memory;
	unsigned lines; /* so far */
};

void batch_write_error(uint64_t number, const struct error *err, struct str *ret_answer)
{
	struct json json;

	json_init(&json, ret_answer);
	json_open(&json, '{');
	json_key(&json, "ok");
	json_bool(&json, false);
	json_key(&json, "line");
	json_int(&json, (int64_t)number);
	json_key(&json, "error");
	json_open(&json, '{');
	json_key(&json, "code");
	json_text(&json, error_code_name(err->code));
	json_key(&json, "message");
	json_text(&json, err->text);
	json_key(&json, "hint");
	json_text(&json, error_hint(err));
	json_close(&json, '}');
	json_close(&json, '}');
}

static int write_post(int post_fd, const char *bytes, size_t len)
{
	if (lseek(post_fd, 0, SEEK_SET) < 0 || fd_write_all(post_fd, bytes, len) < 0)
		return -1;
	return ftruncate(post_fd, (off_t)len);
}

static int read_post(int post_fd, struct str *ret_text)
{
	if (lseek(post_fd, 0, SEEK_SET) < 0 || fd_read_all(post_fd, ANSWER_MAX, ret_text) < 0 ||
	    ret_text->len == 0)
		return -1;
	return ret_text->len > POST_KEPT ? ftruncate(post_fd, 0) : 0;
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

/* Nothing of the batch's own, of other workers or of the line before is held any longer. */
static void close_others(const struct labour *labour)
{
	const int keep[] = { STDIN_FILENO,
			     STDOUT_FILENO,
			     STDERR_FILENO,
			     labour->fd,
			     labour->post_fd,
			     labour->cwd_fd,
			     labour->memory.host.fd,
			     labour->work->zygote_pool_fd,
			     labour->work->base->policy_fd };

	fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
}

static int settle(const struct labour *labour, const struct batch_line *line)
{
	owned(fd_close) int input_fd = open_input(&line->input);

	if (input_fd < 0 || dup2(input_fd, STDIN_FILENO) < 0)
		return -1;
	fd_close(&input_fd);
	close_others(labour);
	return line->cwd ? chdir(line->cwd) : 0;
}

/* Returns whether this process can take another line. */
static bool run_line(struct labour *labour, const struct batch_line *line,
		     const struct line_note *note, struct str *ret_answer, bool *ret_has_run)
{
	bool is_unused = false;
	const struct app_run_options options = { .capture = true,
						 .list_changes = labour->work->list_changes,
						 .uses_daemon = labour->work->uses_daemon,
						 .insists = !note->is_first,
						 .zygote_pool_fd = labour->work->zygote_pool_fd,
						 .memory = &labour->memory,
						 .ret_is_unused = &is_unused };
	owned(run_result_done) struct run_result result;
	struct error err = { .code = ERROR_NONE };

	run_result_init(&result);
	if (settle(labour, line) < 0) {
		error_errno(&err, ERROR_INPUT, "line %llu: %s", (unsigned long long)note->number,
			    line->cwd ? line->cwd : "its input");
		batch_write_error(note->number, &err, ret_answer);
		return false;
	}
	*ret_has_run = app_run(&line->request, &options, &result, &err) == 0;
	/* Then all of the batch is refused, with this reason. */
	if (!*ret_has_run && err.code == ERROR_BUSY)
		_exit(write_post(labour->post_fd, err.text, strlen(err.text)) < 0 ? EXIT_LOST
										  : EXIT_BUSY);
	if (!*ret_has_run && !result.message)
		result.message = xstrdup(err.text);
	run_result_write(&result, ret_answer);
	return is_unused && (!line->cwd || fchdir(labour->cwd_fd) == 0);
}

static bool take_line(struct labour *labour, const struct line_note *note, struct str *ret_answer,
		      bool *ret_has_run)
{
	owned(batch_line_done) struct batch_line line;
	owned(str_done) struct str bytes = STR_INIT;
	struct error err, named;

	*ret_has_run = false;
	batch_line_init(&line);
	if (read_post(labour->post_fd, &bytes) < 0)
		error_errno(&err, ERROR_HOST, "start: its line is lost");
	else if (batch_line_read(str_cstr(&bytes), bytes.len, labour->work->base, &line, &err) == 0)
		return run_line(labour, &line, note, ret_answer, ret_has_run);
	/* A line has no lines: the reader's own count of them would only confuse. */
	unsigned skip = str_starts(err.text, FIRST_LINE) ? (unsigned)strlen(FIRST_LINE) : 0;

	named = err;
	(void)snprintf(named.text, sizeof(named.text), "%s", err.text + skip);
	named.hint_at -= named.hint_at ? skip : 0;
	(void)error_context(&named, "line %llu", (unsigned long long)note->number);
	batch_write_error(note->number, &named, ret_answer);
	return true;
}

/* One line, and its answer. Ends the process where it was its last. */
static void serve(struct labour *labour, const struct line_note *note)
{
	owned(str_done) struct str answer = STR_INIT;
	struct answer_note told = { .has_run = false };
	bool stays = take_line(labour, note, &answer, &told.has_run) && ++labour->lines < LINES_MAX;

	if (write_post(labour->post_fd, answer.data, answer.len) < 0)
		_exit(EXIT_LOST);
	if (!stays)
		_exit(told.has_run ? EXIT_RAN : EXIT_REFUSED);
	if (fd_send(labour->fd, &told, sizeof(told), NULL, 0) < 0)
		_exit(EXIT_LOST);
}

static _Noreturn void worker_main(struct labour *labour)
{
	owned(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct line_note note;
	ssize_t got;

	parent_end_follow(labour->work->owner, SIGTERM);
	(void)setpgid(0, 0);
	(void)sigprocmask(SIG_SETMASK, &labour->work->mask, NULL);
	labour->cwd_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (null_fd < 0 || dup2(null_fd, STDOUT_FILENO) < 0 || dup2(null_fd, STDERR_FILENO) < 0)
		_exit(EXIT_LOST);
	fd_close(&null_fd);
	/* The end of the batch is the end of its stream: no other process may hold its end of that. */
	close_others(labour);
	do {
		got = recv(labour->fd, &note, sizeof(note), 0);
		if (got == (ssize_t)sizeof(note))
			serve(labour, &note);
	} while (got == (ssize_t)sizeof(note) || (got < 0 && errno == EINTR));
	_exit(EXIT_LOST);
}

int batch_worker_start(const struct batch_work *work, struct batch_worker *ret_worker,
		       struct error *err)
{
	struct batch_worker worker = BATCH_WORKER_INIT;

	worker.post_fd = memfd_create("line", MFD_CLOEXEC);
	if (worker.post_fd < 0)
		return error_errno(err, ERROR_HOST, "start: no place for the answer");
	worker.pid = child_fork(CHILD_TALKS, 0, &worker.fd, err);
	if (worker.pid == 0) {
		struct labour labour = { .work = work,
					 .fd = worker.fd,
					 .post_fd = worker.post_fd,
					 .memory = { .host = HOST_MEMORY_INIT } };

		worker_main(&labour);
	}
	if (worker.pid > 0)
		worker.end_fd = child_open(worker.pid);
	if (worker.pid > 0 && worker.end_fd < 0)
		error_errno(err, ERROR_HOST, PROCESS_REFUSED);
	if (worker.end_fd < 0) {
		batch_worker_end(&worker);
		return -1;
	}
	*ret_worker = worker;
	return 0;
}

int batch_worker_give(const struct batch_worker *worker, const struct line_note *note,
		      const char *bytes, size_t len)
{

	/* One that is halted would never begin. */
	if (!process_can_go_on(worker->pid))
		return -1;
	return write_post(worker->post_fd, bytes, len) < 0
		       ? -1
		       : fd_send(worker->fd, note, sizeof(*note), NULL, 0);
}

static void let_go(struct batch_worker *worker, int *ret_status)
{
	fd_close(&worker->fd);
	*ret_status = child_wait(worker->pid);
	fd_close(&worker->end_fd);
	fd_close(&worker->post_fd);
	worker->pid = 0;
}

void batch_worker_end(struct batch_worker *worker)
{
	int ignored;

	let_go(worker, &ignored);
}

void batch_worker_dismiss(struct batch_worker *worker)
{
	(void)child_signal(worker->end_fd, SIGKILL);
	batch_worker_end(worker);
}

/* It has ended: what it left behind is the answer, if its status says so. */
static int handle_end(struct batch_worker *worker, struct str *ret_answer, bool *ret_has_run)
{
	owned(fd_close) int post_fd = fd_take(&worker->post_fd);
	int status = 0;

	let_go(worker, &status);
	*ret_has_run = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_RAN;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > EXIT_BUSY ||
	    read_post(post_fd, ret_answer) < 0)
		return -1;
	return WEXITSTATUS(status) == EXIT_BUSY;
}

int batch_worker_handle(struct batch_worker *worker, struct str *ret_answer, bool *ret_has_run)
{
	struct answer_note note;
	ssize_t got = recv(worker->fd, &note, sizeof(note), MSG_DONTWAIT);

	*ret_has_run = false;
	if (got != (ssize_t)sizeof(note))
		return handle_end(worker, ret_answer, ret_has_run);
	*ret_has_run = note.has_run;
	return read_post(worker->post_fd, ret_answer);
}
