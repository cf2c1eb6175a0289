/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a run: life of the struct, collected denials, and the result object. */
#include "observe/result.h"

#include "base/core/clock.h"
#include "base/core/error.h"

#include <stdlib.h>
#include <string.h>

static const char *const status_names[] = {
	[RUN_SUCCESS] = "success", [RUN_ERROR] = "error",	[RUN_TIMEOUT] = "timeout",
	[RUN_OOM] = "oom",	   [RUN_KILLED] = "killed",	[RUN_LIMIT] = "limit",
	[RUN_DENIED] = "denied",   [RUN_INTERNAL] = "internal",
};

const char *run_status_name(enum run_status status)
{
	return status_names[status];
}

static char *copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void denials_add_like(struct denials *denials, const struct denial *like)
{
	for (size_t i = 0; i < denials->count; i++) {
		struct denial *item = &denials->items[i];

		if (!str_same(item->layer, like->layer) || !str_same(item->what, like->what) ||
		    !str_same(item->rule, like->rule))
			continue;
		item->count += like->count;
		return;
	}
	if (denials->count == DENIALS_KEPT) {
		denials->beyond++;
		return;
	}
	if (!denials->items)
		denials->items = xcalloc(DENIALS_KEPT, sizeof(*denials->items));
	denials->items[denials->count++] = (struct denial){
		.layer = copy_text(like->layer),
		.what = copy_text(like->what),
		.rule = copy_text(like->rule),
		.hint = copy_text(like->hint),
		.name = copy_text(like->name),
		.address = copy_text(like->address),
		.process = copy_text(like->process),
		.port = like->port,
		.time_ms = like->time_ms,
		.count = like->count,
	};
}

void denials_add(struct denials *denials, const char *layer, const char *what, const char *rule,
		 const char *hint)
{
	/* Only read, and copied. */
	const struct denial like = {
		.layer = (char *)(uintptr_t)layer,
		.what = (char *)(uintptr_t)what,
		.rule = (char *)(uintptr_t)rule,
		.hint = (char *)(uintptr_t)hint,
		.count = 1,
	};

	denials_add_like(denials, &like);
}

void denials_done(struct denials *denials)
{
	for (size_t i = 0; i < denials->count; i++) {
		free(denials->items[i].layer);
		free(denials->items[i].what);
		free(denials->items[i].rule);
		free(denials->items[i].hint);
		free(denials->items[i].name);
		free(denials->items[i].address);
		free(denials->items[i].process);
	}
	free(denials->items);
	*denials = (struct denials){ 0 };
}

void run_result_init(struct run_result *result)
{
	memset(result, 0, sizeof(*result));
}

void run_result_done(struct run_result *result)
{
	free(result->run_id);
	free(result->trace_id);
	free(result->sandbox);
	free(result->driver);
	free(result->message);
	free(result->hint);
	strv_done(&result->command);
	str_done(&result->out.kept);
	str_done(&result->err.kept);
	strv_done(&result->layers);
	strv_done(&result->degraded);
	strv_done(&result->limits_hit);
	strv_done(&result->changed);
	strv_done(&result->warnings);
	strv_done(&result->injected);
	strv_done(&result->notes);
	denials_done(&result->denials);
	run_result_init(result);
}

static int64_t as_int(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static void write_number(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_int(json, as_int(number));
}

static void write_real(struct json *json, const char *key, double real)
{
	json_key(json, key);
	json_write_real(json, real);
}

static void write_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static void write_list(struct json *json, const char *key, const struct strv *list)
{
	json_key(json, key);
	json_strv(json, list);
}

/* How much of a stream is shown: a cut in the middle of a character would turn readable text into base64. */
static size_t shown_length(const struct captured *stream)
{
	const char *data = str_cstr(&stream->kept);
	size_t len = stream->kept.len;

	if (stream->bytes <= len || utf8_valid(data, len))
		return len;
	for (size_t cut = 1; cut <= 3 && cut < len; cut++) {
		/* Only the beginning of a longer sequence may go. */
		if (((unsigned char)data[len - cut] & 0xc0) == 0xc0 && utf8_valid(data, len - cut))
			return len - cut;
	}
	return len;
}

/* Writes the stream as text or base64 and returns which. */
static const char *write_stream(struct json *json, const char *key, const struct captured *stream)
{
	const char *data = str_cstr(&stream->kept);
	size_t len = shown_length(stream);

	json_key(json, key);
	if (utf8_valid(data, len)) {
		json_bytes(json, data, len);
		return "utf-8";
	}
	struct str coded = STR_INIT;

	base64_add(&coded, data, len);
	json_bytes(json, coded.data, coded.len);
	str_done(&coded);
	return "base64";
}

static void write_where(struct json *json, const struct denial *item)
{
	char time[32];

	if (!item->time_ms)
		return;
	time_format_utc(item->time_ms, time);
	write_text(json, "time", time);
	write_text(json, "process", item->process);
	write_text(json, "name", item->name);
	write_text(json, "address", item->address);
	if (item->port)
		write_number(json, "port", item->port);
}

static void write_network(struct json *json, const struct network_use *network)
{
	if (!network->is_known)
		return;
	json_key(json, "network");
	json_open(json, '{');
	write_number(json, "connections", network->connections);
	write_number(json, "sent_bytes", network->sent_bytes);
	write_number(json, "received_bytes", network->received_bytes);
	json_close(json, '}');
}

static void write_denials(struct json *json, const struct denials *denials)
{
	json_key(json, "denials");
	json_open(json, '[');
	for (size_t i = 0; i < denials->count; i++) {
		const struct denial *item = &denials->items[i];

		json_open(json, '{');
		write_text(json, "layer", item->layer);
		write_text(json, "what", item->what);
		write_text(json, "rule", item->rule);
		write_text(json, "hint", item->hint);
		write_number(json, "count", item->count);
		write_where(json, item);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_changes(struct json *json, const char *key, const struct change_counts *counts)
{
	json_key(json, key);
	json_open(json, '{');
	write_number(json, "added", counts->added);
	write_number(json, "modified", counts->modified);
	write_number(json, "deleted", counts->deleted);
	json_close(json, '}');
}

/* What aisbx itself exits with when it refused or failed; the command has no exit code then. */
#define EXIT_NOT_RUN 125

/* What was asked and how it ended. */
static void write_outcome(struct json *json, const struct run_result *result)
{
	write_text(json, "run_id", result->run_id);
	write_text(json, "trace_id", result->trace_id);
	write_text(json, "sandbox", result->sandbox);
	write_list(json, "command", &result->command);
	write_text(json, "status", run_status_name(result->status));
	json_key(json, "exit_code");
	if (result->status == RUN_DENIED || result->status == RUN_INTERNAL)
		json_int(json, EXIT_NOT_RUN);
	else
		json_int(json, result->exit_code);
	json_key(json, "signal");
	if (result->signal)
		json_int(json, result->signal);
	else
		json_write_null(json);
}

static void write_usage(struct json *json, const struct run_result *result)
{
	char started[32];

	json_key(json, "started");
	if (result->started_ms) {
		time_format_utc(result->started_ms, started);
		json_text(json, started);
	} else {
		json_write_null(json);
	}
	write_real(json, "duration_ms", result->duration_ms);
	write_real(json, "cpu_ms", result->cpu_ms);
	json_key(json, "peak_memory_bytes");
	if (result->peak_memory_bytes)
		json_int(json, as_int(result->peak_memory_bytes));
	else
		json_write_null(json);
}

static void write_confinement(struct json *json, const struct run_result *result)
{
	write_text(json, "isolation", result->isolation);
	if (result->workspace)
		write_text(json, "workspace", result->workspace);
	write_list(json, "layers", &result->layers);
	write_list(json, "degraded", &result->degraded);
	write_list(json, "limits_hit", &result->limits_hit);
	write_denials(json, &result->denials);
	write_network(json, &result->network);
	json_key(json, "fuel_consumed");
	if (result->has_fuel)
		json_int(json, as_int(result->fuel_consumed));
	else
		json_write_null(json);
	write_changes(json, "changes", &result->changes);
	write_text(json, "driver", result->driver);
}

/* Rows of milliseconds, processor milliseconds, bytes of memory, processes, bytes of disk. */
static void write_samples(struct json *json, const struct samples *samples)
{
	json_key(json, "samples");
	json_open(json, '[');
	for (size_t i = 0; i < samples->count; i++) {
		const struct usage_sample *sample = &samples->items[i];

		json_open(json, '[');
		json_int(json, as_int(sample->at_ms));
		json_int(json, as_int(sample->cpu_us / 1000));
		json_int(json, as_int(sample->memory_bytes));
		json_int(json, as_int(sample->pids));
		json_int(json, as_int(sample->disk_bytes));
		json_close(json, ']');
	}
	json_close(json, ']');
}

/* Why there was no run, in the form of every other verb. */
static void write_error(struct json *json, const struct run_result *result)
{
	json_key(json, "error");
	json_open(json, '{');
	write_text(json, "code", result->error_code);
	write_text(json, "message", result->message);
	write_text(json, "hint", result->hint);
	json_close(json, '}');
}

static void write_result(const struct run_result *result, bool with_streams, struct str *out)
{
	const char *out_encoding = NULL, *err_encoding = NULL;
	struct json json;

	json_init(&json, out);
	json_open(&json, '{');
	write_outcome(&json, result);
	if (with_streams) {
		out_encoding = write_stream(&json, "stdout", &result->out);
		err_encoding = write_stream(&json, "stderr", &result->err);
	}
	write_number(&json, "stdout_bytes", result->out.bytes);
	write_number(&json, "stderr_bytes", result->err.bytes);
	json_key(&json, "truncated");
	json_bool(&json, result->truncated);
	write_usage(&json, result);
	write_confinement(&json, result);
	write_changes(&json, "changes_outside", &result->changes_outside);
	if (with_streams) {
		write_text(&json, "stdout_encoding", out_encoding);
		write_text(&json, "stderr_encoding", err_encoding);
	}
	write_number(&json, "denials_beyond", result->denials.beyond);
	write_real(&json, "start_ms", result->start_ms);
	if (!with_streams) {
		write_real(&json, "plan_ms", result->plan_ms);
		write_real(&json, "teardown_ms", result->teardown_ms);
	}
	if (result->start) {
		json_key(&json, "start");
		json_text(&json, result->start);
	}
	if (result->start || result->queued_ms)
		write_number(&json, "queued_ms", result->queued_ms);
	write_text(&json, "message", result->message);
	write_list(&json, "warnings", &result->warnings);
	write_samples(&json, &result->samples);
	if (result->injected.count > 0)
		write_list(&json, "injected", &result->injected);
	write_list(&json, "notes", &result->notes);
	if (result->descriptors_limit)
		write_number(&json, "descriptors_limit", result->descriptors_limit);
	if (result->changed.count > 0)
		write_list(&json, "changed", &result->changed);
	if (result->error_code && result->message)
		write_error(&json, result);
	json_close(&json, '}');
}

void run_result_write(const struct run_result *result, struct str *out)
{
	write_result(result, true, out);
}

void run_result_write_record(const struct run_result *result, struct str *out)
{
	write_result(result, false, out);
}
