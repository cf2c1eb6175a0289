/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large bases under the kernel's eye: marked, and kept when somebody is about to open or change them.
 *
 * Permission events stop whoever causes them until they are answered. The process that answers therefore does nothing
 * else: it reads a file only through the descriptor that came with the event, which causes none, and opens nothing but
 * the store. Who asks it to mark something may himself be stopped by a mark.
 */
#include "base/fd.h"
#include "base/own.h"
#include "base/parent_end.h"
#include "app/sandbox/protect_parts.h"
#include "app/sandbox/sandbox_parts.h"
#include "workspace/base/origin_blob.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linux 6.14; the header may be older. */
#ifndef FAN_PRE_ACCESS
#define FAN_PRE_ACCESS 0x00100000
#endif

/* Whoever is about to change the file waits while it is copied. */
#define KEPT_MAX ((off_t)1 << 30)
#define EVENTS_SIZE 4096

enum { ORDER_MARK = 'm', ORDER_FORGET = 'f' };

struct watcher {
	const struct sandbox *sandbox; /* as it was when we began: its names */
	const char *store_path;
	int group_fd, order_fd;
	pid_t guard_pid; /* whose child we are */
};

/* Keeps the content of FD, which was HELD a moment ago, as RECORD's. */
static void keep(const char *store_path, const char *name, int fd, const struct txn_identity *held,
		 struct origin_record *record)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	struct error ignored = { 0 };

	if (store_open(store_path, &place.store, &ignored) < 0)
		return;
	place.has_store = true;
	if (sandbox_open(&place.store, name, SANDBOX_UNLOCKED, &place.sandbox, &ignored) < 0)
		return;
	place.has_sandbox = true;
	record->origin.quality = ORIGIN_CAPTURED;
	if (origin_keep(&place.store, fd, held, record->origin.sha256, &ignored) == 0 &&
	    record->origin.sha256[0])
		(void)origin_blobs_add(&place.sandbox, record, &ignored);
}

static void order(int group_fd, unsigned how, int fd)
{
	/* Older kernels ask at each open, which is all that most editors do. */
	if (fanotify_mark(group_fd, how, FAN_OPEN_PERM | FAN_PRE_ACCESS, fd, NULL) < 0)
		(void)fanotify_mark(group_fd, how, FAN_OPEN_PERM, fd, NULL);
}

static void keep_asked(const struct watcher *watcher, int fd)
{
	char link[32], path[PATH_MAX];
	struct origin_record record = { .path = path };
	struct stat st;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);

	if (len <= 0 || fstat(fd, &st) < 0 || st.st_nlink == 0 || st.st_size > KEPT_MAX)
		return;
	path[len] = '\0';
	txn_identity_of(fd, "", &record.origin.identity);
	const struct txn_identity held = record.origin.identity;

	keep(watcher->store_path, watcher->sandbox->name, fd, &held, &record);
}

static void answer(const struct watcher *watcher, const struct fanotify_event_metadata *event)
{
	const struct fanotify_response said = { .fd = event->fd, .response = FAN_ALLOW };

	keep_asked(watcher, event->fd);
	/* One copy is all there is to keep. */
	order(watcher->group_fd, FAN_MARK_REMOVE, event->fd);
	(void)!write(watcher->group_fd, &said, sizeof(said));
	close(event->fd);
}

static void take_events(const struct watcher *watcher)
{
	char buffer[EVENTS_SIZE] __attribute__((aligned(8)));
	ssize_t got = read(watcher->group_fd, buffer, sizeof(buffer));

	for (ssize_t at = 0; at < got;) {
		struct fanotify_event_metadata event;

		memcpy(&event, buffer + at, sizeof(event));
		at += event.event_len;
		if (event.fd >= 0)
			answer(watcher, &event);
	}
}

/* False at the end. */
static bool take_order(const struct watcher *watcher)
{
	size_t count = 0;
	int fd = -1;
	char what;

	/* What cannot be taken is not watched; who waits for an answer gets one. */
	if (fd_receive(watcher->order_fd, &what, 1, &fd, 1, &count) != 1 && errno != EMFILE)
		return false;
	if (count == 1) {
		order(watcher->group_fd, what == ORDER_MARK ? FAN_MARK_ADD : FAN_MARK_REMOVE, fd);
		close(fd);
	}
	return send(watcher->order_fd, &what, 1, MSG_NOSIGNAL) == 1;
}

static _Noreturn void watcher_main(const struct watcher *watcher)
{
	struct pollfd polls[] = { { .fd = watcher->group_fd, .events = POLLIN },
				  { .fd = watcher->order_fd, .events = POLLIN } };

	parent_end_follow(watcher->guard_pid, SIGKILL);
	(void)prctl(PR_SET_NAME, "aisbx-marks", 0, 0, 0);
	for (;;) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			_exit(1);
		if (polls[0].revents)
			take_events(watcher);
		if (polls[1].revents && !take_order(watcher))
			_exit(0);
	}
}

static int open_group(void)
{
	return fanotify_init(FAN_CLASS_PRE_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK,
			     O_RDONLY | O_LARGEFILE | O_CLOEXEC);
}

int protect_marks_check(struct error *err)
{
	owned(fd_close) int group_fd = open_group();

	return group_fd >= 0 ? 0
			     : error_errno(err, ERROR_DENIED,
					   "--protect-base: the kernel will not ask before a file "
					   "is changed (fanotify), for which it wants "
					   "CAP_SYS_ADMIN outside any container; leave it out");
}

void protect_marks_init(struct protect_marks *marks, const struct sandbox *sandbox)
{
	owned(fd_close) int group_fd = open_group();
	struct watcher watcher = { .sandbox = sandbox,
				   .store_path = sandbox->store->path,
				   .group_fd = group_fd,
				   .guard_pid = getpid() };
	int ends[2];

	marks->watch_fd = -1;
	if (group_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	watcher.order_fd = ends[1];
	pid_t pid = fork();

	if (pid == 0) {
		close(ends[0]);
		watcher_main(&watcher);
	}
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	else
		marks->watch_fd = ends[0];
}

/* Asks for a mark or its end, and waits until it is done. */
static bool send_order(const struct protect_marks *marks, char what, int fd)
{
	char done;

	return marks->watch_fd >= 0 && fd_send(marks->watch_fd, &what, 1, &fd, 1) == 0 &&
	       recv(marks->watch_fd, &done, 1, 0) == 1;
}

static bool is_marked(const struct protect_marks *marks, const struct origin_record *record)
{
	for (size_t i = 0; i < marks->count; i++) {
		const struct origin_record *other = &marks->items[i].record;

		if (strcmp(other->path, record->path) == 0 &&
		    target_is_same(&other->origin.identity, &record->origin.identity))
			return true;
	}
	return false;
}

static void add(struct protect_marks *marks, const struct sandbox *sandbox, int root_fd,
		const struct origin_record *record)
{
	const struct txn_identity *identity = &record->origin.identity;
	const char *path = target_relative(sandbox->workspace, record->path);
	struct txn_identity now;

	if (!path || marks->count == PROTECT_MARKS_MAX || (off_t)identity->size > KEPT_MAX ||
	    is_marked(marks, record))
		return;
	owned(fd_close) int fd = target_open_file(root_fd, path, identity);

	if (fd < 0 || !send_order(marks, ORDER_MARK, fd))
		return;
	/* Whoever was quicker than the mark has changed it. */
	txn_identity_of(fd, "", &now);
	if (!target_is_same(identity, &now)) {
		(void)send_order(marks, ORDER_FORGET, fd);
		return;
	}
	marks->items[marks->count++] = (struct protect_mark){
		.fd = fd_take(&fd),
		.record = { .path = xstrdup(record->path), .origin = { .identity = *identity } },
	};
}

static void drop(struct protect_marks *marks, struct protect_mark *mark)
{
	close(mark->fd);
	origin_record_done(&mark->record);
	*mark = marks->items[--marks->count];
}

/* Whether the host still has the file there; what it removed or replaced is ours to read as long as it is held. */
static bool settle(const struct protect_marks *marks, const struct sandbox *sandbox, int root_fd,
		   struct protect_mark *mark)
{
	const struct txn_identity *base = &mark->record.origin.identity;
	struct txn_identity there, held;

	target_look(root_fd, target_relative(sandbox->workspace, mark->record.path), &there);
	if (target_is_same(base, &there))
		return true;
	txn_identity_of(mark->fd, "", &held);
	/* Edited in place: it was kept before that. */
	if (held.size != base->size || held.mtime_ns != base->mtime_ns)
		return false;
	(void)send_order(marks, ORDER_FORGET, mark->fd);
	keep(sandbox->store->path, sandbox->name, mark->fd, &held, &mark->record);
	return false;
}

static void settle_all(struct protect_marks *marks, const struct sandbox *sandbox, int root_fd)
{
	for (size_t i = 0; i < marks->count;) {
		if (settle(marks, sandbox, root_fd, &marks->items[i]))
			i++;
		else
			drop(marks, &marks->items[i]);
	}
}

void protect_marks_update(struct protect_marks *marks, const struct sandbox *sandbox)
{
	owned(origin_records_done) struct origin_records records = { 0 };
	owned(fd_close) int root_fd = -1;
	struct origin_index *index = NULL;
	struct view_stack stack;
	struct error ignored = { 0 };

	if (marks->watch_fd < 0 || target_open(sandbox->workspace, &root_fd, &ignored) < 0)
		return;
	settle_all(marks, sandbox, root_fd);
	if (engine_view(sandbox, NULL, &stack, &ignored) < 0)
		return;
	if (origin_index_open(sandbox, &stack, &index, &ignored) == 0)
		origin_blobs_unknown(index, &records);
	for (size_t i = 0; i < records.count; i++)
		add(marks, sandbox, root_fd, &records.items[i]);
	origin_index_close(index);
	view_close(&stack);
}

void protect_marks_end(struct protect_marks *marks, const struct sandbox *sandbox)
{
	owned(fd_close) int root_fd = -1;
	struct error ignored = { 0 };

	if (target_open(sandbox->workspace, &root_fd, &ignored) < 0)
		return;
	settle_all(marks, sandbox, root_fd);
	for (size_t i = 0; i < marks->count; i++) {
		struct protect_mark *mark = &marks->items[i];

		/* Marked until it is kept: who opens it meanwhile waits for the other copy, not for this one. */
		keep(sandbox->store->path, sandbox->name, mark->fd, &mark->record.origin.identity,
		     &mark->record);
		(void)send_order(marks, ORDER_FORGET, mark->fd);
	}
}
