/* SPDX-License-Identifier: Apache-2.0 */
/* E2B's API: sandboxes made, found, listed, kept longer, paused, ended. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "front/e2b/errand.h"
#include "front/e2b/list.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METADATA_MAX 64
#define ENV_MAX 1024
/* Figures are those of now: a moment that is closer than this is now. */
#define METRICS_SLACK_S 10
#define MIB (1024 * 1024)

void api_error(struct str *json, unsigned status, const char *text)
{
	struct json message;

	str_addf(json, "{\"code\":%u,\"message\":", status);
	json_init(&message, json);
	json_text(&message, text);
	str_add_char(json, '}');
}

void api_reply(struct http_request *request, unsigned status, const struct str *json)
{
	http_reply(request, status, json ? "application/json" : NULL, json);
}

void api_refuse(struct http_request *request, unsigned status, const char *format, ...)
{
	owned(str_done) struct str body = STR_INIT;
	va_list args;

	va_start(args, format);
	owned(free_ptr) char *text = xvasprintf(format, args);

	va_end(args);
	api_error(&body, status, text);
	http_add_header(request, "Should-Retry", "false");
	api_reply(request, status, &body);
}

static void add_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static void add_int(struct json *json, const char *key, int64_t number)
{
	json_key(json, key);
	json_int(json, number);
}

static void add_time(struct json *json, const char *key, uint64_t ms)
{
	char text[32];

	time_format_utc(ms == UINT64_MAX ? clock_epoch_ms() : ms, text);
	add_text(json, key, text);
}

static void add_names(struct json *json, const struct row *row)
{
	add_text(json, "templateID", row->made.template);
	add_text(json, "sandboxID", row->id);
	add_text(json, "clientID", "aisbx");
	add_text(json, "envdVersion", ENVD_VERSION);
}

void api_sandbox(struct json *json, const struct row *row)
{
	json_open(json, '{');
	add_names(json, row);
	add_text(json, "envdAccessToken", row->token);
	add_text(json, "trafficAccessToken", row->token);
	json_close(json, '}');
}

void api_detail(struct json *json, const struct row *row)
{
	owned(str_done) struct str metadata = STR_INIT;
	unsigned cores = row->facts.cpu_milli ? (row->facts.cpu_milli + 999) / 1000
					      : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

	json_open(json, '{');
	add_names(json, row);
	add_time(json, "startedAt", row->started_ms);
	add_time(json, "endAt", row->end_ms);
	add_int(json, "cpuCount", cores);
	add_int(json, "memoryMB", (int64_t)(row->facts.mem_bytes / MIB));
	add_int(json, "diskSizeMB", (int64_t)(row->facts.disk_bytes / MIB));
	add_text(json, "state",
		 row->state == ROW_PAUSED || row->state == ROW_RESUMING ? "paused" : "running");
	json_write(&metadata, row->metadata, 0);
	json_key(json, "metadata");
	json_raw(json, metadata.data, metadata.len);
	json_close(json, '}');
}

/* The JSON object of a body, an empty one for none; NULL: it was answered. */
struct value *api_body(struct http_request *request)
{
	const struct json_limits limits = { .bytes = (size_t)1 << 20, .depth = 8, .values = 8192 };
	const struct str *body = http_body(request);
	struct value *asked = NULL;
	struct error err;

	if (body->len == 0)
		return value_new_map();
	if (json_read(str_cstr(body), body->len, &limits, &asked, &err) == 0 &&
	    asked->kind == VALUE_MAP)
		return asked;
	value_free(asked);
	api_refuse(request, 400, "the body is no JSON object");
	return NULL;
}

/* Seconds from ASKED; false when it was answered. */
bool api_timeout(struct http_request *request, const struct value *asked, int64_t *ret_s)
{
	const struct value *given = value_get(asked, "timeout");

	*ret_s = E2B_TIMEOUT_S;
	if (!given || given->kind == VALUE_NULL)
		return true;
	if (given->kind == VALUE_INT && given->integer >= 0 &&
	    given->integer <= E2B_TIMEOUT_MAX_S) {
		*ret_s = given->integer;
		return true;
	}
	api_refuse(request, 400, "timeout is a number of seconds, %d at most", E2B_TIMEOUT_MAX_S);
	return false;
}

/* Fields that would promise what is not kept. */
static bool refuse_fields(struct http_request *request, const struct value *asked)
{
	static const char *const names[] = { "network", "mcp", "iam", "volumeMounts" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct value *given = value_get(asked, names[i]);

		if (!given || given->kind == VALUE_NULL ||
		    ((given->kind == VALUE_LIST || given->kind == VALUE_MAP) &&
		     given->many.count == 0))
			continue;
		api_refuse(request, 400, "%s is not served here", names[i]);
		return true;
	}
	return false;
}

static bool is_map_of_texts(const struct value *map, size_t most)
{
	if (!map || map->kind == VALUE_NULL)
		return true;
	if (map->kind != VALUE_MAP || map->many.count > most)
		return false;
	for (size_t i = 0; i < map->many.count; i++) {
		if (map->many.items[i]->kind != VALUE_TEXT)
			return false;
	}
	return true;
}

static void fill_row(struct row *row, struct value *asked, int64_t timeout_s)
{
	const struct value *memory = value_get(asked, "autoPauseMemory");

	row->end_ms = row->started_ms + (uint64_t)timeout_s * 1000;
	row->pauses = value_is_true(asked, "autoPause");
	row->pauses_cold = memory && memory->kind == VALUE_BOOL && !memory->truth;
	row->metadata = value_take(asked, "metadata");
	if (!row->metadata || row->metadata->kind != VALUE_MAP) {
		value_free(row->metadata);
		row->metadata = value_new_map();
	}
}

/* MADE is taken over; FROM is the snapshot that it is of, or NULL. */
static void begin_create(struct e2b *e2b, struct http_request *request, struct value *asked,
			 struct made *made, const struct saved *from)
{
	const struct value *envs = value_get(asked, "envVars");
	struct errand_wish errand = { .kind = ERRAND_START, .request = request };
	int64_t timeout_s;
	struct error err;

	if (!api_timeout(request, asked, &timeout_s))
		return;
	struct row *row = row_add(e2b, &err);

	if (!row) {
		api_refuse(request, 500, "%s", err.text);
		return;
	}
	for (size_t i = 0; envs && envs->kind == VALUE_MAP && i < envs->many.count; i++)
		strv_addf(&made->env, "%s=%s", envs->many.keys[i], envs->many.items[i]->text.bytes);
	made_copy(&row->made, made);
	fill_row(row, asked, timeout_s);
	struct served_wish wish = made_wish(&row->made);

	wish.name = errand.id = row->id;
	wish.from = from ? from->id : NULL;
	errand.row = row;
	errand.wish = &wish;
	if (!errand_begin(e2b, &errand)) {
		row_end(e2b, row, NULL);
		api_refuse(request, 429, "too many sandboxes are being made; try again");
	}
}

static bool denies_net(const struct value *asked)
{
	const struct value *net = value_get(asked, "allow_internet_access");

	return net && net->kind == VALUE_BOOL && !net->truth;
}

static void create(struct e2b *e2b, struct http_request *request, struct row *row)
{
	owned(value_release) struct value *asked = api_body(request);
	const char *template = asked ? value_get_text(asked, "templateID") : NULL;
	owned(made_done) struct made made = { 0 };
	const struct saved *from = NULL;

	(void)row;
	if (!asked || refuse_fields(request, asked))
		return;
	template = template &&*template ? template : "base";
	if (!template_find(e2b, template, &made, &from))
		api_refuse(request, 404,
			   "template '%.64s' was not found: aisbx image ls lists images, serve e2b "
			   "--profile names profiles",
			   template);
	else if (!is_map_of_texts(value_get(asked, "metadata"), METADATA_MAX) ||
		 !is_map_of_texts(value_get(asked, "envVars"), ENV_MAX))
		api_refuse(request, 400, "metadata and envVars are objects of texts");
	else if (rows_count(e2b) >= SERVED_MAX)
		api_refuse(request, 429, "there are %d sandboxes already", SERVED_MAX);
	else if (from && denies_net(asked) && !made.has_no_net)
		api_refuse(
			request, 400,
			"allow_internet_access: a snapshot keeps what its sandbox was made with");
	else {
		made.has_no_net |= denies_net(asked);
		begin_create(e2b, request, asked, &made, from);
	}
}

/* Its files are as they were; what ran in it does not. */
static void resume_cold(struct e2b *e2b, struct http_request *request, struct row *row)
{
	struct served_wish wish = made_wish(&row->made);
	const struct errand_wish errand = {
		.kind = ERRAND_START, .row = row, .id = row->id, .request = request, .wish = &wish
	};

	wish.name = row->id;
	wish.is_there = true;
	if (errand_begin(e2b, &errand))
		row->state = ROW_RESUMING;
	else
		api_refuse(request, 429, "too much is under way; try again");
}

static bool has_no_memory(const struct value *asked)
{
	const struct value *memory = value_get(asked, "memory");

	return memory && memory->kind == VALUE_BOOL && !memory->truth;
}

static void connect_to(struct e2b *e2b, struct http_request *request, struct row *row)
{
	owned(value_release) struct value *asked = api_body(request);
	owned(str_done) struct str body = STR_INIT;
	bool was_paused = row->state == ROW_PAUSED;
	struct json json;
	int64_t timeout_s;

	if (!asked || !api_timeout(request, asked, &timeout_s))
		return;
	uint64_t end_ms = clock_epoch_ms() + (uint64_t)timeout_s * 1000;

	if (row->state == ROW_RESUMING || row->state == ROW_PAUSING) {
		api_refuse(request, 409, "sandbox %s is being %s: try again", row->id,
			   row->state == ROW_PAUSING ? "paused" : "resumed");
		return;
	}
	if (was_paused && !row->is_cold && has_no_memory(asked)) {
		api_refuse(request, 400, "memory: this sandbox was paused with its processes");
		return;
	}
	if (was_paused && row->is_cold) {
		row->end_ms = end_ms;
		resume_cold(e2b, request, row);
		return;
	}
	if (was_paused) {
		/* It goes on when this is closed. */
		fd_close(&row->freeze_fd);
		row->state = ROW_RUNNING;
		row->end_ms = end_ms;
		orders_resumed(row);
	}
	row->end_ms = end_ms > row->end_ms ? end_ms : row->end_ms;
	json_init(&json, &body);
	api_sandbox(&json, row);
	api_reply(request, was_paused ? 201 : 200, &body);
}

static void info(struct e2b *e2b, struct http_request *request, struct row *row)
{
	owned(str_done) struct str body = STR_INIT;
	struct json json;

	(void)e2b;
	json_init(&json, &body);
	api_detail(&json, row);
	api_reply(request, 200, &body);
}

static void set_timeout(struct e2b *e2b, struct http_request *request, struct row *row)
{
	owned(value_release) struct value *asked = api_body(request);
	int64_t timeout_s;

	(void)e2b;
	if (!asked || !api_timeout(request, asked, &timeout_s))
		return;
	row->end_ms = clock_epoch_ms() + (uint64_t)timeout_s * 1000;
	api_reply(request, 204, NULL);
}

static void pause_row(struct e2b *e2b, struct http_request *request, struct row *row)
{
	owned(value_release) struct value *asked = api_body(request);

	if (!asked)
		return;
	if (row->state != ROW_RUNNING)
		api_refuse(request, 409, "sandbox %s is paused already", row->id);
	else if (!row_pause(e2b, row, has_no_memory(asked), request))
		api_refuse(request, 429, "too much is under way; try again");
}

/* Whether START to END, of which the figures are wanted, holds the present, as far as clocks of seconds can tell. */
static bool is_now(const struct http_request *request)
{
	const char *start = http_query(request, "start"), *end = http_query(request, "end");
	uint64_t now_s = clock_epoch_ms() / 1000;

	return (!start || strtoull(start, NULL, 10) <= now_s + METRICS_SLACK_S) &&
	       (!end || strtoull(end, NULL, 10) + METRICS_SLACK_S >= now_s);
}

static void metrics(struct e2b *e2b, struct http_request *request, struct row *row)
{
	const struct errand_wish wish = {
		.kind = ERRAND_LOOK, .row = row, .id = row->id, .request = request
	};

	if (!is_now(request)) {
		owned(str_done) struct str none = STR_INIT;

		str_add(&none, "[]");
		api_reply(request, 200, &none);
	} else if (!errand_begin(e2b, &wish))
		api_refuse(request, 429, "too much is under way; try again");
}

static void end(struct e2b *e2b, struct http_request *request, struct row *row)
{
	row_end(e2b, row, request);
}

static void list(struct e2b *e2b, struct http_request *request, struct row *row)
{
	(void)row;
	list_rows(e2b, request);
}

static const struct {
	const char *method, *tail; /* of /sandboxes/ID */
	bool has_id;
	void (*handle)(struct e2b *e2b, struct http_request *request, struct row *row);
} calls[] = {
	{ "POST", "", false, create },
	{ "GET", "", false, list },
	{ "GET", "", true, info },
	{ "DELETE", "", true, end },
	{ "POST", "/connect", true, connect_to },
	{ "POST", "/resume", true, connect_to },
	{ "POST", "/timeout", true, set_timeout },
	{ "POST", "/pause", true, pause_row },
	{ "GET", "/metrics", true, metrics },
	{ "POST", "/snapshots", true, copies_create },
	{ "POST", "/fork", true, copies_fork },
};

void api_handle(struct e2b *e2b, struct http_request *request)
{
	const char *path = http_path(request), *method = http_method(request);
	const char *at = strstr(path, "/sandboxes"), *tail = "";
	owned(free_ptr) char *id = NULL;

	if (!at && (templates_handle(e2b, request, path) || copies_handle(e2b, request, path)))
		return;
	if (at && at[strlen("/sandboxes")] == '/') {
		at += strlen("/sandboxes/");
		id = xstrndup(at, strcspn(at, "/"));
		tail = at + strlen(id);
	}
	for (size_t i = 0; at && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].method, method) != 0 || calls[i].has_id != (id != NULL) ||
		    strcmp(calls[i].tail, tail) != 0)
			continue;
		struct row *row = id ? row_find(e2b, id) : NULL;

		if (id && (!row || row->state == ROW_STARTING))
			api_refuse(request, 404, "sandbox '%.64s' was not found", id);
		else
			calls[i].handle(e2b, request, row);
		return;
	}
	api_refuse(request, 501, "%s %.200s is not served here", method, path);
}
