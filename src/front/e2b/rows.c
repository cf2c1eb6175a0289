/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxes of an E2B server, from their first request to their end. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/service_log.h"
#include "front/e2b/errand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an agent that reads nothing may leave waiting. */
#define WAITING_MAX ((size_t)32 << 20)
/* In one turn: no sandbox keeps the others waiting. */
#define READS_MAX 4

struct row *row_find(const struct e2b *e2b, const char *id)
{
	for (struct row *at = e2b->rows; id && at; at = at->next) {
		if (strcmp(at->id, id) == 0)
			return at;
	}
	return NULL;
}

int e2b_id(char letter, char ret_id[static E2B_ID_SIZE], struct error *err)
{
	char token[TOKEN_SIZE];

	if (token_make(token, err) < 0)
		return -1;
	(void)snprintf(ret_id, E2B_ID_SIZE, "%c%.20s", letter, token);
	return 0;
}

struct row *row_add(struct e2b *e2b, struct error *err)
{
	struct row *row = xcalloc(1, sizeof(*row));

	*row = (struct row){ .next = e2b->rows,
			     .number = ++e2b->last_number,
			     .started_ms = clock_epoch_ms(),
			     .served = { -1, -1, -1 },
			     .freeze_fd = -1,
			     .link = LINK_INIT };
	if (e2b_id('i', row->id, err) < 0 || token_make(row->token, err) < 0) {
		free(row);
		return NULL;
	}
	e2b->rows = row;
	return row;
}

static void row_free(struct e2b *e2b, struct row *row)
{
	struct row **slot = &e2b->rows;

	while (*slot && *slot != row)
		slot = &(*slot)->next;
	if (*slot)
		*slot = row->next;
	if (row->state != ROW_STARTING)
		service_log(SERVICE_INFO, "a sandbox ends",
			    SERVICE_FIELDS(SERVICE_TEXT("sandbox", row->id)));
	relay_break_all(row);
	orders_end(row, 0);
	errands_forget(e2b, NULL, row);
	link_done(&row->link);
	/* Processes first: a sandbox that is thawed before they are ended would run on. */
	fd_close(&row->served.control_fd);
	fd_close(&row->freeze_fd);
	value_free(row->metadata);
	made_done(&row->made);
	free(row);
}

void row_end(struct e2b *e2b, struct row *row, struct http_request *request)
{
	struct errand_wish wish = { .kind = ERRAND_REMOVE, .request = request };
	char id[E2B_ID_SIZE];
	bool is_made = row->state != ROW_STARTING;

	memcpy(id, row->id, sizeof(id));
	wish.id = id;
	row_free(e2b, row);
	if (is_made && !errand_begin(e2b, &wish) && request)
		api_reply(request, 204, NULL);
}

/* What is left is its files. */
static void leave_processes(struct row *row)
{
	relay_break_all(row);
	orders_end(row, 0);
	link_done(&row->link);
	row->link = (struct link)LINK_INIT;
	fd_close(&row->served.control_fd);
}

bool row_pause(struct e2b *e2b, struct row *row, bool cold, struct http_request *request)
{
	const struct errand_wish wish = { .kind = cold ? ERRAND_STOP : ERRAND_FREEZE,
					  .row = row,
					  .id = row->id,
					  .request = request };

	if (!errand_begin(e2b, &wish))
		return false;
	row->state = ROW_PAUSING;
	if (cold)
		leave_processes(row);
	return true;
}

static void expire(struct e2b *e2b, struct row *row)
{
	if (!row->pauses) {
		row_end(e2b, row, NULL);
		return;
	}
	/* A paused one has no end of its own. */
	row->end_ms = UINT64_MAX;
	if (row->state != ROW_RUNNING)
		return;
	if (!row_pause(e2b, row, row->pauses_cold, NULL))
		row->end_ms = clock_epoch_ms() + 1000;
}

int rows_expire(struct e2b *e2b)
{
	uint64_t now_ms = clock_epoch_ms(), next_ms = UINT64_MAX;

	for (struct row *row = e2b->rows, *next; row; row = next) {
		next = row->next;
		if (row->state == ROW_STARTING)
			continue;
		uint64_t late_ms = row->state == ROW_RUNNING ? orders_late_ms(row) : UINT64_MAX;

		if (row->end_ms <= now_ms) {
			expire(e2b, row);
		} else if (late_ms <= now_ms) {
			row_end(e2b, row, NULL);
		} else {
			next_ms = row->end_ms < next_ms ? row->end_ms : next_ms;
			next_ms = late_ms < next_ms ? late_ms : next_ms;
		}
	}
	return next_ms == UINT64_MAX	  ? -1
	       : next_ms - now_ms > 60000 ? 60000
					  : (int)(next_ms - now_ms) + 1;
}

/* False when the sandbox is over. */
static bool attend(struct row *row)
{
	struct link_frame frame;
	int more = 1;

	if (row->served.control_fd < 0)
		return true;
	for (unsigned i = 0; i < READS_MAX && more > 0; i++) {
		more = link_read(&row->link);
		int got;

		while ((got = link_next(&row->link, &frame)) > 0) {
			if (!relay_frame(row, &frame))
				return false;
		}
		if (more < 0 || got < 0)
			return false;
	}
	relay_turn(row);
	return link_write(&row->link) == 0 && link_waiting(&row->link) <= WAITING_MAX &&
	       served_handle(row->served.control_fd);
}

void rows_turn(struct e2b *e2b)
{
	for (struct row *row = e2b->rows, *next; row; row = next) {
		next = row->next;
		if (!attend(row))
			row_end(e2b, row, NULL);
	}
}

size_t rows_polls(const struct e2b *e2b, struct pollfd *polls)
{
	size_t count = 0;

	for (const struct row *at = e2b->rows; at; at = at->next) {
		bool is_waiting = link_waiting(&at->link) > 0;

		polls[count++] = (struct pollfd){ .fd = at->link.in_fd, .events = POLLIN };
		polls[count++] = (struct pollfd){ .fd = is_waiting ? at->link.out_fd : -1,
						  .events = POLLOUT };
		polls[count++] = (struct pollfd){ .fd = at->served.control_fd, .events = POLLIN };
	}
	return count;
}

size_t rows_count(const struct e2b *e2b)
{
	size_t count = 0;

	for (const struct row *at = e2b->rows; at; at = at->next)
		count++;
	return count;
}

void rows_done(struct e2b *e2b)
{
	while (e2b->rows)
		row_free(e2b, e2b->rows);
	errands_done(e2b);
	while (e2b->saved)
		saved_drop(e2b, e2b->saved);
}
