/* SPDX-License-Identifier: Apache-2.0 */
/* Housekeeping of what is kept on purpose. */
#include "app/sandbox/gc_kept.h"

#include "base/own.h"
#include "app/record/history.h"
#include "app/sandbox/sandbox.h"
#include "host/host.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

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

static int clean_store(struct store *store, struct value *answer, struct error *err)
{
	owned(strv_done) struct strv expired = STRV_INIT, promotions = STRV_INIT,
				     layers = STRV_INIT;

	sandbox_sweep(store, &expired);
	tell(&expired, "sandbox", "its time was over", answer);
	promotion_trim(store, &promotions);
	tell(&promotions, "promotion", "older than those that can be undone", answer);
	if (store_collect(store, &layers, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
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

int engine_gc_kept(const struct history_bounds *bounds, struct value *answer, struct error *err)
{
	struct store store;
	int status;

	if (engine_store(&store, err) < 0)
		return -1;
	status = clean_store(&store, answer, err);
	store_close(&store);
	return status < 0 ? -1 : clean_history(bounds, answer, err);
}
