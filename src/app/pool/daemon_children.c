/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's helper processes: started, started anew with growing pauses, ended. */
#include "app/pool/daemon_children.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/core/die.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/own_program.h"
#include "base/process/process.h"
#include "base/process/service_log.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FIRST_FD 3
#define NS_PER_MS UINT64_C(1000000)
/* The pause before the next start doubles from the first to the last; one that ran for longer than SETTLED begins anew. */
#define PAUSE_MS 100
#define PAUSE_MAX_MS 30000
#define SETTLED_MS 10000
/* Of a helper's stderr; what is longer is logged in parts. */
#define LINE_MAX_BYTES 2048

void helpers_add(struct helpers *helpers, const struct helper *row)
{
	if (helpers->count == HELPERS_MAX || row->fd_count > HELPER_FDS_MAX)
		die("too many helpers of the daemon");
	helpers->rows[helpers->count++] = *row;
}

/* Out of the way of the numbers they get: every descriptor is above those first, and then in its place. */
static int place_fds(const struct helper *row)
{
	int high[HELPER_FDS_MAX], last = FIRST_FD + (int)row->fd_count;

	for (size_t i = 0; i < row->fd_count; i++) {
		high[i] = fcntl(row->fds[i], F_DUPFD_CLOEXEC, last);
		if (high[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < row->fd_count; i++) {
		if (dup2(high[i], FIRST_FD + (int)i) < 0)
			return -1;
	}
	int keep[FIRST_FD + HELPER_FDS_MAX];

	for (int i = 0; i < last; i++)
		keep[i] = i;
	fd_close_others(keep, (size_t)last);
	return 0;
}

int helper_check(const char *flag, const char *program, struct error *err)
{
	owned(free_ptr) char *path = own_program(program);

	if (!path)
		return error_set(err, ERROR_HOST,
				 "%s needs %s, which is not installed beside aisbx-full", flag,
				 program);
	return 0;
}

/* It stays when the helper ends: a job that runs on has it, too. */
static void open_errors(struct helper *row)
{
	if (row->errors[1] || !service_log_is_structured())
		return;
	if (pipe2(row->errors, O_CLOEXEC) < 0)
		row->errors[0] = row->errors[1] = 0;
	else
		(void)fcntl(row->errors[0], F_SETFL, O_NONBLOCK);
}

int helper_errors_fd(const struct helper *row)
{
	return row->errors[1] ? row->errors[0] : -1;
}

static void log_line(const struct helper *row, const char *line)
{
	size_t skip = str_starts(line, "aisbx: ") ? strlen("aisbx: ") : 0;

	if (line[skip])
		service_log(SERVICE_NOTICE, line + skip,
			    SERVICE_FIELDS(SERVICE_TEXT("helper", row->name)));
}

void helper_log_errors(struct helper *row)
{
	char bytes[LINE_MAX_BYTES];
	ssize_t got = read(row->errors[0], bytes, sizeof(bytes));

	for (ssize_t i = 0; i < got; i++) {
		bool is_end = bytes[i] == '\n' || row->line.len == LINE_MAX_BYTES;

		if (is_end) {
			log_line(row, str_cstr(&row->line));
			str_clear(&row->line);
		}
		if (bytes[i] != '\n')
			str_add_char(&row->line, bytes[i]);
	}
}

static _Noreturn void become(const struct helper *row)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *path = own_program(row->words[0]);
	sigset_t none;

	if (!path || null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
	    (row->errors[1] && dup2(row->errors[1], STDERR_FILENO) < 0) || place_fds(row) < 0)
		_exit(127);
	process_heed_signals();
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execv(path, (char *const *)(uintptr_t)row->words);
	_exit(127);
}

static void start(struct helper *row)
{
	struct error ignored;

	open_errors(row);
	pid_t pid = child_fork(CHILD_ALONE, SIGKILL, NULL, &ignored);

	if (pid == 0)
		become(row);
	if (pid > 0)
		service_log(SERVICE_INFO, "helper started",
			    SERVICE_FIELDS(SERVICE_TEXT("helper", row->name),
					   SERVICE_NUMBER("pid", pid)));
	row->began_ns = clock_now_ns();
	row->pid = pid > 0 ? pid : 0;
	row->starts += pid > 0;
	if (pid < 0)
		row->due_ns = row->began_ns + PAUSE_MAX_MS * NS_PER_MS;
}

int helpers_tend(struct helpers *helpers)
{
	uint64_t now_ns = clock_now_ns(), wait_ns = UINT64_MAX;

	for (size_t i = 0; i < helpers->count; i++) {
		struct helper *row = &helpers->rows[i];

		if (!row->pid && row->due_ns <= now_ns)
			start(row);
		if (!row->pid && row->due_ns - now_ns < wait_ns)
			wait_ns = row->due_ns - now_ns;
	}
	return wait_ns == UINT64_MAX ? -1 : (int)(wait_ns / NS_PER_MS + 1);
}

void helpers_ended(struct helpers *helpers, pid_t pid, bool is_ending)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < helpers->count; i++) {
		struct helper *row = &helpers->rows[i];
		uint64_t pause_ms = PAUSE_MS;

		if (row->pid != pid)
			continue;
		row->pid = 0;
		/* A key on the terminal ends them with us. */
		service_log(is_ending ? SERVICE_INFO : SERVICE_WARNING, "helper ended",
			    SERVICE_FIELDS(SERVICE_TEXT("helper", row->name),
					   SERVICE_NUMBER("pid", pid)));
		row->failed = now_ns - row->began_ns > SETTLED_MS * NS_PER_MS ? 0 : row->failed + 1;
		for (unsigned j = 1; j < row->failed && pause_ms < PAUSE_MAX_MS; j++)
			pause_ms *= 2;
		row->due_ns =
			now_ns + (pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS) * NS_PER_MS;
	}
}

void helpers_done(struct helpers *helpers)
{
	uint64_t until_ns = clock_now_ns() + HELPER_END_MS * NS_PER_MS;

	for (size_t i = 0; i < helpers->count; i++) {
		if (helpers->rows[i].pid > 0)
			(void)kill(helpers->rows[i].pid, SIGTERM);
	}
	for (size_t i = 0; i < helpers->count; i++) {
		struct helper *row = &helpers->rows[i];
		uint64_t now_ns = clock_now_ns();
		uint64_t left_ms = now_ns < until_ns ? (until_ns - now_ns) / NS_PER_MS : 0;

		int ignored;

		(void)child_wait_within(row->pid, left_ms, &ignored);
		for (size_t j = 0; j < row->fd_count; j++)
			fd_close(&row->fds[j]);
		if (row->errors[1]) {
			helper_log_errors(row);
			close(row->errors[0]);
			close(row->errors[1]);
		}
		str_done(&row->line);
	}
	helpers->count = 0;
}
