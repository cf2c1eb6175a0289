/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: its process, its loop, its end. */
#include "supervise/sandbox/supervisor.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "supervise/sandbox/parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTIFICATIONS_PER_STEP 64
#define EVENTS_MAX 16
/* How often it is looked whether the sandbox is still there. */
#define LOOK_MS 10000
/* How often bounds are checked while commands run inside. */
#define BOUNDS_MS 100
#define END_MS 5000

static void take_listener(struct supervisor *supervisor, int fd)
{
	supervisor->listener_fd = fd;
	if (fd_watch(supervisor->epoll_fd, fd) < 0)
		supervisor->is_over = true;
}

static void start_serving(struct supervisor *supervisor)
{
	/* A top on disk is only watched, where its filesystem has no quota for it. */
	uint32_t watched = supervisor->quota.is_on ? 0 : 1u << LAYER_DISK;
	struct error err;

	if (launch_refuse_missing(&supervisor->launch, watched, supervisor->options->spec->require,
				  &err) < 0) {
		clients_fail(supervisor, &err);
		supervisor->is_over = true;
		return;
	}
	quota_settle(&supervisor->quota);
	supervisor->is_serving = true;
	supervisor->is_idle = true;
	supervisor->idle_since_ns = clock_now_ns();
	if (fd_watch(supervisor->epoll_fd, supervisor->options->listen_fd) < 0)
		supervisor->is_over = true;
}

static void handle_launch(struct supervisor *supervisor, int fd)
{
	struct launch_report report;

	launch_step(&supervisor->launch, fd, &report);
	switch (report.event) {
	case LAUNCH_LISTENER:
		take_listener(supervisor, report.fd);
		break;
	case LAUNCH_RUNNING:
		start_serving(supervisor);
		break;
	case LAUNCH_MOVED:
		dir_rename_queue_done(&supervisor->renames, supervisor->listener_fd, report.move_id,
				      &supervisor->launch);
		break;
	case LAUNCH_FAILED:
	case LAUNCH_KILLED:
		if (!supervisor->is_serving)
			clients_fail(supervisor, &report.error);
		supervisor->is_over = true;
		break;
	case LAUNCH_NAMES:
		(void)fd_watch(supervisor->epoll_fd, supervisor->launch.names_fds[0]);
		(void)fd_watch(supervisor->epoll_fd, supervisor->launch.names_fds[1]);
		break;
	case LAUNCH_NOTHING:
	case LAUNCH_READY:
	case LAUNCH_SILENT:
	case LAUNCH_TERMINAL:
	case LAUNCH_ENDED:
		fd_close(&report.fd);
		break;
	}
}

static void answer_notifications(struct supervisor *supervisor)
{
	for (int i = 0; i < NOTIFICATIONS_PER_STEP; i++) {
		struct notify_event event;

		if (notify_handle(supervisor->listener_fd, &supervisor->filters.listening, &event) <
		    0) {
			if (errno != EAGAIN && errno != EINTR && errno != ENOENT)
				fd_close(&supervisor->listener_fd);
			return;
		}
		if (event.kind == NOTIFY_MOVE)
			dir_rename_queue_take(&supervisor->renames, supervisor->listener_fd, &event,
					      &supervisor->launch);
		else if (event.kind == NOTIFY_SYSCALL ||
			 (event.kind == NOTIFY_NET && network_is_denied(supervisor, &event)))
			denials_report(supervisor, &event);
		else if (event.kind == NOTIFY_NET && supervisor->launch.reports_names)
			denials_leave(supervisor, &event);
		/* Behind that: the command may end with it, and its client must know by then. */
		if (event.kind == NOTIFY_NET)
			(void)notify_answer(supervisor->listener_fd, event.id, 0);
	}
}

static void handle(struct supervisor *supervisor, int fd)
{
	if (fd == supervisor->options->listen_fd) {
		clients_accept(supervisor);
	} else if (fd == supervisor->listener_fd) {
		answer_notifications(supervisor);
	} else if (fd == supervisor->launch.gateway_fd) {
		network_handle(supervisor);
	} else if (fd == supervisor->launch.names_fds[0] || fd == supervisor->launch.names_fds[1]) {
		network_refuse_names(supervisor);
	} else if (fd == supervisor->launch.payload_fd && supervisor->is_serving) {
		clients_handle_init(supervisor);
	} else if (fd == supervisor->launch.payload_fd || fd == supervisor->launch.control_fd) {
		handle_launch(supervisor, fd);
	} else {
		struct client *client = client_of_fd(supervisor, fd);

		if (client)
			client_step(supervisor, client);
	}
}

/* Removed, or another one has its name by now. */
static bool is_sandbox_gone(const struct supervisor_options *options)
{
	struct stat mine, there;

	return fstat(options->dir_fd, &mine) < 0 || stat(options->directory, &there) < 0 ||
	       mine.st_ino != there.st_ino || mine.st_dev != there.st_dev;
}

static void look(struct supervisor *supervisor)
{
	const struct supervisor_options *options = supervisor->options;
	bool is_alone = supervisor->is_idle && supervisor->client_count == 0;

	if (supervisor->is_serving && !supervisor->is_idle)
		bounds_look(supervisor, false);
	if (options->expires_ms && clock_epoch_ms() >= options->expires_ms)
		supervisor->is_over = true;
	if (is_alone && clock_now_ns() - supervisor->idle_since_ns >= options->idle_ms * 1000000)
		supervisor->is_over = true;
	if (is_sandbox_gone(options))
		supervisor->is_over = true;
}

static int patience_ms(const struct supervisor *supervisor)
{
	const struct supervisor_options *options = supervisor->options;
	uint64_t wait = options->idle_ms < LOOK_MS ? options->idle_ms + 1 : LOOK_MS;
	uint64_t now = clock_epoch_ms();

	if (!supervisor->is_idle)
		wait = BOUNDS_MS;
	if (options->expires_ms && options->expires_ms < now + wait)
		wait = options->expires_ms > now ? options->expires_ms - now : 0;
	return (int)wait;
}

static void serve(struct supervisor *supervisor)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t looked_ns = clock_now_ns();

	while (!supervisor->is_over) {
		int count = epoll_wait(supervisor->epoll_fd, events, EVENTS_MAX,
				       patience_ms(supervisor));

		for (int i = 0; i < count && !supervisor->is_over; i++)
			handle(supervisor, events[i].data.fd);
		/* Busy clients must not delay the check. */
		if (clock_now_ns() - looked_ns < (uint64_t)patience_ms(supervisor) * 1000000)
			continue;
		look(supervisor);
		looked_ns = clock_now_ns();
	}
}

/* The caller's variables may be secrets, and init and its children begin as copies of this memory. */
static void forget_environment(void)
{
	for (char **at = environ; at && *at; at++)
		explicit_bzero(*at, strlen(*at));
	environ = NULL;
}

static int detach(const struct supervisor_options *options)
{
	const int keep[] = { options->dir_fd, options->listen_fd, options->lock_fds[0],
			     options->lock_fds[1] };

	if (process_detach(keep, sizeof(keep) / sizeof(keep[0]), "aisbx-sandbox") < 0 ||
	    chdir("/") < 0)
		return -1;
	forget_environment();
	return 0;
}

/* For a caller that has to end us by force: a pid alone may be reused by then. */
static void say_who(const struct supervisor_options *options)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%d %llu\n", getpid(),
			   (unsigned long long)process_began(getpid()));

	if (ftruncate(options->lock_fds[1], 0) == 0)
		(void)!pwrite(options->lock_fds[1], text, (size_t)len, 0);
}

bool supervisor_find(int dir_fd, struct supervisor_who *ret_who)
{
	unsigned long long ticks = 0;
	char text[64];
	int pid = 0;

	*ret_who = (struct supervisor_who){ 0 };
	if (file_read_small(dir_fd, SUPERVISOR_LOCK, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%d %llu", &pid, &ticks) != 2)
		return false;
	*ret_who = (struct supervisor_who){ pid, ticks };
	return true;
}

bool supervisor_kill(const struct supervisor_who *who, bool if_halted)
{
	return who->pid > 0 && process_kill(who->pid, who->ticks, if_halted);
}

bool supervisor_wait(const struct supervisor_who *who, int ms)
{
	return process_wait_end(who->pid, who->ticks, ms);
}

static int launch(struct supervisor *supervisor, struct error *err)
{
	const struct supervisor_options *options = supervisor->options;

	if (launch_filters_make(options->spec, NULL, &supervisor->filters, &supervisor->io, err) <
	    0)
		return -1;
	supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (launch_start(options->spec, &supervisor->io, &supervisor->launch, err) < 0)
		return -1;
	if (fd_watch(supervisor->epoll_fd, supervisor->launch.control_fd) < 0 ||
	    fd_watch(supervisor->epoll_fd, supervisor->launch.payload_fd) < 0 ||
	    (supervisor->launch.gateway_fd >= 0 &&
	     fd_watch(supervisor->epoll_fd, supervisor->launch.gateway_fd) < 0))
		return error_errno(err, ERROR_HOST, "epoll");
	return 0;
}

static _Noreturn void supervisor_main(const struct supervisor_options *options)
{
	struct supervisor *supervisor = xcalloc(1, sizeof(*supervisor));
	struct error err;

	supervisor->options = options;
	supervisor->listener_fd = -1;
	for (size_t i = 0; i < 3; i++)
		supervisor->io.fds[i] = -1;
	for (size_t i = 0; i < 2; i++)
		supervisor->io.lock_fds[i] = options->lock_fds[i];
	supervisor->io.ends_ms = options->expires_ms;
	supervisor->io.secrets = options->secrets;
	launch_init(&supervisor->launch);
	if (detach(options) < 0)
		_exit(1);
	say_who(options);
	bounds_init(supervisor);
	fresh_begin(supervisor);
	if (launch(supervisor, &err) < 0)
		clients_fail(supervisor, &err);
	else
		serve(supervisor);
	(void)unlinkat(options->dir_fd, SUPERVISOR_SOCKET, 0);
	/* Waits for the end of all processes: the caller takes our end for theirs. */
	if (supervisor->launch.init_pid > 0) {
		launch_signal(&supervisor->launch, SIGKILL);
		if (fd_wait(supervisor->launch.init_fd, POLLIN, END_MS) > 0)
			fresh_end(supervisor);
		clients_end(supervisor);
	}
	bounds_done(supervisor);
	launch_done(&supervisor->launch, false);
	_exit(0);
}

pid_t supervisor_start(const struct supervisor_options *options, struct error *err)
{
	pid_t pid = child_fork(CHILD_ALONE, 0, NULL, err);

	if (pid == 0)
		supervisor_main(options);
	return pid;
}
