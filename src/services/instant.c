/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State directories of several services as of one instant.
 *
 * Each has a process of its service's user. It copies what is there while the service runs, says so, and waits. When all
 * have, all services are halted, each process brings its copy up to date, and they go on. What is not done when the pause is over
 * is given up: a process that is still at one large file is not waited for.
 */
#include "services/instant.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define PAUSE_NS (SERVICE_PAUSE_MS * UINT64_C(1000000))
/* What a live copy of a large state may take. */
#define LIVE_NS (UINT64_C(3600) * 1000000000)

struct copier {
	const struct service *service;
	pid_t pid;
	int fd;
};

struct copiers {
	struct copier *items;
	size_t count;
};

static void copiers_done(struct copiers *copiers)
{
	for (size_t i = 0; i < copiers->count; i++) {
		fd_close(&copiers->items[i].fd);
		child_end(copiers->items[i].pid);
	}
	free_ptr(&copiers->items);
}

static int start_copiers(const struct service_task *tasks, size_t count,
			 const struct freeze *freeze, struct copiers *copiers, struct error *err)
{
	copiers->items = xcalloc(count, sizeof(*copiers->items));
	for (size_t i = 0; i < count; i++) {
		struct copier *copier = &copiers->items[i];

		copier->service = tasks[i].service;
		copier->pid = child_fork(CHILD_TALKS, SIGKILL, &copier->fd, err);
		if (copier->pid == 0)
			state_copy_run(&tasks[i], freeze, copier->fd);
		if (copier->pid < 0)
			return -1;
		copiers->count++;
	}
	return 0;
}

int service_give_up(const struct service *service, struct error *err)
{
	return error_set(err, ERROR_BUSY,
			 "%s would have stood for longer than %d ms: the copy was given up, and it "
			 "runs on",
			 service->name, SERVICE_PAUSE_MS);
}

/* What all of them say of the pass they are at. */
static int hear_all(const struct copiers *copiers, uint64_t until_ns, struct error *err)
{
	for (size_t i = 0; i < copiers->count; i++) {
		const struct copier *copier = &copiers->items[i];
		struct error told;

		if (fd_wait_until(copier->fd, POLLIN, until_ns) <= 0)
			return service_give_up(copier->service, err);
		if (read(copier->fd, &told, sizeof(told)) != (ssize_t)sizeof(told) ||
		    (told.code != ERROR_NONE && !error_is_sane(&told)))
			return error_set(err, ERROR_HOST, "the process that copies %s was ended",
					 copier->service->name);
		if (told.code == ERROR_NONE)
			continue;
		*err = told;
		return -1;
	}
	return 0;
}

static int update_all(const struct copiers *copiers, uint64_t until_ns, struct error *err)
{
	for (size_t i = 0; i < copiers->count; i++) {
		if (write(copiers->items[i].fd, &until_ns, sizeof(until_ns)) !=
		    (ssize_t)sizeof(until_ns))
			return error_set(err, ERROR_HOST, "the process that copies %s was ended",
					 copiers->items[i].service->name);
	}
	return 0;
}

static int halt_all(const struct copiers *copiers, struct freeze *freeze, struct error *err)
{
	owned(free_ptr) pid_t *pids = xcalloc(copiers->count, sizeof(*pids));

	for (size_t i = 0; i < copiers->count; i++)
		pids[i] = copiers->items[i].service->pid;
	return freeze_begin(freeze, pids, copiers->count, SERVICE_PAUSE_MS, err);
}

int states_copy_frozen(const struct service_task *tasks, size_t count,
		       int (*act)(void *cookie, uint64_t until_ns, struct error *err), void *cookie,
		       uint64_t *ret_pause_us, struct error *err)
{
	owned(copiers_done) struct copiers copiers = { NULL, 0 };
	owned(freeze_close) struct freeze freeze = { .list = NULL };
	int status;

	if (freeze_open(&freeze, err) < 0)
		return -1;
	if (start_copiers(tasks, count, &freeze, &copiers, err) < 0 ||
	    hear_all(&copiers, clock_now_ns() + LIVE_NS, err) < 0 ||
	    halt_all(&copiers, &freeze, err) < 0)
		return -1;
	uint64_t until_ns = freeze.began_ns + PAUSE_NS * 9 / 10;

	status = update_all(&copiers, until_ns, err);
	if (status == 0 && act)
		status = act(cookie, until_ns, err);
	if (status == 0)
		status = hear_all(&copiers, until_ns, err);
	*ret_pause_us = freeze_end(&freeze);
	/* Halted ourselves meanwhile, we may have read on behind the watchdog's back. */
	if (status == 0 && *ret_pause_us > PAUSE_NS / 1000)
		return service_give_up(tasks[0].service, err);
	return status;
}
