/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as spans, in OTLP's JSON. */
#include "app/record/otlp.h"

#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "base/text/json_otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_MS 1e6
#define ATTEMPTS 4

/* One run's spans. */
struct spans {
	struct json *json;
	const struct value *run;
	const char *run_id;
	char trace[33], parent[17], root[17];
};

static double real_of(const struct value *map, const char *key)
{
	const struct value *item = value_get(map, key);
	double real = !item			 ? 0
		      : item->kind == VALUE_REAL ? item->real
		      : item->kind == VALUE_INT	 ? (double)item->integer
						 : 0;

	return real > 0 ? real : 0;
}

static void hex_of(const char *text, const char *more, char *ret_hex, size_t size)
{
	owned(free_ptr) char *both = xasprintf("%s/%s", text, more);
	char hex[SHA256_HEX_SIZE];

	sha256_hex(both, strlen(both), hex);
	(void)snprintf(ret_hex, size, "%s", hex);
}

static void name_ids(struct spans *spans)
{
	const char *trace = value_get_text(spans->run, "trace_id");

	if (trace && id_is_traceparent(trace)) {
		(void)snprintf(spans->trace, sizeof(spans->trace), "%s", trace + 3);
		(void)snprintf(spans->parent, sizeof(spans->parent), "%s", trace + 36);
	} else {
		hex_of(trace ? trace : spans->run_id, "trace", spans->trace, sizeof(spans->trace));
	}
	hex_of(spans->run_id, "run", spans->root, sizeof(spans->root));
}

/* Opens a span; its attributes and its status are still to come. */
static void open_span(const struct spans *spans, const char *name, double from_ns, double to_ns)
{
	bool is_root = strcmp(name, "run") == 0;
	const char *parent = is_root ? spans->parent : spans->root;
	char id[17];

	hex_of(spans->run_id, name, id, sizeof(id));
	json_open(spans->json, '{');
	json_key(spans->json, "traceId");
	json_text(spans->json, spans->trace);
	json_key(spans->json, "spanId");
	json_text(spans->json, id);
	if (*parent) {
		json_key(spans->json, "parentSpanId");
		json_text(spans->json, parent);
	}
	json_key(spans->json, "name");
	json_text(spans->json, name);
	json_key(spans->json, "kind");
	json_int(spans->json, 1);
	json_otlp_number(spans->json, "startTimeUnixNano", (uint64_t)from_ns);
	json_otlp_number(spans->json, "endTimeUnixNano", (uint64_t)to_ns);
}

/* No command: an argument may be a secret, and a collector is elsewhere. */
static void write_root(const struct spans *spans, double from_ns, double to_ns)
{
	static const char *const words[] = { "run_id", "sandbox", "driver", "status", "start" };
	const char *status = value_get_text(spans->run, "status");
	char key[32], exit_code[24];

	open_span(spans, "run", from_ns, to_ns);
	json_key(spans->json, "attributes");
	json_open(spans->json, '[');
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		(void)snprintf(key, sizeof(key), "aisbx.%s", words[i]);
		json_otlp_attribute(spans->json, key, "stringValue",
				    value_get_text(spans->run, words[i]));
	}
	(void)snprintf(exit_code, sizeof(exit_code), "%" PRId64,
		       value_int_of(spans->run, "exit_code"));
	json_otlp_attribute(spans->json, "process.exit.code", "intValue", exit_code);
	json_close(spans->json, ']');
	json_key(spans->json, "status");
	json_open(spans->json, '{');
	json_key(spans->json, "code");
	json_int(spans->json, status && strcmp(status, "success") == 0 ? 1 : 2);
	json_close(spans->json, '}');
	json_close(spans->json, '}');
}

/* The start's time is of the record before it: the queue and the plan lie ahead of that, the rest behind. */
static void write_run(struct json *json, const struct value *run, const char *run_id)
{
	struct spans spans = { .json = json, .run = run, .run_id = run_id };
	double plan = real_of(run, "plan_ms"), start = real_of(run, "start_ms");
	const struct {
		const char *name;
		double ms;
	} parts[] = { { "queue", real_of(run, "queued_ms") },
		      { "plan", plan },
		      { "start", start > plan ? start - plan : 0 },
		      { "command", real_of(run, "duration_ms") },
		      { "teardown", real_of(run, "teardown_ms") } };
	const char *started = value_get_text(run, "started");
	uint64_t started_ms = 0;
	double total = 0;

	if (!started || !time_parse_utc(started, &started_ms))
		return;
	for (size_t i = 0; i < 5; i++)
		total += parts[i].ms;
	double at_ns = ((double)started_ms - plan - parts[0].ms) * NS_PER_MS;

	name_ids(&spans);
	write_root(&spans, at_ns, at_ns + total * NS_PER_MS);
	for (size_t i = 0; i < 5; i++) {
		open_span(&spans, parts[i].name, at_ns, at_ns + parts[i].ms * NS_PER_MS);
		json_close(json, '}');
		at_ns += parts[i].ms * NS_PER_MS;
	}
}

/* How many runs there are in it. */
static size_t write_runs(struct history *history, const struct value *events, struct str *list)
{
	struct json json;
	size_t count = 0;

	json_init(&json, list);
	json_open(&json, '[');
	for (size_t i = 0; i < events->many.count; i++) {
		const char *name = value_get_text(events->many.items[i], "event");
		const char *run_id = value_get_text(events->many.items[i], "run_id");
		owned(value_release) struct value *run = NULL;
		struct error ignored;

		if (!name || strcmp(name, "ended") != 0 || !run_id ||
		    history_show(history, run_id, &run, &ignored) < 0)
			continue;
		write_run(&json, run, run_id);
		count++;
	}
	json_close(&json, ']');
	return count;
}

int otlp_send_runs(struct otlp *otlp, struct history *history, const struct value *events,
		   struct error *err)
{
	owned(str_done) struct str list = STR_INIT;
	struct timespec pause = { .tv_sec = 1 };
	size_t count = write_runs(history, events, &list);
	char why[OTLP_WHY_SIZE];
	int got = 0;

	for (int i = 0; count > 0 && i < ATTEMPTS; i++, pause.tv_sec *= 2) {
		if (i > 0)
			(void)nanosleep(&pause, NULL);
		got = otlp_post(otlp, &list, why, err);
		if (got <= 0)
			return got;
	}
	return got ? error_set(err, ERROR_HOST, "the collector did not take %zu runs (%s)", count,
			       why)
		   : 0;
}
