/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: its process, its loop, its end. */
#include "supervise/keeper/keeper.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/process.h"
#include "confine/seccomp/seccomp_file.h"
#include "supervise/keeper/parts.h"

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

static void take_listener(struct keeper *keeper, int fd)
{
	keeper->listener_fd = fd;
	if (fd_watch(keeper->epoll_fd, fd) < 0)
		keeper->is_over = true;
}

static void start_serving(struct keeper *keeper)
{
	/* A top on disk is only watched, where its filesystem has no quota for it. */
	uint32_t watched = keeper->quota.is_on ? 0 : 1u << LAYER_DISK;
	struct error err;

	if (launch_refuse_missing(&keeper->launch, watched, keeper->options->spec->require, &err) <
	    0) {
		clients_fail(keeper, &err);
		keeper->is_over = true;
		return;
	}
	quota_settle(&keeper->quota);
	keeper->is_serving = true;
	keeper->is_idle = true;
	keeper->idle_since_ns = clock_now_ns();
	if (fd_watch(keeper->epoll_fd, keeper->options->listen_fd) < 0)
		keeper->is_over = true;
}

static void hear_launch(struct keeper *keeper, int fd)
{
	struct launch_report report;

	launch_step(&keeper->launch, fd, &report);
	switch (report.event) {
	case LAUNCH_LISTENER:
		take_listener(keeper, report.fd);
		break;
	case LAUNCH_RUNNING:
		start_serving(keeper);
		break;
	case LAUNCH_MOVED:
		moves_done(&keeper->moves, keeper->listener_fd, report.move_id, &keeper->launch);
		break;
	case LAUNCH_FAILED:
		if (!keeper->is_serving)
			clients_fail(keeper, &report.error);
		keeper->is_over = true;
		break;
	case LAUNCH_NAMES:
		(void)fd_watch(keeper->epoll_fd, keeper->launch.names_fds[0]);
		(void)fd_watch(keeper->epoll_fd, keeper->launch.names_fds[1]);
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

static void answer_notifications(struct keeper *keeper)
{
	for (int i = 0; i < NOTIFICATIONS_PER_STEP; i++) {
		struct notify_event event;

		if (notify_handle(keeper->listener_fd, &event) < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ENOENT)
				fd_close(&keeper->listener_fd);
			return;
		}
		if (event.kind == NOTIFY_MOVE)
			moves_take(&keeper->moves, keeper->listener_fd, &event, &keeper->launch);
		else if (event.kind == NOTIFY_SYSCALL ||
			 (event.kind == NOTIFY_NET && network_is_denied(keeper, &event)))
			denials_tell(keeper, &event);
		else if (event.kind == NOTIFY_NET && keeper->launch.hears_names)
			denials_leave(keeper, &event);
		/* Behind that: the command may end with it, and its client must know by then. */
		if (event.kind == NOTIFY_NET)
			(void)notify_answer(keeper->listener_fd, event.id, 0);
	}
}

static void handle(struct keeper *keeper, int fd)
{
	if (fd == keeper->options->listen_fd) {
		clients_accept(keeper);
	} else if (fd == keeper->listener_fd) {
		answer_notifications(keeper);
	} else if (fd == keeper->launch.gateway_fd) {
		network_hear(keeper);
	} else if (fd == keeper->launch.names_fds[0] || fd == keeper->launch.names_fds[1]) {
		network_refuse_names(keeper);
	} else if (fd == keeper->launch.payload_fd && keeper->is_serving) {
		clients_hear_init(keeper);
	} else if (fd == keeper->launch.payload_fd || fd == keeper->launch.control_fd) {
		hear_launch(keeper, fd);
	} else {
		struct client *client = client_of_fd(keeper, fd);

		if (client)
			client_step(keeper, client);
	}
}

/* Removed, or another one has its name by now. */
static bool is_sandbox_gone(const struct keeper_options *options)
{
	struct stat mine, there;

	return fstat(options->dir_fd, &mine) < 0 || stat(options->directory, &there) < 0 ||
	       mine.st_ino != there.st_ino || mine.st_dev != there.st_dev;
}

static void look(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	bool is_alone = keeper->is_idle && keeper->client_count == 0;

	if (keeper->is_serving && !keeper->is_idle)
		bounds_look(keeper, false);
	if (options->expires_ms && clock_epoch_ms() >= options->expires_ms)
		keeper->is_over = true;
	if (is_alone && clock_now_ns() - keeper->idle_since_ns >= options->idle_ms * 1000000)
		keeper->is_over = true;
	if (is_sandbox_gone(options))
		keeper->is_over = true;
}

static int patience_ms(const struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	uint64_t wait = options->idle_ms < LOOK_MS ? options->idle_ms + 1 : LOOK_MS;
	uint64_t now = clock_epoch_ms();

	if (!keeper->is_idle)
		wait = BOUNDS_MS;
	if (options->expires_ms && options->expires_ms < now + wait)
		wait = options->expires_ms > now ? options->expires_ms - now : 0;
	return (int)wait;
}

static void serve(struct keeper *keeper)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t looked_ns = clock_now_ns();

	while (!keeper->is_over) {
		int count = epoll_wait(keeper->epoll_fd, events, EVENTS_MAX, patience_ms(keeper));

		for (int i = 0; i < count && !keeper->is_over; i++)
			handle(keeper, events[i].data.fd);
		/* Busy clients must not delay the check. */
		if (clock_now_ns() - looked_ns < (uint64_t)patience_ms(keeper) * 1000000)
			continue;
		look(keeper);
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

static int detach(const struct keeper_options *options)
{
	const int keep[] = { options->dir_fd, options->listen_fd, options->lock_fds[0],
			     options->lock_fds[1] };

	if (process_detach(keep, sizeof(keep) / sizeof(keep[0]), "aisbx-keeper") < 0 ||
	    chdir("/") < 0)
		return -1;
	forget_environment();
	return 0;
}

/* For a caller that has to end us by force: a pid alone may be reused by then. */
static void say_who(const struct keeper_options *options)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%d %llu\n", getpid(),
			   (unsigned long long)process_began(getpid()));

	if (ftruncate(options->lock_fds[1], 0) == 0)
		(void)!pwrite(options->lock_fds[1], text, (size_t)len, 0);
}

bool keeper_find(int dir_fd, struct keeper_who *ret_who)
{
	unsigned long long ticks = 0;
	char text[64];
	int pid = 0;

	*ret_who = (struct keeper_who){ 0 };
	if (file_read_small(dir_fd, KEEPER_LOCK, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%d %llu", &pid, &ticks) != 2)
		return false;
	*ret_who = (struct keeper_who){ pid, ticks };
	return true;
}

bool keeper_kill(const struct keeper_who *who, bool if_halted)
{
	return who->pid > 0 && process_kill(who->pid, who->ticks, if_halted);
}

bool keeper_wait(const struct keeper_who *who, int ms)
{
	return process_wait_end(who->pid, who->ticks, ms);
}

static int launch(struct keeper *keeper, struct error *err)
{
	const struct keeper_options *options = keeper->options;

	if (options->spec->seccomp) {
		if (seccomp_file_compile(options->spec->seccomp, &keeper->filter, err) < 0)
			return -1;
		keeper->io.extra_filter = &keeper->filter;
	}
	keeper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (launch_start(options->spec, &keeper->io, &keeper->launch, err) < 0)
		return -1;
	if (fd_watch(keeper->epoll_fd, keeper->launch.control_fd) < 0 ||
	    fd_watch(keeper->epoll_fd, keeper->launch.payload_fd) < 0 ||
	    (keeper->launch.gateway_fd >= 0 &&
	     fd_watch(keeper->epoll_fd, keeper->launch.gateway_fd) < 0))
		return error_errno(err, ERROR_HOST, "epoll");
	return 0;
}

static _Noreturn void keeper_main(const struct keeper_options *options)
{
	struct keeper *keeper = xcalloc(1, sizeof(*keeper));
	struct error err;

	keeper->options = options;
	keeper->listener_fd = -1;
	for (size_t i = 0; i < 3; i++)
		keeper->io.fds[i] = -1;
	for (size_t i = 0; i < 2; i++)
		keeper->io.lock_fds[i] = options->lock_fds[i];
	keeper->io.ends_ms = options->expires_ms;
	launch_init(&keeper->launch);
	if (detach(options) < 0)
		_exit(1);
	say_who(options);
	bounds_init(keeper);
	fresh_begin(keeper);
	if (launch(keeper, &err) < 0)
		clients_fail(keeper, &err);
	else
		serve(keeper);
	(void)unlinkat(options->dir_fd, KEEPER_SOCKET, 0);
	/* Waits for the end of all processes: the caller takes our end for theirs. */
	if (keeper->launch.init_pid > 0) {
		launch_signal(&keeper->launch, SIGKILL);
		if (fd_wait(keeper->launch.init_fd, POLLIN, END_MS) > 0)
			fresh_end(keeper);
		clients_end(keeper);
	}
	bounds_done(keeper);
	launch_done(&keeper->launch, false);
	_exit(0);
}

pid_t keeper_start(const struct keeper_options *options, struct error *err)
{
	pid_t pid = child_fork(CHILD_ALONE, 0, NULL, err);

	if (pid == 0)
		keeper_main(options);
	return pid;
}
