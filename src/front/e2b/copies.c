/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots and forks: copies of what a sandbox has on disk. What its processes have in memory is part of none, so that a copy which
 * is to have everything is refused while something runs in it.
 */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/json_write.h"
#include "front/e2b/errand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MAX 100
#define NAME_MAX_BYTES 128

/* The newest of a name, which may have a tag behind a colon. */
struct saved *saved_find(const struct e2b *e2b, const char *name)
{
	for (struct saved *at = e2b->saved; at; at = at->next) {
		size_t len = strlen(at->id);

		if (at->is_ready &&
		    (str_same(at->name, name) ||
		     (strncmp(at->id, name, len) == 0 && (!name[len] || name[len] == ':'))))
			return at;
	}
	return NULL;
}

void saved_drop(struct e2b *e2b, struct saved *saved)
{
	struct saved **slot = &e2b->saved;

	while (*slot && *slot != saved)
		slot = &(*slot)->next;
	if (*slot)
		*slot = saved->next;
	made_done(&saved->made);
	free(saved->name);
	free(saved);
}

static void write_saved(struct json *json, const struct saved *saved)
{
	json_open(json, '{');
	json_key(json, "snapshotID");
	json_text(json, saved->id);
	json_key(json, "names");
	json_open(json, '[');
	if (saved->name)
		json_text(json, saved->name);
	json_close(json, ']');
	json_close(json, '}');
}

void saved_reply(struct http_request *request, const struct saved *saved)
{
	owned(str_done) struct str body = STR_INIT;
	struct json json;

	json_init(&json, &body);
	write_saved(&json, saved);
	api_reply(request, 201, &body);
}

static size_t saved_count(const struct e2b *e2b)
{
	size_t count = 0;

	for (const struct saved *at = e2b->saved; at; at = at->next)
		count++;
	return count;
}

/* NULL: it was answered. */
static struct saved *saved_add(struct e2b *e2b, struct http_request *request, const struct row *row,
			       const char *name)
{
	struct saved *saved = xcalloc(1, sizeof(*saved));
	struct error err;

	if (e2b_id('s', saved->id, &err) < 0) {
		free(saved);
		api_refuse(request, 500, "%s", err.text);
		return NULL;
	}
	(void)snprintf(saved->source, sizeof(saved->source), "%s", row->id);
	saved->name = name && *name ? xstrdup(name) : NULL;
	saved->number = ++e2b->last_number;
	made_copy(&saved->made, &row->made);
	saved->next = e2b->saved;
	e2b->saved = saved;
	return saved;
}

/* What can be copied, and what of it there is. */
static bool check_source(struct http_request *request, const struct row *row)
{
	if (row->state == ROW_RUNNING || (row->state == ROW_PAUSED && row->is_cold))
		return true;
	api_refuse(request, 409, "sandbox %s is paused with its processes: connect to it first",
		   row->id);
	return false;
}

void copies_create(struct e2b *e2b, struct http_request *request, struct row *row)
{
	owned(value_release) struct value *asked = api_body(request);
	const char *name = asked ? value_get_text(asked, "name") : NULL;
	const struct value *memory = value_get(asked, "memory");
	bool files = memory && memory->kind == VALUE_BOOL && !memory->truth;
	struct errand_wish wish = { .kind = ERRAND_COPY,
				    .row = row,
				    .request = request,
				    .how = files ? SERVED_FILES : SERVED_ALL };

	if (!asked || !check_source(request, row))
		return;
	if (name && strlen(name) > NAME_MAX_BYTES) {
		api_refuse(request, 400, "name is longer than %d bytes", NAME_MAX_BYTES);
		return;
	}
	if (saved_count(e2b) >= E2B_SNAPSHOTS_MAX) {
		api_refuse(request, 429, "there are %d snapshots already: delete some",
			   E2B_SNAPSHOTS_MAX);
		return;
	}
	wish.saved = saved_add(e2b, request, row, name);
	wish.id = wish.saved ? wish.saved->id : NULL;
	if (wish.saved && !errand_begin(e2b, &wish)) {
		saved_drop(e2b, wish.saved);
		api_refuse(request, 429, "too much is under way; try again");
	}
}

/* A sandbox as ROW's is, not there yet. */
static struct row *add_fork(struct e2b *e2b, const struct row *row, int64_t timeout_s)
{
	const struct value *metadata = row->metadata; /* of texts */
	struct error ignored;
	struct row *added = row_add(e2b, &ignored);

	if (!added)
		return NULL;
	made_copy(&added->made, &row->made);
	added->metadata = value_new_map();
	for (size_t i = 0; i < metadata->many.count; i++)
		value_add(added->metadata, metadata->many.keys[i],
			  value_new_text(metadata->many.items[i]->text.bytes));
	added->pauses = row->pauses;
	added->pauses_cold = row->pauses_cold;
	added->end_ms = added->started_ms + (uint64_t)timeout_s * 1000;
	return added;
}

static void begin_fork(struct e2b *e2b, struct http_request *request, struct row *row, size_t count,
		       int64_t timeout_s)
{
	struct forking *forking = xcalloc(1, sizeof(*forking));
	const struct errand_wish wish = {
		.kind = ERRAND_FORK, .row = row, .id = row->id, .forking = forking
	};

	*forking = (struct forking){ .request = request, .from = row->id, .left = 1 };
	while (forking->count < count) {
		struct row *added = add_fork(e2b, row, timeout_s);

		if (!added)
			break;
		forking->rows[forking->count++] = added;
	}
	if (forking->count == count && errand_begin(e2b, &wish))
		return;
	for (size_t i = 0; i < forking->count; i++)
		row_end(e2b, forking->rows[i], NULL);
	free(forking);
	api_refuse(request, 429, "too much is under way; try again");
}

void copies_fork(struct e2b *e2b, struct http_request *request, struct row *row)
{
	owned(value_release) struct value *asked = api_body(request);
	const struct value *given = value_get(asked, "count");
	int64_t timeout_s, count = given && given->kind == VALUE_INT ? given->integer : 1;

	if (!asked || !api_timeout(request, asked, &timeout_s) || !check_source(request, row))
		return;
	if (count < 1 || count > E2B_FORKS_MAX)
		api_refuse(request, 400, "count is from 1 to %d", E2B_FORKS_MAX);
	else if (rows_count(e2b) + (size_t)count > SERVED_MAX)
		api_refuse(request, 429, "there may be %d sandboxes at most", SERVED_MAX);
	else
		begin_fork(e2b, request, row, (size_t)count, timeout_s);
}

static bool is_listed(const struct http_request *request, const struct saved *saved)
{
	const char *source = http_query(request, "sandboxID"), *name = http_query(request, "name");
	const char *next = http_query(request, "nextToken");

	return saved->is_ready && (!source || strcmp(source, saved->source) == 0) &&
	       (!name || str_same(name, saved->name) || strcmp(name, saved->id) == 0) &&
	       (!next || saved->number < strtoull(next, NULL, 10));
}

static void list(const struct e2b *e2b, struct http_request *request)
{
	const char *given = http_query(request, "limit");
	size_t limit = given ? strtoul(given, NULL, 10) : PAGE_MAX, count = 0;
	owned(str_done) struct str body = STR_INIT;
	uint64_t last = 0;
	struct json json;
	char next[24];

	limit = limit < 1 || limit > PAGE_MAX ? PAGE_MAX : limit;
	json_init(&json, &body);
	json_open(&json, '[');
	for (const struct saved *at = e2b->saved; at && count <= limit; at = at->next) {
		if (!is_listed(request, at) || count++ == limit)
			continue;
		write_saved(&json, at);
		last = at->number;
	}
	json_close(&json, ']');
	if (count > limit) {
		(void)snprintf(next, sizeof(next), "%llu", (unsigned long long)last);
		http_add_header(request, "X-Next-Token", next);
	}
	api_reply(request, 200, &body);
}

static void remove_saved(struct e2b *e2b, struct http_request *request, const char *name)
{
	struct saved *saved = saved_find(e2b, name);
	const struct errand_wish wish = { .kind = ERRAND_REMOVE,
					  .id = saved ? saved->id : "",
					  .request = request };

	if (!saved) {
		api_refuse(request, 404, "snapshot '%.128s' was not found", name);
		return;
	}
	if (errand_begin(e2b, &wish))
		saved_drop(e2b, saved);
	else
		api_refuse(request, 429, "too much is under way; try again");
}

bool copies_handle(struct e2b *e2b, struct http_request *request, const char *path)
{
	const char *method = http_method(request);

	if (strcmp(path, "/snapshots") == 0 && strcmp(method, "GET") == 0)
		list(e2b, request);
	else if (str_starts(path, "/templates/") && strcmp(method, "DELETE") == 0)
		remove_saved(e2b, request, path + strlen("/templates/"));
	else
		return false;
	return true;
}
