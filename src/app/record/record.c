/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept in the spool: the two appends of a run, and events. */
#include "app/record/record.h"

#include "base/core/clock.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "history/spool.h"
#include "host/host.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* How much of a command is kept when all of it is too much: every byte may take six as JSON. */
#define COMMAND_KEPT (16u << 10)

/* The beginning of COMMAND and, where that is not all of it, a last word on how much there was. */
static void cut_command(const struct strv *command, struct strv *ret_cut)
{
	size_t left = COMMAND_KEPT, bytes = 0;
	bool is_whole = true;

	for (size_t i = 0; i < command->count; i++) {
		const char *word = command->items[i];
		size_t len = strlen(word), kept = len < left ? len : left;

		is_whole &= left > 0 && kept == len;
		/* Empty words take room too. */
		if (left > 0)
			strv_take(ret_cut, xstrndup(word, kept));
		left -= kept < left ? kept + 1 : left;
		bytes += len;
	}
	if (!is_whole)
		strv_addf(ret_cut, "[cut: %zu words of %zu bytes in all]", command->count, bytes);
}

static void write_start(const struct spec *spec, const char *owner, const struct strv *command,
			struct str *body)
{
	struct json json;
	char started[32];

	time_format_utc(clock_epoch_ms(), started);
	json_init(&json, body);
	json_open(&json, '{');
	json_key(&json, "run_id");
	json_text(&json, spec->run_id);
	json_key(&json, "trace_id");
	json_text(&json, spec->trace_id);
	json_key(&json, "sandbox");
	json_text(&json, spec->sandbox);
	if (owner) {
		json_key(&json, "owner");
		json_text(&json, owner);
	}
	json_key(&json, "command");
	json_strv(&json, command);
	json_key(&json, "workspace");
	json_text(&json, spec->workspace);
	json_key(&json, "driver");
	json_text(&json, spec->driver);
	json_key(&json, "started");
	json_text(&json, started);
	/* Folding the spool recognises a killed supervisor by it: START without END and no such process. */
	json_key(&json, "supervisor");
	json_int(&json, getpid());
	json_close(&json, '}');
}

int record_start(const struct spec *spec, const char *owner, int *ret_fd, struct error *err)
{
	owned(str_done) struct str body = STR_INIT;
	owned(strv_done) struct strv cut = STRV_INIT;
	owned(fd_close) int fd = -1;

	if (spool_open(spec->state_dir, &fd, err) < 0)
		return -1;
	write_start(spec, owner, &spec->command, &body);
	if (body.len > SPOOL_RECORD_MAX) {
		cut_command(&spec->command, &cut);
		str_clear(&body);
		write_start(spec, owner, &cut, &body);
	}
	if (spool_append(fd, SPOOL_START, body.data, body.len, err) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int record_end(const struct run_result *result, int fd, struct error *err)
{
	owned(str_done) struct str body = STR_INIT;
	owned(strv_done) struct strv cut = STRV_INIT;

	run_result_write_record(result, &body);
	if (body.len > SPOOL_RECORD_MAX) {
		/* Borrows everything but the two parts that have no bound. */
		struct run_result shorter = *result;

		cut_command(&result->command, &cut);
		shorter.command = cut;
		shorter.changed = (struct strv)STRV_INIT;
		str_clear(&body);
		run_result_write_record(&shorter, &body);
	}
	return spool_append(fd, SPOOL_END, body.data, body.len, err);
}

static void add_text(struct value *map, const char *key, const char *text)
{
	if (text)
		value_add(map, key, value_new_text(text));
}

void record_event(const struct record_event *event)
{
	owned(host_done) struct host host = { 0 };
	owned(value_release) struct value *head = value_new_map();
	owned(str_done) struct str body = STR_INIT;
	owned(fd_close) int fd = -1;
	struct error ignored;
	char now[32];

	time_format_utc(clock_epoch_ms(), now);
	add_text(head, "event", event->kind);
	add_text(head, "time", now);
	add_text(head, "sandbox", event->sandbox);
	add_text(head, "id", event->id);
	json_write(&body, head, 0);
	if (event->body) {
		str_truncate(&body, body.len - 1);
		str_add(&body, ",\"body\":");
		json_write(&body, event->body, 0);
		str_add_char(&body, '}');
	}
	if (body.len <= SPOOL_RECORD_MAX && host_read_caller(&host, &ignored) == 0 &&
	    spool_open(host.state_dir, &fd, &ignored) == 0)
		(void)spool_append(fd, SPOOL_EVENT, body.data, body.len, &ignored);
}

void record_named(const char *kind, const char *sandbox, const char *id)
{
	record_event(&(struct record_event){ .kind = kind, .sandbox = sandbox, .id = id });
}
