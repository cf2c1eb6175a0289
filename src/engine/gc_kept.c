/* Housekeeping of what is kept on purpose. */
#include "engine/gc_kept.h"

#include "base/dir.h"
#include "base/own.h"
#include "engine/history.h"
#include "host/host.h"
#include "workspace/promote.h"
#include "workspace/sandbox.h"
#include "workspace/snapshot.h"
#include "workspace/staging_mark.h"
#include "workspace/staging_places.h"

#include <string.h>

static void add(struct value *answer, const char *kind, const char *path, const char *detail)
{
	struct value *row = value_append(answer, value_new_map());

	value_add(row, "kind", value_new_text(kind));
	value_add(row, "path", value_new_text(path));
	value_add(row, "detail", value_new_text(detail));
}

static void tell(const struct strv *removed, const char *kind, const char *detail,
		 struct value *answer)
{
	for (size_t i = 0; i < removed->count; i++)
		add(answer, kind, removed->items[i], detail);
}

/* What killed promotions left: in the store, and outside of stores that are gone. */
static void clean_promotions(struct store *store, const struct host *host, struct value *answer,
			     struct strv *notes)
{
	owned(strv_done) struct strv bases = STRV_INIT, abandoned = STRV_INIT, old = STRV_INIT;
	struct error err = { .code = ERROR_NONE };

	if (promotion_recover(store, notes, &err) < 0)
		strv_addf(notes, "a promotion that was interrupted stays as it is: %s", err.text);
	promotion_trim(store, &old);
	tell(&old, "promotion", "older than those that can be undone", answer);
	staging_places_read(store->path, &bases);
	for (size_t i = 0; i < host->mount_count && host->uid == 0; i++) {
		owned(free_ptr) char *base = xasprintf(
			"%s/.aisbx", host->mounts[i].point[1] ? host->mounts[i].point : "");

		if (!strv_has(&bases, base))
			strv_add(&bases, base);
	}
	staging_sweep(&bases, &abandoned, notes);
	tell(&abandoned, "staging", "of a promotion whose store is gone", answer);
}

static void tell_trash(const struct store *store, struct value *answer)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, "trash");
	owned(free_ptr) char *what = NULL;
	struct dirent *entry;
	unsigned count = 0;

	while (dir && dir_next(dir, &entry) > 0)
		count++;
	what = xasprintf("%u %s", count, count == 1 ? "entry" : "entries");
	if (count)
		add(answer, "trash", what, "removed before, and deleted now");
}

static int clean_store(struct store *store, const struct host *host, struct value *answer,
		       struct strv *notes, struct error *err)
{
	owned(strv_done) struct strv expired = STRV_INIT, layers = STRV_INIT;

	/* First: what is removed below goes the same way. */
	tell_trash(store, answer);
	sandbox_sweep(store, &expired);
	tell(&expired, "sandbox", "its time was over", answer);
	clean_promotions(store, host, answer, notes);
	if (store_collect(store, &layers, err) < 0) {
		if (err->code != ERROR_CONFLICT)
			return -1;
		strv_add(notes, "layers and contents were not looked at: the store is in use");
	}
	tell(&layers, "layer", "nothing refers to it", answer);
	store_empty_trash(store, false);
	return 0;
}

static int clean_history(const struct history_bounds *bounds, struct value *answer,
			 struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *removed = NULL;
	int64_t runs, logs;

	if (engine_history(&history, err) < 0 || history_trim(history, bounds, &removed, err) < 0)
		return -1;
	runs = value_int_of(removed, "runs");
	logs = value_int_of(removed, "logs");
	if (runs || logs) {
		owned(free_ptr) char *what =
			xasprintf("%lld runs, %lld logs of %lld bytes", (long long)runs,
				  (long long)logs, (long long)value_int_of(removed, "bytes"));

		add(answer, "history", what, "beyond the age or size that is kept");
	}
	return 0;
}

int engine_gc_kept(const struct history_bounds *bounds, struct value *answer, struct strv *notes,
		   struct error *err)
{
	owned(host_done) struct host host;
	struct store store;
	int status;

	memset(&host, 0, sizeof(host));
	/* Not as other verbs open it: those remove what is over without a word. */
	if (host_read(&host, err) < 0 || store_open(host.data_dir, &store, err) < 0)
		return -1;
	status = clean_store(&store, &host, answer, notes, err);
	store_close(&store);
	return status < 0 ? -1 : clean_history(bounds, answer, err);
}
