/* SPDX-License-Identifier: Apache-2.0 */
/* Children of the E2B server: each does one slow thing to one sandbox, and hands over descriptors and figures. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/service_log.h"
#include "base/text/json_write.h"
#include "front/e2b/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERRANDS_MAX 128
#define END_MS 5000

/* What a child reports, once. */
struct report {
	struct error error;
	struct served_facts facts;
	uint64_t cpu_us, memory_bytes;
	uint64_t limit_ms; /* ERRAND_JUDGE */
};

struct errand {
	struct errand *next;
	enum errand_kind kind;
	struct row *row;
	char id[E2B_ID_SIZE];
	struct http_request *request;
	struct saved *saved;
	struct forking *forking;
	pid_t pid;
	int fd;
};

/* All of them are there, or none is. */
static int make_copies(const struct e2b *e2b, const struct forking *forking, struct error *err)
{
	const char *first = forking->rows[0]->id;
	struct error ignored;

	if (served_copy(&e2b->setup->plan, forking->from, first, SERVED_ALL, err) < 0)
		return -1;
	for (size_t i = 1; i < forking->count; i++) {
		if (served_copy(&e2b->setup->plan, first, forking->rows[i]->id, SERVED_FILES,
				err) == 0)
			continue;
		while (i > 0)
			(void)app_remove(forking->rows[--i]->id, &ignored);
		return -1;
	}
	return 0;
}

static int perform(const struct e2b *e2b, const struct errand_wish *wish, struct report *report,
		   int *fds, size_t *count)
{
	struct served served;
	bool has_ended;

	switch (wish->kind) {
	case ERRAND_START:
		if (served_start(&e2b->setup->plan, wish->wish, &served, &report->facts,
				 &report->error) < 0)
			return -1;
		fds[0] = served.control_fd;
		fds[1] = served.to_fd;
		fds[2] = served.from_fd;
		*count = 3;
		return 0;
	case ERRAND_REMOVE:
		return app_remove(wish->id, &report->error);
	case ERRAND_FREEZE:
		*count = 1;
		return app_freeze(wish->id, &fds[0], &report->error);
	case ERRAND_STOP:
		return app_stop(wish->id, &has_ended, &report->error);
	case ERRAND_COPY:
		return served_copy(&e2b->setup->plan, wish->saved->source, wish->id, wish->how,
				   &report->error);
	case ERRAND_FORK:
		return make_copies(e2b, wish->forking, &report->error);
	case ERRAND_LOOK:
		return served_figures(wish->id, &report->cpu_us, &report->memory_bytes,
				      &report->error);
	case ERRAND_JUDGE:
		return served_judge(&e2b->setup->plan, wish->order, &report->limit_ms,
				    &report->error);
	}
	return -1;
}

static _Noreturn void run(const struct e2b *e2b, const struct errand_wish *wish, int fd)
{
	struct report report = { .error.code = ERROR_NONE };
	const int keep[] = { 0, 1, 2, fd };
	size_t count = 0;
	sigset_t none;
	int fds[3];

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
	if (perform(e2b, wish, &report, fds, &count) < 0)
		count = 0;
	else
		/* What did not matter on the way may still stand there. */
		report.error.code = ERROR_NONE;
	(void)fd_send(fd, &report, sizeof(report), fds, count);
	_exit(0);
}

bool errand_begin(struct e2b *e2b, const struct errand_wish *wish)
{
	struct errand *errand;
	struct error ignored;
	int fd = -1;

	/* What is left behind has to go, however many there are. */
	if (wish->kind != ERRAND_REMOVE && errands_count(e2b) >= ERRANDS_MAX)
		return false;
	pid_t pid = child_fork(CHILD_TALKS, 0, &fd, &ignored);

	if (pid < 0)
		return false;
	if (pid == 0)
		run(e2b, wish, fd);
	errand = xcalloc(1, sizeof(*errand));
	*errand = (struct errand){ .next = e2b->errands,
				   .kind = wish->kind,
				   .row = wish->row,
				   .request = wish->request,
				   .saved = wish->saved,
				   .forking = wish->forking,
				   .pid = pid,
				   .fd = fd };
	(void)snprintf(errand->id, sizeof(errand->id), "%s", wish->id);
	e2b->errands = errand;
	return true;
}

static unsigned status_of(const struct error *err)
{
	return err->code == ERROR_USAGE || err->code == ERROR_INPUT ? 400
	       : err->code == ERROR_BUSY || err->errnum == EDQUOT   ? 429
	       : err->code == ERROR_DENIED			    ? 403
	       : err->code == ERROR_CONFLICT			    ? 409
								    : 500;
}

static void answer_error(struct http_request *request, const struct error *err)
{
	if (request)
		api_refuse(request, status_of(err), "%s", err->text);
}

/* Another one of a fork is there, or (ERR) is not. */
static void fork_add(struct forking *forking, const struct row *row, const struct error *err)
{
	struct json json;

	str_add(&forking->json, forking->json.len ? "," : "[");
	if (row) {
		str_add(&forking->json, "{\"sandbox\":");
		json_init(&json, &forking->json);
		api_sandbox(&json, row);
	} else {
		str_add(&forking->json, "{\"error\":");
		api_error(&forking->json, status_of(err), err->text);
	}
	str_add_char(&forking->json, '}');
}

static void fork_leave(struct forking *forking)
{
	if (!forking || --forking->left > 0)
		return;
	if (forking->request) {
		str_add(&forking->json, forking->json.len ? "]" : "[]");
		api_reply(forking->request, 201, &forking->json);
	}
	str_done(&forking->json);
	free(forking);
}

/* A start has failed, or its client has gone. */
static void start_failed(struct e2b *e2b, const struct errand *errand, const struct error *err)
{
	if (err) {
		service_log(SERVICE_WARNING, "a sandbox could not be made",
			    SERVICE_FIELDS(SERVICE_TEXT("code", error_code_name(err->code))));
		if (errand->forking)
			fork_add(errand->forking, NULL, err);
		else
			answer_error(errand->request, err);
	}
	row_end(e2b, errand->row, NULL);
}

static void start_done(struct e2b *e2b, const struct errand *errand, const struct report *report,
		       int *fds)
{
	owned(str_done) struct str body = STR_INIT;
	struct row *row = errand->row;
	bool was_paused = row->state == ROW_RESUMING;
	struct json json;

	if (report->error.code != ERROR_NONE || fds[2] < 0) {
		start_failed(e2b, errand, &report->error);
		return;
	}
	row->served.control_fd = fd_take(&fds[0]);
	row->link.out_fd = fd_take(&fds[1]);
	row->link.in_fd = fd_take(&fds[2]);
	(void)fcntl(row->link.out_fd, F_SETFL, O_WRONLY | O_NONBLOCK);
	(void)fcntl(row->link.in_fd, F_SETFL, O_RDONLY | O_NONBLOCK);
	row->facts = report->facts;
	row->state = ROW_RUNNING;
	row->is_cold = false;
	service_log(SERVICE_INFO, was_paused ? "a sandbox goes on" : "a sandbox was made",
		    SERVICE_FIELDS(SERVICE_TEXT("sandbox", row->id)));
	/* A client that has gone never learns of a new one. */
	if (errand->forking ? !errand->forking->request : !errand->request && !was_paused) {
		start_failed(e2b, errand, NULL);
		return;
	}
	if (errand->forking)
		fork_add(errand->forking, row, NULL);
	if (!errand->request)
		return;
	json_init(&json, &body);
	api_sandbox(&json, row);
	api_reply(errand->request, 201, &body);
}

static void freeze_done(const struct errand *errand, const struct report *report, int *fds)
{
	struct row *row = errand->row;

	if (fds[0] < 0) {
		row->state = ROW_RUNNING;
		if (errand->request)
			api_refuse(errand->request, 400, "it cannot be paused: %s",
				   report->error.text);
		return;
	}
	row->freeze_fd = fd_take(&fds[0]);
	row->state = ROW_PAUSED;
	relay_break_all(row);
	if (errand->request)
		api_reply(errand->request, 204, NULL);
}

/* Its processes are gone, whatever has gone wrong. */
static void stop_done(struct e2b *e2b, const struct errand *errand, const struct report *report)
{
	if (report->error.code != ERROR_NONE) {
		answer_error(errand->request, &report->error);
		row_end(e2b, errand->row, NULL);
		return;
	}
	errand->row->state = ROW_PAUSED;
	errand->row->is_cold = true;
	if (errand->request)
		api_reply(errand->request, 204, NULL);
}

static void copy_done(struct e2b *e2b, const struct errand *errand, const struct report *report)
{
	if (report->error.code != ERROR_NONE) {
		answer_error(errand->request, &report->error);
		saved_drop(e2b, errand->saved);
		return;
	}
	errand->saved->is_ready = true;
	if (errand->request)
		saved_reply(errand->request, errand->saved);
}

/* The copies are made: each is started by an errand of its own. */
static void fork_done(struct e2b *e2b, const struct errand *errand, const struct report *report)
{
	struct forking *forking = errand->forking;
	const struct error *err = &report->error;

	if (err->code != ERROR_NONE) {
		answer_error(forking->request, err);
		forking->request = NULL;
	}
	for (size_t i = 0; i < forking->count; i++) {
		struct row *row = forking->rows[i];
		struct error busy;

		if (!row)
			continue;
		if (err->code != ERROR_NONE) {
			row_end(e2b, row, NULL);
			continue;
		}
		struct served_wish wish = made_wish(&row->made);
		const struct errand_wish start = { .kind = ERRAND_START,
						   .row = row,
						   .id = row->id,
						   .wish = &wish,
						   .forking = forking };

		wish.name = row->id;
		wish.is_there = true;
		/* It is in the store: without an agent it can only be removed. */
		row->state = ROW_RESUMING;
		if (errand_begin(e2b, &start)) {
			forking->left++;
			continue;
		}
		error_set(&busy, ERROR_BUSY, "too many sandboxes are being made; try again");
		fork_add(forking, NULL, &busy);
		row_end(e2b, row, NULL);
	}
}

static void add_figure(struct json *json, const char *key, int64_t figure)
{
	json_key(json, key);
	json_int(json, figure);
}

static void look_done(const struct errand *errand, const struct report *report)
{
	owned(str_done) struct str body = STR_INIT;
	struct row *row = errand->row;
	uint64_t now_ns = clock_now_ns(), now_ms = clock_epoch_ms();
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	char when[32];
	struct json json;

	if (!errand->request)
		return;
	double share = row->cpu_at_ns && report->cpu_us > row->cpu_us
			       ? (double)(report->cpu_us - row->cpu_us) * 100000.0 /
					 (double)(now_ns - row->cpu_at_ns)
			       : 0;

	row->cpu_us = report->cpu_us;
	row->cpu_at_ns = now_ns;
	time_format_utc(now_ms, when);
	json_init(&json, &body);
	json_open(&json, '[');
	json_open(&json, '{');
	json_key(&json, "timestamp");
	json_text(&json, when);
	add_figure(&json, "timestampUnix", (int64_t)(now_ms / 1000));
	add_figure(&json, "cpuCount",
		   row->facts.cpu_milli ? (row->facts.cpu_milli + 999) / 1000 : cores);
	json_key(&json, "cpuUsedPct");
	json_write_real(&json, share);
	add_figure(&json, "memUsed", (int64_t)report->memory_bytes);
	add_figure(&json, "memTotal", (int64_t)row->facts.mem_bytes);
	add_figure(&json, "memCache", 0);
	add_figure(&json, "diskUsed", 0);
	add_figure(&json, "diskTotal", (int64_t)row->facts.disk_bytes);
	json_close(&json, '}');
	json_close(&json, ']');
	api_reply(errand->request, 200, &body);
}

static void finish(struct e2b *e2b, const struct errand *errand, const struct report *report,
		   int *fds)
{
	if (errand->kind == ERRAND_REMOVE) {
		if (errand->request)
			api_reply(errand->request, 204, NULL);
	} else if (errand->kind == ERRAND_COPY) {
		copy_done(e2b, errand, report);
	} else if (errand->kind == ERRAND_FORK) {
		fork_done(e2b, errand, report);
	} else if (errand->kind == ERRAND_JUDGE) {
		if (errand->row && errand->request)
			order_judged(e2b, errand->row, errand->request, &report->error,
				     report->limit_ms);
	} else if (!errand->row) {
		/* It was ended meanwhile. */
		const struct errand_wish removal = { .kind = ERRAND_REMOVE, .id = errand->id };

		if (errand->kind == ERRAND_START && report->error.code == ERROR_NONE)
			(void)errand_begin(e2b, &removal);
		if (errand->request)
			api_refuse(errand->request, 404, "this sandbox was ended meanwhile");
	} else if (errand->kind == ERRAND_START) {
		start_done(e2b, errand, report, fds);
	} else if (errand->kind == ERRAND_FREEZE) {
		freeze_done(errand, report, fds);
	} else if (errand->kind == ERRAND_STOP) {
		stop_done(e2b, errand, report);
	} else if (report->error.code != ERROR_NONE) {
		answer_error(errand->request, &report->error);
	} else {
		look_done(errand, report);
	}
}

static void take_report(struct e2b *e2b, struct errand *errand)
{
	struct report report = { .error.code = ERROR_NONE };
	int fds[3] = { -1, -1, -1 }, status;
	size_t count = 0;

	if (fd_receive(errand->fd, &report, sizeof(report), fds, 3, &count) !=
	    (ssize_t)sizeof(report))
		error_set(&report.error, ERROR_HOST, "the process that should do this has ended");
	(void)child_wait_within(errand->pid, END_MS, &status);
	fd_close(&errand->fd);
	finish(e2b, errand, &report, fds);
	fork_leave(errand->forking);
	for (unsigned i = 0; i < 3; i++)
		fd_close(&fds[i]);
}

void errands_turn(struct e2b *e2b)
{
	for (struct errand **slot = &e2b->errands; *slot;) {
		struct errand *errand = *slot;

		if (fd_wait(errand->fd, POLLIN, 0) <= 0) {
			slot = &errand->next;
			continue;
		}
		*slot = errand->next;
		take_report(e2b, errand);
		free(errand);
		/* That may have begun another one. */
		slot = &e2b->errands;
	}
}

size_t errands_polls(const struct e2b *e2b, struct pollfd *polls)
{
	size_t count = 0;

	for (const struct errand *at = e2b->errands; at; at = at->next)
		polls[count++] = (struct pollfd){ .fd = at->fd, .events = POLLIN };
	return count;
}

size_t errands_count(const struct e2b *e2b)
{
	size_t count = 0;

	for (const struct errand *at = e2b->errands; at; at = at->next)
		count++;
	return count;
}

static void forget_fork(struct forking *forking, const struct http_request *request,
			const struct row *row)
{
	if (forking && request && forking->request == request)
		forking->request = NULL;
	for (size_t i = 0; forking && row && i < forking->count; i++) {
		if (forking->rows[i] == row)
			forking->rows[i] = NULL;
	}
}

void errands_forget(struct e2b *e2b, const struct http_request *request, const struct row *row)
{
	for (struct errand *at = e2b->errands; at; at = at->next) {
		if (request && at->request == request)
			at->request = NULL;
		if (row && at->row == row)
			at->row = NULL;
		forget_fork(at->forking, request, row);
	}
}

void errands_done(struct e2b *e2b)
{
	while (e2b->errands) {
		struct errand *errand = e2b->errands;

		e2b->errands = errand->next;
		/* One that makes a sandbox is not cut short: what it has made by then is removed with the others. */
		(void)fd_wait(errand->fd, POLLIN, 2 * END_MS);
		fd_close(&errand->fd);
		child_end(errand->pid);
		if (errand->forking)
			errand->forking->request = NULL;
		fork_leave(errand->forking);
		free(errand);
	}
}
