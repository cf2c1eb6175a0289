/* SPDX-License-Identifier: Apache-2.0 */
/* Housekeeping: what runs leave that were killed, and their janitors with them. */
#include "app/run/run_request.h"
#include "app/sandbox/gc_rows.h"

#include "supervise/background/place.h"
#include "base/core/own.h"
#include "confine/cgroup.h"
#include "confine/mask/mask_cache.h"
#include "host/host.h"
#include "launch/setup/storage.h"
#include "run/live.h"

#include <string.h>

/* Processes that were killed a moment ago are waited for: after gc nothing of theirs is left. */
#define ENDING_MS 5000

void gc_add_row(struct value *answer, const char *kind, const char *path, const char *detail)
{
	struct value *row = value_append(answer, value_new_map());

	value_add(row, "kind", value_new_text(kind));
	value_add(row, "path", value_new_text(path));
	value_add(row, "detail", value_new_text(detail));
}

void gc_add_removed(const struct strv *removed, const char *kind, const char *detail,
		    struct value *answer)
{
	for (size_t i = 0; i < removed->count; i++)
		gc_add_row(answer, kind, removed->items[i], detail);
}

/*
 * A group lies below that of the call which made it: a session or a service that has ended since. So all that can be
 * seen are looked through.
 */
static void find_places(const struct host *host, struct strv *places)
{
	for (size_t i = 0; i < host->mount_count; i++) {
		const struct host_mount *mount = &host->mounts[i];

		if (!mount->readonly &&
		    (strcmp(mount->fstype, "cgroup") == 0 || strcmp(mount->fstype, "cgroup2") == 0))
			cgroup_find_places(mount->point, places);
	}
}

static void remove_stale_groups(const struct host *host, struct value *answer)
{
	owned(strv_done) struct strv places = STRV_INIT, removed = STRV_INIT;

	find_places(host, &places);
	cgroup_sweep_places(&places, ENDING_MS, &removed);
	gc_add_removed(&removed, "cgroup", "its supervisor is gone", answer);
}

static void remove_stale_layers(const char *state_dir, struct value *answer)
{
	owned(strv_done) struct strv removed = STRV_INIT;

	storage_sweep(state_dir, &removed);
	gc_add_removed(&removed, "layers", "its processes are gone", answer);
}

static void remove_drafts(struct value *answer)
{
	owned(strv_done) struct strv removed = STRV_INIT;

	mask_cache_sweep(&removed);
	gc_add_removed(&removed, "masks", "its maker is gone", answer);
}

static void remove_live(const char *state_dir, struct value *answer)
{
	owned(strv_done) struct strv removed = STRV_INIT;

	live_sweep(state_dir, &removed);
	gc_add_removed(&removed, "live", "its supervisor is gone", answer);
}

/* Cards and results of commands in the background, a day after their end. */
static void remove_execs(const char *state_dir, struct value *answer)
{
	owned(strv_done) struct strv running = STRV_INIT, removed = STRV_INIT;
	owned(fd_close) int dir_fd = -1;
	struct error ignored;

	if (execs_open(state_dir, false, &dir_fd, &ignored) < 0)
		return;
	execs_sweep(dir_fd, &running, &removed);
	gc_add_removed(&removed, "exec", "its result was kept for a day", answer);
}

int app_gc(struct value **ret_answer, struct error *err)
{
	owned(host_done) struct host host;

	memset(&host, 0, sizeof(host));
	if (host_read(&host, err) < 0)
		return -1;
	struct value *answer = value_new_list();

	remove_stale_groups(&host, answer);
	remove_stale_layers(host.state_dir, answer);
	remove_drafts(answer);
	remove_live(host.state_dir, answer);
	remove_execs(host.state_dir, answer);
	*ret_answer = answer;
	return 0;
}
