/* SPDX-License-Identifier: Apache-2.0 */
/* `logs`: the kept output of a run, with times and streams; with --follow until it ends. */
#include "base/core/clock.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "app/record/history.h"
#include "app/sandbox/service_copy.h"
#include "observe/result.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <time.h>

#define LOOK_NS 200000000L
/* Every so many looks the history is asked whether the run has ended. */
#define LOOKS_PER_QUESTION 3

struct logs {
	struct op_call *call;
	const struct app_log *log;
	const char *trace_id;
	uint64_t began_ms;
};

static void write_line(const struct kept_frame *frame, const struct logs *logs)
{
	struct op_call *call = logs->call;
	struct json json;
	char at[32];

	time_format_utc(logs->began_ms + (uint64_t)(frame->at_s * 1000), at);
	json_init(&json, &call->data);
	json_open(&json, '{');
	json_key(&json, "run_id");
	json_text(&json, logs->log->run_id);
	json_key(&json, "trace_id");
	json_text(&json, logs->trace_id);
	json_key(&json, "time");
	json_text(&json, at);
	json_key(&json, "stream");
	json_text(&json, frame->stream == 'o' ? "stdout" : "stderr");
	if (utf8_valid(frame->bytes, frame->len)) {
		json_key(&json, "text");
		json_bytes(&json, frame->bytes, frame->len);
	} else {
		owned(str_done) struct str encoded = STR_INIT;

		base64_add(&encoded, frame->bytes, frame->len);
		json_key(&json, "data_b64");
		json_text(&json, str_cstr(&encoded));
	}
	json_close(&json, '}');
	str_add_char(&call->data, '\n');
}

static void take_frame(const struct kept_frame *frame, void *cookie)
{
	struct logs *logs = cookie;

	if (logs->call->json)
		write_line(frame, logs);
	else
		str_add_bytes(&logs->call->text, frame->bytes, frame->len);
}

static int read_on(struct logs *logs, struct app_log *log, struct error *err)
{
	struct op_call *call = logs->call;

	if (app_log_read(log, take_frame, logs, err) < 0)
		return -1;
	if (call->pass_on && (call->text.len || call->data.len))
		return call->pass_on(call, err);
	return 0;
}

/* The end is asked for before the last reading, so that nothing written in between is missed. */
static int follow(struct logs *logs, struct app_log *log, struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	bool has_ended = false;

	for (unsigned look = 0; !has_ended; look++) {
		if (look % LOOKS_PER_QUESTION == 0 && app_log_has_ended(log, &has_ended, err) < 0)
			return -1;
		if (read_on(logs, log, err) < 0)
			return -1;
		if (!has_ended)
			(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int op_logs_run(struct op_call *call, struct error *err)
{
	owned(app_log_close) struct app_log log = { .fd = -1 };
	owned(value_release) struct value *show = NULL;
	struct logs logs = { .call = call, .log = &log };
	const char *service = op_arg_text(call, "service");
	owned(free_ptr) char *run_id = NULL;

	if (call->words.count != 1)
		return error_advise(err, ERROR_USAGE, "`aisbx history` lists them",
				    "logs takes one run: aisbx logs RUN");
	if (service && app_service_run(call->words.items[0], service, &run_id, err) < 0)
		return -1;
	if (app_log_open(service ? run_id : call->words.items[0], op_sees(call), &log, &show, err) <
	    0)
		return -1;
	logs.trace_id = value_get_text(show, "trace_id");
	logs.began_ms = words_moment(show, "started");
	if (op_arg_switch(call, "follow"))
		return follow(&logs, &log, err);
	return read_on(&logs, &log, err);
}
