/* SPDX-License-Identifier: Apache-2.0 */
/* Children of the E2B server: each does one slow thing to one sandbox, and hands over descriptors and figures. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/service_log.h"
#include "base/text/json_write.h"
#include "front/e2b/e2b.h"

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
	pid_t pid;
	int fd;
};

static int perform(const struct e2b *e2b, const struct errand_wish *wish, struct report *report,
		   int *fds, size_t *count)
{
	struct served served;

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
				   .pid = pid,
				   .fd = fd };
	(void)snprintf(errand->id, sizeof(errand->id), "%s", wish->id);
	e2b->errands = errand;
	return true;
}

static void answer_error(struct http_request *request, const struct error *err)
{
	if (!request)
		return;
	api_refuse(request,
		   err->code == ERROR_USAGE || err->code == ERROR_INPUT ? 400
		   : err->code == ERROR_BUSY || err->errnum == EDQUOT	? 429
		   : err->code == ERROR_DENIED				? 403
									: 500,
		   "%s", err->text);
}

static void start_done(struct e2b *e2b, const struct errand *errand, const struct report *report,
		       int *fds)
{
	owned(str_done) struct str body = STR_INIT;
	struct row *row = errand->row;
	struct json json;

	if (report->error.code != ERROR_NONE || fds[2] < 0) {
		service_log(
			SERVICE_WARNING, "a sandbox could not be made",
			SERVICE_FIELDS(SERVICE_TEXT("code", error_code_name(report->error.code))));
		answer_error(errand->request, &report->error);
		row_end(e2b, row, NULL);
		return;
	}
	row->served.control_fd = fd_take(&fds[0]);
	row->link.out_fd = fd_take(&fds[1]);
	row->link.in_fd = fd_take(&fds[2]);
	(void)fcntl(row->link.out_fd, F_SETFL, O_WRONLY | O_NONBLOCK);
	(void)fcntl(row->link.in_fd, F_SETFL, O_RDONLY | O_NONBLOCK);
	row->facts = report->facts;
	row->state = ROW_RUNNING;
	service_log(SERVICE_INFO, "a sandbox was made",
		    SERVICE_FIELDS(SERVICE_TEXT("sandbox", row->id)));
	/* A client that has gone never learns of it. */
	if (!errand->request) {
		row_end(e2b, row, NULL);
		return;
	}
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

void errands_forget(struct e2b *e2b, const struct http_request *request, const struct row *row)
{
	for (struct errand *at = e2b->errands; at; at = at->next) {
		if (request && at->request == request)
			at->request = NULL;
		if (row && at->row == row)
			at->row = NULL;
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
		free(errand);
	}
}
