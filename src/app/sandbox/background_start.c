/* SPDX-License-Identifier: Apache-2.0 */
/* A command started in the background, and the process that supervises it. */
#include "app/sandbox/background.h"

#include "supervise/background/control_socket.h"
#include "supervise/background/place.h"
#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "app/pool/pool.h"
#include "app/run/execute.h"
#include "app/sandbox/sandbox_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The supervisor's message to its parent, once; below PIPE_BUF. */
struct report {
	char exec_id[27];
	uint64_t started_ms;
	struct error error;
};

struct supervisor {
	const char *name;
	const struct request *request;
	struct pool_slot slot; /* held as long as this process lives */
	int report_fd;	       /* -1 once sent */
	int dir_fd, lock_fd;
	char exec_id[27];
	uint64_t started_ms;
	struct control_socket control;
	struct execute_apart apart;
};

/* Whether it was received. */
static bool send_report(struct supervisor *supervisor, const struct error *err)
{
	struct report report = { .started_ms = supervisor->started_ms };
	bool is_received;

	memcpy(report.exec_id, supervisor->exec_id, sizeof(report.exec_id));
	if (err)
		report.error = *err;
	is_received = fd_write_all(supervisor->report_fd, &report, sizeof(report)) == 0;
	fd_close(&supervisor->report_fd);
	return is_received;
}

static int attend(const struct run_news *news, void *cookie)
{
	struct supervisor *supervisor = cookie;
	int sig = control_socket_attend(&supervisor->control, news->is_ready, news->kept_out,
					news->kept_err);

	/* A parent that died before it got the id cannot have passed it on: the command would never be polled. */
	if (news->has_started && supervisor->report_fd >= 0 && !send_report(supervisor, NULL))
		return SIGKILL;
	return sig;
}

static int refuse_crowd(int dir_fd, struct error *err)
{
	owned(strv_done) struct strv running = STRV_INIT;

	execs_sweep(dir_fd, &running, NULL);
	if (running.count >= EXECS_MAX)
		return error_advise(
			err, ERROR_DENIED,
			"end some with aisbx poll EXEC --signal TERM or aisbx stop NAME",
			"%d commands run in the background already", EXECS_MAX);
	return 0;
}

static int announce(const struct spec *spec, void *cookie, struct error *err)
{
	struct supervisor *supervisor = cookie;
	struct exec_record record = { .sandbox = spec->sandbox, .command = spec->command };
	int ends[2];

	supervisor->started_ms = record.started_ms = clock_epoch_ms();
	(void)memcpy(supervisor->exec_id, spec->run_id, strlen(spec->run_id) + 1);
	/* Keep no directory busy. */
	if (chdir("/") < 0)
		return error_errno(err, ERROR_HOST, "/");
	if (execs_open(spec->state_dir, true, &supervisor->dir_fd, err) < 0 ||
	    refuse_crowd(supervisor->dir_fd, err) < 0 ||
	    exec_record_make(supervisor->dir_fd, spec->run_id, &record, &supervisor->lock_fd, err) <
		    0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	supervisor->apart.control.input_fd = ends[0];
	if (control_socket_open(&supervisor->control, supervisor->dir_fd, spec->run_id, ends[1],
				err) < 0)
		return -1;
	supervisor->apart.control.fd = supervisor->control.epoll_fd;
	return 0;
}

/* A result that cannot be written is in the history all the same, where it is looked for then. */
static void keep_result(const struct supervisor *supervisor, const struct run_result *result)
{
	owned(exec_result_done) struct exec_result kept = { 0 };
	struct error ignored;

	str_addf(&kept.words, "%s, exit code %d", run_status_name(result->status),
		 result->exit_code);
	run_result_write_record(result, &kept.object);
	(void)exec_result_write(supervisor->dir_fd, supervisor->exec_id, &kept, &ignored);
}

static _Noreturn void supervise(struct supervisor *supervisor)
{
	const struct app_run_options options = { .capture = false };
	const struct sandbox_exec exec = { .name = supervisor->name,
					   .request = supervisor->request,
					   .options = &options,
					   .apart = &supervisor->apart,
					   .queued_ms = supervisor->slot.queued_ms };
	const int kept[] = { supervisor->report_fd, supervisor->slot.fd };
	owned(run_result_done) struct run_result result;
	struct error err = { .code = ERROR_NONE };
	int status;

	if (process_detach(kept, supervisor->slot.fd < 0 ? 1 : 2, "aisbx-exec") < 0)
		_exit(1);
	(void)signal(SIGPIPE, SIG_IGN);
	supervisor->apart = (struct execute_apart){
		.control = { .input_fd = -1, .fd = -1, .attend = attend, .cookie = supervisor },
		.announce = announce,
		.cookie = supervisor,
	};
	run_result_init(&result);
	status = sandbox_exec(&exec, &result, &err);
	if (supervisor->lock_fd >= 0 && status == 0)
		keep_result(supervisor, &result);
	/* What never started is no command in the background: its caller gets the reason. */
	if (supervisor->lock_fd >= 0 && status < 0)
		exec_forget(supervisor->dir_fd, supervisor->exec_id);
	if (supervisor->report_fd >= 0)
		(void)send_report(supervisor, status < 0 ? &err : NULL);
	if (supervisor->lock_fd >= 0 && status == 0)
		exec_unlisten(supervisor->dir_fd, supervisor->exec_id);
	_exit(0);
}

static int receive_report(int fd, struct app_started *ret_started, struct error *err)
{
	struct report report;
	ssize_t got;

	do
		got = read(fd, &report, sizeof(report));
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(report))
		return error_advise(
			err, ERROR_HOST, "try again",
			"the command's supervisor ended before it could start the command");
	if (report.error.code != ERROR_NONE) {
		*err = report.error;
		return -1;
	}
	memcpy(ret_started->exec_id, report.exec_id, sizeof(ret_started->exec_id));
	time_format_utc(report.started_ms, ret_started->started);
	return 0;
}

/* By the caller, whose turn it is and whose signals end the wait: the supervisor is a session of its own. */
static int take_place(const struct request *request, struct pool_slot *ret_slot, struct error *err)
{
	owned(host_done) struct host host = { 0 };

	return host_read_caller(&host, err) < 0 ||
			       pool_enter_now(host.runtime_dir, request->environ, false, ret_slot,
					      err) < 0
		       ? -1
		       : 0;
}

int app_exec_start(const char *name, const struct request *request, bool uses_daemon,
		   struct app_started *ret_started, struct error *err)
{
	/* Borrows everything. Unless the sandbox was made with another limit, a day is the limit and not the usual minutes. */
	struct request own = *request;
	owned(fd_close) int fd = -1;
	owned(pool_leave) struct pool_slot slot = POOL_SLOT_NONE;
	struct supervisor supervisor = {
		.name = name, .request = &own, .dir_fd = -1, .lock_fd = -1
	};

	if (sandbox_check_name(name, err) < 0)
		return -1;
	if (own.only_narrows && own.flags.time_ms != SETTING_UNSET &&
	    own.flags.time_ms > BACKGROUND_TIME_MS)
		return error_set(err, ERROR_DENIED,
				 "time: a command in the background runs for a day at most here");
	own.interactive = true;
	own.policy_fd = 0; /* closed there */
	own.time_is_default = own.flags.time_ms == SETTING_UNSET && !own.is_service;
	if (own.time_is_default)
		own.flags.time_ms = BACKGROUND_TIME_MS;
	if (uses_daemon && take_place(request, &slot, err) < 0)
		return -1;
	int side = child_fork_away(CHILD_WRITES, &fd, err);

	if (side == 0) {
		supervisor.slot = slot;
		supervisor.report_fd = fd;
		supervise(&supervisor);
	}
	return side < 0 ? -1 : receive_report(fd, ret_started, err);
}
