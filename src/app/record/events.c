/* SPDX-License-Identifier: Apache-2.0 */
/* What happens: the record read on whenever the kernel says that its spool was written to. */
#include "app/record/events.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "host/host.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* A run whose supervisor is killed writes nothing: while one is under way, its end is looked for so often. */
#define LOOK_MS 5000

static int watch(const char *dir, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd < 0)
		return error_advise(err, ERROR_HOST, "raise fs.inotify.max_user_instances",
				    "cannot watch '%s': %s", dir, error_words(errno));
	if (inotify_add_watch(fd, dir, IN_MODIFY | IN_MOVED_TO | IN_ONLYDIR) < 0)
		return error_errno(err, ERROR_HOST, "cannot watch '%s'", dir);
	*ret_fd = fd_take(&fd);
	return 0;
}

static int find_place(struct app_events *events, const char *since, struct error *err)
{
	struct history_place last;
	char shown[STR_SHOWN_SIZE];

	if (history_place_last(events->history, &last, err) < 0)
		return -1;
	if (!since && events->watch_fd >= 0)
		events->place = last;
	if (!since)
		return 0;
	if (!history_place_read(since, &events->place))
		return error_set(err, ERROR_USAGE,
				 "--since %s: it is an event's id, such as 17 or 17.1",
				 str_shown(since, shown));
	/* A record that was begun anew counts from one. */
	if (events->place.record > last.record)
		return error_advise(err, ERROR_NOT_FOUND, "--since 0 gives all that there is",
				    "--since %s: the last event on record is %lld",
				    str_shown(since, shown), (long long)last.record);
	return 0;
}

int app_events_open(const char *since, bool is_followed, struct app_events *ret_events,
		    struct error *err)
{
	owned(host_done) struct host host = { 0 };
	owned(history_release) struct history *history = NULL;

	*ret_events = (struct app_events){ .watch_fd = -1 };
	/* The second look: nothing that comes between it and the watch is missed. */
	if (host_read(&host, err) < 0 || history_open(host.state_dir, &history, err) < 0 ||
	    (is_followed && watch(host.state_dir, &ret_events->watch_fd, err) < 0) ||
	    history_refresh(history, err) < 0)
		return -1;
	ret_events->history = ptr_take(&history);
	return find_place(ret_events, since, err);
}

void app_events_close(struct app_events *events)
{
	history_release(&events->history);
	fd_close(&events->watch_fd);
}

/* Whether the spool is among what changed: our own reading changes the database beside it. */
static bool is_spool_written(int fd)
{
	_Alignas(struct inotify_event) char buffer[4096];
	bool is_written = false;
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(buffer + at);

			is_written |= (event->mask & IN_Q_OVERFLOW) ||
				      (event->len > 0 && str_starts(event->name, "spool"));
			at += (ssize_t)sizeof(*event) + event->len;
		}
	}
	return is_written;
}

/* 1: there may be more on record; 0: it is no longer read. */
static int wait_more(struct app_events *events, int reader_fd, struct error *err)
{
	struct pollfd fds[] = { { .fd = events->watch_fd, .events = POLLIN }, { .fd = reader_fd } };
	int64_t running;

	for (;;) {
		if (history_running(events->history, &running, err) < 0)
			return -1;
		int got = poll(fds, 2, running > 0 ? LOOK_MS : -1);

		if (got < 0 && errno != EINTR)
			return error_errno(err, ERROR_HOST, "poll");
		if (got > 0 && fds[1].revents)
			return 0;
		if (got == 0 || (got > 0 && is_spool_written(events->watch_fd)))
			return 1;
	}
}

int app_events_next(struct app_events *events, int reader_fd, struct value **ret_list,
		    struct error *err)
{
	bool has_more;

	if (events->is_read) {
		int got = events->watch_fd < 0 ? 0 : wait_more(events, reader_fd, err);

		if (got <= 0)
			return got;
		if (history_refresh(events->history, err) < 0)
			return -1;
	}
	if (history_events(events->history, &events->place, ret_list, &has_more, err) < 0)
		return -1;
	events->is_read = !has_more;
	return 1;
}
