/* SPDX-License-Identifier: Apache-2.0 */
/* Watched directories: what happens in them, as a stream or to be asked for. */
#include "base/core/own.h"
#include "base/file/dir.h"
#include "envd/entries.h"
#include "envd/place.h"
#include "envd/routes.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define WATCHERS_MAX 64
#define DIRECTORIES_MAX 4096
#define EVENTS_MAX 4096
/* What a client may leave unread before it misses events. */
#define UNREAD_MAX ((size_t)1 << 20)
#define MASK                                                                           \
	(IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | \
	 IN_ONLYDIR | IN_DONT_FOLLOW)

struct watched {
	int number;
	char *below; /* the root, "" for the root itself */
};

struct watcher {
	struct watcher *next;
	struct agent *agent;
	unsigned id;
	char *root;
	bool is_recursive, has_entries;
	struct source source;
	struct watched *items;
	size_t count;
	struct call *call; /* its stream; NULL: events are asked for */
	struct str events; /* of JSON, with commas between */
	unsigned event_count;
};

static char *join(const char *dir, const char *name)
{
	return *dir ? xasprintf("%s%s%s", dir, *name ? "/" : "", name) : xstrdup(name);
}

/* BELOW and, of a recursive one, the directories in it; only the root must be one. */
/* NOLINTNEXTLINE(misc-no-recursion): DIRECTORIES_MAX bounds it */
static int add_directory(struct watcher *watcher, const char *below)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", watcher->root, below);
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;
	int number;

	if (watcher->count == DIRECTORIES_MAX) {
		errno = ENOSPC;
		return -1;
	}
	number =
		inotify_add_watch(watcher->source.fd, path, *below ? MASK : MASK & ~IN_DONT_FOLLOW);
	if (number < 0)
		return -1;
	watcher->items = xrealloc(watcher->items, watcher->count + 1, sizeof(*watcher->items));
	watcher->items[watcher->count++] = (struct watched){ number, xstrdup(below) };
	dir = watcher->is_recursive ? opendir(path) : NULL;
	while (dir && dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *next = join(below, entry->d_name);

		if (entry->d_type == DT_DIR)
			(void)add_directory(watcher, next);
	}
	return 0;
}

static const char *type_of(uint32_t mask)
{
	return mask & (IN_CREATE | IN_MOVED_TO) ? "EVENT_TYPE_CREATE"
	       : mask & IN_MODIFY		? "EVENT_TYPE_WRITE"
	       : mask & IN_DELETE		? "EVENT_TYPE_REMOVE"
	       : mask & IN_MOVED_FROM		? "EVENT_TYPE_RENAME"
						: "EVENT_TYPE_CHMOD";
}

static void write_event(const struct watcher *watcher, uint32_t mask, const char *name,
			struct str *out)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", watcher->root, name);
	struct json json;
	struct stat st;

	json_init(&json, out);
	json_open(&json, '{');
	json_key(&json, "name");
	json_text(&json, name);
	json_key(&json, "type");
	json_text(&json, type_of(mask));
	if (watcher->has_entries && !(mask & (IN_DELETE | IN_MOVED_FROM)) &&
	    lstat(path, &st) == 0) {
		json_key(&json, "entry");
		if (!entry_write(&json, path))
			json_write_null(&json);
	}
	json_close(&json, '}');
}

static void pass_on(struct watcher *watcher, const struct str *event)
{
	owned(str_done) struct str message = STR_INIT;

	if (watcher->call && watcher->call->out.len - watcher->call->out_at > UNREAD_MAX)
		return;
	if (watcher->call) {
		str_addf(&message, "{\"filesystem\":%s}", str_cstr(event));
		call_message(watcher->call, &message);
	} else if (watcher->event_count < EVENTS_MAX) {
		str_addf(&watcher->events, "%s%s", watcher->event_count++ ? "," : "",
			 str_cstr(event));
	}
}

static void take_event(struct watcher *watcher, const struct inotify_event *event)
{
	owned(str_done) struct str json = STR_INIT;

	for (size_t i = 0; i < watcher->count && event->len > 0; i++) {
		if (watcher->items[i].number != event->wd)
			continue;
		owned(free_ptr) char *name = join(watcher->items[i].below, event->name);

		if (event->mask & IN_ISDIR && event->mask & (IN_CREATE | IN_MOVED_TO) &&
		    watcher->is_recursive)
			(void)add_directory(watcher, name);
		write_event(watcher, event->mask, name, &json);
		pass_on(watcher, &json);
		return;
	}
}

static void take_events(struct source *source, uint32_t events)
{
	struct watcher *watcher = SOURCE_OF(watcher, source, source);
	char bytes[8192] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t got = read(source->fd, bytes, sizeof(bytes));

	(void)events;
	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const void *)(bytes + at);

		take_event(watcher, event);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
}

static void watcher_free(struct watcher *watcher)
{
	struct agent *agent = watcher->agent;
	struct watcher **slot = &agent->watchers;

	while (*slot && *slot != watcher)
		slot = &(*slot)->next;
	if (*slot) {
		*slot = watcher->next;
		agent->watcher_count--;
	}
	loop_drop(&watcher->source);
	for (size_t i = 0; i < watcher->count; i++)
		free(watcher->items[i].below);
	free(watcher->items);
	free(watcher->root);
	str_done(&watcher->events);
	free(watcher);
}

/* NULL: it was answered. */
static struct watcher *watcher_make(struct call *call, const struct value *message)
{
	const char *given = value_get_text(message, "path");
	struct agent *agent = call->agent;
	struct watcher *watcher;

	if (!place_check_user(call))
		return NULL;
	owned(free_ptr) char *root = place_of(given ? given : "");

	if (!root) {
		call_fail(call, "invalid_argument", "%.200s: only your own ~ is known", given);
		return NULL;
	}
	if (agent->watcher_count == WATCHERS_MAX) {
		call_fail(call, "resource_exhausted", "%d directories are watched already",
			  WATCHERS_MAX);
		return NULL;
	}
	watcher = xcalloc(1, sizeof(*watcher));
	*watcher = (struct watcher){
		.next = agent->watchers,
		.agent = agent,
		.id = ++agent->last_watcher,
		.root = ptr_take(&root),
		.is_recursive = value_is_true(message, "recursive"),
		.has_entries = value_is_true(message, "includeEntry"),
		.source = { .loop_fd = agent->loop_fd,
			    .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
			    .ready = take_events },
	};
	agent->watchers = watcher;
	agent->watcher_count++;
	if (watcher->source.fd < 0 || add_directory(watcher, "") < 0) {
		call_fail_errno(call, errno, watcher->root);
		watcher_free(watcher);
		return NULL;
	}
	loop_watch(&watcher->source, EPOLLIN);
	return watcher;
}

void watch_stream(struct call *call, const struct value *message)
{
	struct watcher *watcher = watcher_make(call, message);
	owned(str_done) struct str json = STR_INIT;

	if (!watcher)
		return;
	watcher->call = call;
	call->own = watcher;
	str_add(&json, "{\"start\":{}}");
	call_message(call, &json);
}

void watch_left(struct call *call)
{
	if (call->own)
		watcher_free(call->own);
	call->own = NULL;
}

void watch_create(struct call *call, const struct value *message)
{
	const struct watcher *watcher = watcher_make(call, message);
	owned(str_done) struct str json = STR_INIT;

	if (!watcher)
		return;
	str_addf(&json, "{\"watcherId\":\"w%u\"}", watcher->id);
	call_message(call, &json);
}

/* The one a message names that has no stream; NULL: it was answered. */
static struct watcher *named(struct call *call, const struct value *message)
{
	const char *id = value_get_text(message, "watcherId");
	struct watcher *at = call->agent->watchers;
	char name[16];

	for (; at; at = at->next) {
		(void)snprintf(name, sizeof(name), "w%u", at->id);
		if (!at->call && str_same(id, name))
			return at;
	}
	call_fail(call, "not_found", "no watcher '%.64s'", id ? id : "");
	return NULL;
}

void watch_events(struct call *call, const struct value *message)
{
	struct watcher *watcher = named(call, message);
	owned(str_done) struct str json = STR_INIT;

	if (!watcher)
		return;
	/* Those that have come since the loop last looked. */
	take_events(&watcher->source, EPOLLIN);
	str_addf(&json, "{\"events\":[%s]}", str_cstr(&watcher->events));
	str_clear(&watcher->events);
	watcher->event_count = 0;
	call_message(call, &json);
}

void watch_remove(struct call *call, const struct value *message)
{
	struct watcher *watcher = named(call, message);
	owned(str_done) struct str json = STR_INIT;

	if (!watcher)
		return;
	watcher_free(watcher);
	str_add(&json, "{}");
	call_message(call, &json);
}
