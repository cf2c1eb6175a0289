/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's record sent to a shared one. */
#include "app/record/fleet.h"

#include "app/record/history.h"
#include "base/core/own.h"
#include "history/sync.h"

int app_sync(const char *url, bool as_new, struct value **ret_answer, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(pg_release) struct pg *pg = NULL;
	struct sync_done done;

	if (pg_open(url, &pg, err) < 0 || app_history(&history, err) < 0 ||
	    history_sync(history, pg, as_new, &done, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "edge", value_new_text(done.edge));
	value_add(*ret_answer, "server", value_new_text(done.server));
	value_add(*ret_answer, "sent", value_new_int((int64_t)done.sent));
	value_add(*ret_answer, "added", value_new_int((int64_t)done.added));
	value_add(*ret_answer, "acked", value_new_int(done.acked));
	return 0;
}
