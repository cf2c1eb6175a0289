/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sandboxes: filtered, in order, page by page. */
#include "front/e2b/list.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/json_write.h"
#include "base/text/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MAX 100

struct filter {
	const char *state, *template; /* NULL: any */
	struct strv metadata;	      /* KEY, VALUE, ... */
	uint64_t after_ms;
	bool is_ascending;
	uint64_t next; /* the number that a page begins behind; 0: the first page */
	size_t limit;
};

/* Decoded as of a form, then TIMES - 1 as of a path; what is no escape stays. Owned by the caller. */
static char *unescape(const char *text, size_t len, unsigned times)
{
	char *out = xstrndup(text, len);

	for (unsigned i = 0; i < times; i++) {
		char *to = out;

		for (const char *at = out; *at; at++) {
			int byte = percent_byte(at, strlen(at));

			*to++ = byte >= 0 ? (char)byte : i == 0 && *at == '+' ? ' ' : *at;
			at += byte >= 0 ? 2 : 0;
		}
		*to = '\0';
	}
	return out;
}

/* A form in a form: keys and values were escaped by themselves before the form was. */
static void read_metadata(const char *text, struct strv *ret_pairs)
{
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, "&"), key = strcspn(at, "=&");

		strv_take(ret_pairs, unescape(at, key, 2));
		strv_take(ret_pairs,
			  key < len ? unescape(at + key + 1, len - key - 1, 2) : xstrdup(""));
		at += len;
		at += *at == '&';
	}
}

/* False: it was answered. */
static bool read_filter(struct http_request *request, struct filter *ret_filter)
{
	const char *metadata = http_query(request, "metadata"), *after, *limit, *next, *order;

	*ret_filter = (struct filter){ .state = http_query(request, "state"),
				       .template = http_query(request, "template"),
				       .limit = PAGE_MAX };
	if (metadata)
		read_metadata(metadata, &ret_filter->metadata);
	after = http_query(request, "startedAfter");
	limit = http_query(request, "limit");
	next = http_query(request, "nextToken");
	order = http_query(request, "order");
	ret_filter->is_ascending = order && strcmp(order, "asc") == 0;
	if (after && !time_parse_utc(after, &ret_filter->after_ms)) {
		api_refuse(request, 400, "startedAfter is no time");
		return false;
	}
	if (limit)
		ret_filter->limit = strtoul(limit, NULL, 10);
	if (ret_filter->limit < 1 || ret_filter->limit > PAGE_MAX) {
		api_refuse(request, 400, "limit is from 1 to %d", PAGE_MAX);
		return false;
	}
	ret_filter->next = next ? strtoull(next, NULL, 10) : 0;
	if (next && !ret_filter->next) {
		api_refuse(request, 400, "nextToken is none that this server gave");
		return false;
	}
	return true;
}

static bool list_names(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at; at += strcspn(at, ",")) {
		at += *at == ',';
		if (strncmp(at, word, len) == 0 && (at[len] == ',' || !at[len]))
			return true;
	}
	return false;
}

static bool is_wanted(const struct filter *filter, const struct row *row)
{
	const char *state = row->state == ROW_PAUSED ? "paused" : "running";

	if (row->state == ROW_STARTING || row->started_ms < filter->after_ms ||
	    (filter->state && !list_names(filter->state, state)) ||
	    (filter->template && strcmp(filter->template, row->made.template) != 0))
		return false;
	if (filter->next &&
	    (filter->is_ascending ? row->number <= filter->next : row->number >= filter->next))
		return false;
	for (size_t i = 0; i + 1 < filter->metadata.count; i += 2) {
		if (!str_same(value_get_text(row->metadata, filter->metadata.items[i]),
			      filter->metadata.items[i + 1]))
			return false;
	}
	return true;
}

/* The rows stand the newest first. */
static void put_in_order(const struct e2b *e2b, bool is_ascending, const struct row **ret_rows)
{
	size_t count = rows_count(e2b), i = 0;

	for (const struct row *at = e2b->rows; at; at = at->next, i++)
		ret_rows[is_ascending ? count - 1 - i : i] = at;
}

void list_rows(const struct e2b *e2b, struct http_request *request)
{
	owned(free_ptr) const struct row **rows = xcalloc(rows_count(e2b) + 1, sizeof(*rows));
	owned(str_done) struct str body = STR_INIT;
	const struct row *last = NULL;
	struct filter filter;
	size_t count = 0;
	struct json json;
	char next[24];

	if (!read_filter(request, &filter))
		return;
	put_in_order(e2b, filter.is_ascending, rows);
	json_init(&json, &body);
	json_open(&json, '[');
	for (size_t i = 0; rows[i]; i++) {
		if (!is_wanted(&filter, rows[i]))
			continue;
		if (count++ == filter.limit)
			break;
		api_detail(&json, rows[i]);
		last = rows[i];
	}
	json_close(&json, ']');
	if (count > filter.limit) {
		(void)snprintf(next, sizeof(next), "%llu", (unsigned long long)last->number);
		http_add_header(request, "X-Next-Token", next);
	}
	strv_done(&filter.metadata);
	api_reply(request, 200, &body);
}
