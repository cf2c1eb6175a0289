/* SPDX-License-Identifier: Apache-2.0 */
/* What ran, as operations ask for it: the caller's history, and the kept output of runs. */
#include "app/record/history.h"

#include "app/record/log_room.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "history/trim.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE ((size_t)256 << 10)

char *app_state_dir(struct error *err)
{
	owned(host_done) struct host host;

	memset(&host, 0, sizeof(host));
	return host_read(&host, err) < 0 ? NULL : xstrdup(host.state_dir);
}

int app_history(struct history **ret_history, struct error *err)
{
	owned(free_ptr) char *dir = app_state_dir(err);

	return dir ? history_open(dir, ret_history, err) : -1;
}

int app_log_trim_owner(const char *state_dir, const char *owner, struct error *err)
{
	const struct log_bounds bounds = { LOG_OWNER_BYTES_MAX, LOG_OWNER_COUNT_MAX };
	owned(history_release) struct history *history = NULL;
	struct log_removed removed = { 0 };

	if (history_open(state_dir, &history, err) < 0)
		return -1;
	return history_trim_owner(history, owner, &bounds, &removed, err);
}

int app_log_open(const char *run, const char *owner, struct app_log *ret_log,
		 struct value **ret_show, struct error *err)
{
	owned(history_release) struct history *history = NULL;

	*ret_log = (struct app_log){ .fd = -1, .state_dir = app_state_dir(err) };
	if (!ret_log->state_dir || history_open(ret_log->state_dir, &history, err) < 0)
		return -1;
	if (history_find(history, run, owner, ret_log->run_id, err) < 0)
		return -1;
	return history_show(history, ret_log->run_id, ret_show, err);
}

void app_log_close(struct app_log *log)
{
	fd_close(&log->fd);
	free_ptr(&log->state_dir);
	str_done(&log->pending);
}

/* Made at the first byte: until then there is none. */
static int open_file(struct app_log *log, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/logs/%s", log->state_dir, log->run_id);

	log->fd = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);
	if (log->fd < 0 && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "%s", path);
	return 0;
}

static int take_frames(struct app_log *log,
		       void (*frame)(const struct kept_frame *frame, void *cookie), void *cookie,
		       struct error *err)
{
	struct kept_frame one;
	size_t offset = 0;
	int got;

	while ((got = kept_log_next(str_cstr(&log->pending), log->pending.len, &offset, &one)) > 0)
		frame(&one, cookie);
	if (got < 0)
		return error_set(err, ERROR_INPUT, "the kept output of run %s is damaged",
				 log->run_id);
	str_drop_front(&log->pending, offset);
	return 0;
}

int app_log_read(struct app_log *log, void (*frame)(const struct kept_frame *frame, void *cookie),
		 void *cookie, struct error *err)
{
	owned(free_ptr) char *buffer = NULL;
	ssize_t got;

	if (log->fd < 0 && open_file(log, err) < 0)
		return -1;
	if (log->fd < 0)
		return 0;
	buffer = xmalloc(READ_SIZE);
	while ((got = read(log->fd, buffer, READ_SIZE)) > 0) {
		str_add_bytes(&log->pending, buffer, (size_t)got);
		if (take_frames(log, frame, cookie, err) < 0)
			return -1;
	}
	return got < 0 ? error_errno(err, ERROR_HOST, "the kept output of run %s", log->run_id) : 0;
}

int app_log_has_ended(struct app_log *log, bool *ret_has_ended, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *show = NULL;
	const char *status;

	if (history_open(log->state_dir, &history, err) < 0 ||
	    history_show(history, log->run_id, &show, err) < 0)
		return -1;
	status = value_get_text(show, "status");
	*ret_has_ended = !status || strcmp(status, "running") != 0;
	return 0;
}

char *app_last_run(const char *sandbox)
{
	owned(history_release) struct history *history = NULL;
	struct history_last last;
	struct error ignored;
	bool is_there = false;

	if (app_history(&history, &ignored) < 0 ||
	    history_last_run(history, sandbox, &last, &is_there, &ignored) < 0 || !is_there)
		return NULL;
	return xstrdup(last.run_id);
}
