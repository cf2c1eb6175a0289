/* SPDX-License-Identifier: Apache-2.0 */
/* `sync`: the record sent to a database that several machines share. */
#include "app/record/fleet.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "ops/rows/rows.h"

#include <time.h>

static int sync_once(struct op_call *call, const char *url, struct error *err)
{
	if (app_sync(url, op_arg_switch(call, "new-edge"), &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "%lld records sent, %lld of them new there\n",
		 (long long)value_int_of(call->answer, "sent"),
		 (long long)value_int_of(call->answer, "added"));
	return 0;
}

/* Until the process is ended. What fails is a note: the next time sends it as well. */
static _Noreturn void sync_on(struct op_call *call, const char *url, int64_t every_ms)
{
	const struct timespec pause = { .tv_sec = every_ms / 1000,
					.tv_nsec = every_ms % 1000 * 1000000 };

	for (;;) {
		struct error lost;

		if (app_sync(url, false, &call->answer, &lost) < 0)
			op_note_line(call, lost.text);
		value_release(&call->answer);
		(void)nanosleep(&pause, NULL);
	}
}

int op_sync_run(struct op_call *call, struct error *err)
{
	const char *url = op_arg_text(call, "to"), *every = op_arg_text(call, "every");
	int64_t every_ms;

	if (op_want_words(call, 0, 0, err) < 0)
		return -1;
	if (!url)
		return error_set(err, ERROR_USAGE, "sync: --to postgres://... is missing");
	if (!every)
		return sync_once(call, url, err);
	if (op_arg_switch(call, "new-edge"))
		return error_set(err, ERROR_USAGE, "--new-edge is done once, without --every");
	if (pg_check_url(url, err) < 0 || units_duration("--every", every, &every_ms, err) < 0)
		return -1;
	sync_on(call, url, every_ms);
}
