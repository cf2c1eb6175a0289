/* SPDX-License-Identifier: Apache-2.0 */
/* The process that protects bases: sees what is copied up, and has it written down. */
#include "app/sandbox/protect.h"

#include "base/clock.h"
#include "base/dir.h"
#include "base/own.h"
#include "base/process.h"
#include "app/sandbox/protect_parts.h"
#include "app/sandbox/sandbox_parts.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WATCHES_MAX 65536
#define EVENTS_SIZE 65536
/* How often it is looked at what the host removed or replaced, while anything is marked; that is held meanwhile. */
#define LOOK_MS 1000
/* A look takes as long as there are changes: between two of them it rests so many times as long. */
#define REST 4

struct guard {
	const char *name;
	int upper_fd;
	int notify_fd; /* of the top's directories */
	int end_fd;    /* of the process that holds the sandbox */
	char **paths;  /* by watch, relative to the top */
	size_t count;
	struct protect_marks marks;
};

static bool is_asked(const struct settings *settings)
{
	return settings->protect_base && strcmp(settings->protect_base, "true") == 0;
}

int protect_check(const struct settings *settings, struct error *err)
{
	if (!is_asked(settings))
		return 0;
	if (geteuid() == 0)
		return protect_marks_check(err);
	return error_set(err, ERROR_DENIED,
			 "--protect-base needs root: only root is asked by the kernel before a "
			 "file is changed; leave it out, or run as root");
}

static void note_watch(struct guard *guard, int watch, const char *path)
{
	size_t at = (size_t)watch;

	if (at >= guard->count) {
		guard->paths = xrealloc(guard->paths, at + 64, sizeof(char *));
		memset(guard->paths + guard->count, 0, (at + 64 - guard->count) * sizeof(char *));
		guard->count = at + 64;
	}
	free(guard->paths[at]);
	guard->paths[at] = xstrdup(path);
}

/* Units begin with u; what the kernel needs for copying lies beside them. */
static bool is_of_interest(const char *path, const char *name)
{
	return *path || name[0] == 'u';
}

/* Watches PATH and what is below it. The names are a sandbox's: by descriptor, following no link. */
static void watch_tree(struct guard *guard, const char *path)
{
	owned(strv_done) struct strv ahead = STRV_INIT;

	strv_add(&ahead, path);
	for (size_t i = 0; i < ahead.count && ahead.count < WATCHES_MAX; i++) {
		const char *here = ahead.items[i];
		owned(fd_close) int fd = sys_open_beneath(guard->upper_fd, *here ? here : ".",
							  O_RDONLY | O_DIRECTORY);
		char link[32];
		struct dirent *entry;

		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		int watch = fd < 0 ? -1
				   : inotify_add_watch(guard->notify_fd, link,
						       IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);

		if (watch < 0 || watch >= WATCHES_MAX)
			continue;
		note_watch(guard, watch, here);
		owned(dir_close) DIR *dir = dir_take(&fd);

		while (dir_next(dir, &entry) > 0) {
			if (entry->d_type == DT_DIR && is_of_interest(here, entry->d_name))
				strv_addf(&ahead, "%s%s%s", ahead.items[i],
					  *ahead.items[i] ? "/" : "", entry->d_name);
		}
	}
}

/* Whether something was copied up or made; new directories are watched from here on. */
static bool take_events(struct guard *guard)
{
	char buffer[EVENTS_SIZE] __attribute__((aligned(8)));
	ssize_t got = read(guard->notify_fd, buffer, sizeof(buffer));
	bool is_news = false;

	for (ssize_t at = 0; at < got;) {
		struct inotify_event event;
		const char *name = buffer + at + sizeof(event);

		memcpy(&event, buffer + at, sizeof(event));
		at += (ssize_t)(sizeof(event) + event.len);
		/* What overflowed is looked for everywhere. */
		const char *above = event.wd >= 0 && (size_t)event.wd < guard->count
					    ? guard->paths[event.wd]
					    : NULL;

		if (event.mask & IN_Q_OVERFLOW)
			watch_tree(guard, "");
		if (event.len == 0 || !above || !is_of_interest(above, name)) {
			is_news |= (event.mask & IN_Q_OVERFLOW) != 0;
			continue;
		}
		is_news = true;
		if (!(event.mask & IN_ISDIR))
			continue;
		owned(free_ptr) char *path = xasprintf("%s%s%s", above, *above ? "/" : "", name);

		watch_tree(guard, path);
	}
	return is_news;
}

/* False when the sandbox is gone. */
static bool look(struct guard *guard, bool is_news, bool is_last)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	struct error ignored = { 0 };

	if (engine_store(&place.store, &ignored) < 0)
		return false;
	place.has_store = true;
	if (sandbox_open(&place.store, guard->name, is_last ? SANDBOX_UNLOCKED : SANDBOX_SHARED,
			 &place.sandbox, &ignored) < 0)
		return ignored.code != ERROR_NOT_FOUND;
	place.has_sandbox = true;
	if (is_last) {
		protect_marks_end(&guard->marks, &place.sandbox);
		return false;
	}
	if (is_news)
		sandbox_capture(&place.sandbox);
	protect_marks_update(&guard->marks, &place.sandbox);
	return true;
}

/* Until something happens in the top; false when whoever holds the sandbox has ended. */
static bool await(struct guard *guard, int rest_ms, bool *ret_is_news)
{
	struct pollfd ends[] = { { .fd = guard->end_fd, .events = POLLIN },
				 { .fd = guard->notify_fd, .events = POLLIN } };

	if (poll(ends, 1, rest_ms) > 0)
		return false;
	if (poll(ends, 2, guard->marks.count > 0 ? LOOK_MS : -1) < 0 && errno != EINTR)
		return false;
	*ret_is_news = ends[1].revents && take_events(guard);
	return !ends[0].revents;
}

static void serve(struct guard *guard)
{
	uint64_t began = clock_now_ns();
	bool is_news = true;

	while (look(guard, is_news, false)) {
		uint64_t rest_ms = (clock_now_ns() - began) * REST / 1000000;

		if (!await(guard, rest_ms < LOOK_MS ? (int)rest_ms : LOOK_MS, &is_news)) {
			(void)look(guard, false, true);
			return;
		}
		began = clock_now_ns();
	}
}

static _Noreturn void guard_main(struct guard *guard, const struct sandbox *sandbox)
{
	const int keep[] = { guard->upper_fd, guard->notify_fd, guard->end_fd };

	if (process_detach(keep, sizeof(keep) / sizeof(keep[0]), "aisbx-guard") < 0 ||
	    chdir("/") < 0)
		_exit(1);
	guard->name = sandbox->name;
	protect_marks_init(&guard->marks, sandbox);
	watch_tree(guard, "");
	serve(guard);
	_exit(0);
}

int protect_start(const struct settings *settings, const struct sandbox *sandbox, pid_t holder,
		  struct error *err)
{
	owned(fd_close) int upper_fd = -1;
	owned(fd_close) int end_fd = -1, notify_fd = -1;

	if (!is_asked(settings))
		return 0;
	if (protect_check(settings, err) < 0 || sandbox_open_upper(sandbox, &upper_fd, err) < 0)
		return -1;
	end_fd = (int)syscall(SYS_pidfd_open, holder, 0);
	notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (end_fd < 0 || notify_fd < 0)
		return error_errno(err, ERROR_HOST, "--protect-base");
	struct guard *guard = xcalloc(1, sizeof(*guard));

	*guard = (struct guard){ .upper_fd = upper_fd, .notify_fd = notify_fd, .end_fd = end_fd };
	pid_t pid = fork();

	if (pid == 0)
		guard_main(guard, sandbox);
	free(guard);
	return pid < 0 ? error_errno(err, ERROR_HOST, "--protect-base: fork") : 0;
}
