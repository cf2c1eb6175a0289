/* SPDX-License-Identifier: Apache-2.0 */
/* `events`: what happens, from the record; with --follow as it comes. */
#include "app/record/events.h"
#include "app/record/otlp.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>
#include <unistd.h>

#define COMMAND_MAX 80

/* What an event says beyond its time, name and sandbox, where it has that. */
static const char *const details[] = { "layer", "what",	  "limit",   "status",
				       "start", "driver", "subject", "run_id" };

static void write_line(const struct value *event, struct str *out)
{
	const char *sandbox = value_get_text(event, "sandbox");
	const struct value *command = value_get(event, "command");

	str_addf(out, "%-8s %s ", value_get_text(event, "id"), value_get_text(event, "time"));
	words_add_line(out, value_get_text(event, "event"));
	str_add_char(out, ' ');
	words_add_line(out, sandbox ? sandbox : "-");
	for (size_t i = 0; i < sizeof(details) / sizeof(details[0]); i++) {
		const char *text = value_get_text(event, details[i]);

		if (!text)
			continue;
		str_addf(out, " %s=", details[i]);
		words_add_line(out, text);
	}
	if (command) {
		str_add(out, " -- ");
		words_add_command(out, command, COMMAND_MAX);
	}
	str_add_char(out, '\n');
}

static int show(struct op_call *call, const struct value *list, struct error *err)
{
	for (size_t i = 0; i < list->many.count; i++) {
		if (!call->json) {
			write_line(list->many.items[i], &call->text);
			continue;
		}
		json_write(&call->data, list->many.items[i], 0);
		str_add_char(&call->data, '\n');
	}
	return call->pass_on && list->many.count > 0 ? call->pass_on(call, err) : 0;
}

/* To a collector; what that does not take is lost, with a note: a run never waits for it. */
static void send(struct op_call *call, struct otlp *otlp, struct history *history,
		 const struct value *list)
{
	struct error lost;

	if (otlp_send_runs(otlp, history, list, &lost) < 0)
		op_note_line(call, lost.text);
}

int op_events_run(struct op_call *call, struct error *err)
{
	owned(app_events_close) struct app_events events = { .watch_fd = -1 };
	owned(otlp_release) struct otlp *otlp = NULL;
	const char *url = op_arg_text(call, "otlp"), *since = op_arg_text(call, "since");
	bool is_kept = url && since && strcmp(since, "sent") == 0;
	int got;

	if (op_want_words(call, 0, 0, err) < 0 ||
	    (url && otlp_open(OTLP_TRACES, url, call->environ, &otlp, err) < 0) ||
	    app_events_open(is_kept ? NULL : since, op_arg_switch(call, "follow"), &events, err) <
		    0 ||
	    (is_kept && history_sent_from(events.history, url, &events.place, err) < 0))
		return -1;
	for (;;) {
		owned(value_release) struct value *list = NULL;

		got = app_events_next(&events, otlp ? -1 : STDOUT_FILENO, &list, err);
		if (got <= 0)
			return got;
		if (otlp)
			send(call, otlp, events.history, list);
		else if (show(call, list, err) < 0)
			return -1;
		if (is_kept && list->many.count > 0 &&
		    history_sent_to(events.history, url, &events.place, err) < 0)
			return -1;
	}
}
