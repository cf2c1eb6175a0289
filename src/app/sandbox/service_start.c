/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services inside a sandbox: started in order by the first command that enters it, ended in order.
 *
 * Each is a command in the background. Which were started stands in a file that every new supervisor removes; a lock on
 * another one makes commands that come in between wait until all services answer.
 */
#include "app/record/record.h"
#include "app/sandbox/background.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/service_copy.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "workspace/disk/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOCK "services-lock"
#define STOP_MS 5000
#define LOOK_MS 1000
#define WORDS_SHOWN 200

/* UID:GID, for root's sandboxes: a service that is not their user's runs under its own id. */
#define USER_SIZE 32

/* A request for a command of ours inside, for COPY; USER is the room for whom it runs as. */
static void begin_request(struct request *request, const struct service_copy *copy,
			  const struct strv *words, char user[static USER_SIZE])
{
	request_init(request);
	request->environ = (const char *const *)environ;
	request->is_service = true;
	strv_copy(&request->command, words);
	if (copy->uid == geteuid())
		return;
	(void)snprintf(user, USER_SIZE, "%u:%u", (unsigned)copy->uid, (unsigned)copy->gid);
	request->user = user;
}

/* What it wrote last, in one line. */
static int report_end(const struct service_copy *copy, const struct app_polled *polled,
		      struct error *err)
{
	const struct output *output = &polled->output;
	const struct str *said = output->err.bytes.len ? &output->err.bytes : &output->out.bytes;
	size_t from = said->len > WORDS_SHOWN ? said->len - WORDS_SHOWN : 0;

	return error_set(err, ERROR_HOST, "%s has ended inside: %.200s", copy->name,
			 str_cstr(said) + from);
}

/* 0 while it runs, -1 with its last words. */
static int check_alive(const struct service_copy *copy, const char *exec_id, struct error *err)
{
	const struct app_poll poll = { .exec_id = exec_id };
	struct app_polled polled = { 0 };
	int status = app_exec_poll(&poll, &polled, err);

	if (status == 0 && !polled.is_running)
		status = report_end(copy, &polled, err);
	app_polled_done(&polled);
	return status;
}

/* The words are run inside again and again: each of them is an argument, which no shell reads. */
static int await_ready(const char *name, const struct service_copy *copy, const char *exec_id,
		       struct error *err)
{
	const struct app_run_options options = { .capture = true };
	uint64_t until_ns = clock_now_ns() + copy->ready_ms * 1000000;
	owned(strv_done) struct strv words = STRV_INIT;

	strv_add_script(&words, "until \"$@\" >/dev/null 2>&1; do sleep 0.02; done");
	strv_add(&words, "sh");
	strv_copy(&words, &copy->ready);
	while (copy->ready.count > 0) {
		owned(request_done) struct request request;
		owned(run_result_done) struct run_result result;
		char user[USER_SIZE];

		begin_request(&request, copy, &words, user);
		request.flags.time_ms = LOOK_MS;
		run_result_init(&result);
		if (app_exec(name, &request, &options, &result, err) < 0 ||
		    check_alive(copy, exec_id, err) < 0)
			return -1;
		if (result.status == RUN_SUCCESS)
			return 0;
		if (clock_now_ns() > until_ns)
			return error_set(err, ERROR_HOST, "%s does not answer inside", copy->name);
	}
	return 0;
}

/* The processes there are now are those of services, and of nothing else: their numbers on the host. */
static void put_processes(const char *name, struct str *text)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	struct sandbox_processes processes = { 0 };
	struct error ignored;

	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, &ignored) < 0 ||
	    app_processes(&place.sandbox, &processes, &ignored) < 0)
		return;
	for (size_t i = 0; i < processes.count; i++) {
		char line[48];

		(void)snprintf(line, sizeof(line), "%d %llu", processes.items[i].pid,
			       (unsigned long long)process_began(processes.items[i].pid));
		fields_put(text, "process", line);
	}
	sandbox_processes_done(&processes);
}

/* Signals it, and waits for its end, passing over what it writes meanwhile. */
static void stop_one(const char *exec_id, int signal)
{
	uint64_t until_ns = clock_now_ns() + STOP_MS * UINT64_C(1000000);
	struct app_poll poll = { .exec_id = exec_id, .signal = signal };
	bool is_running = true;

	while (is_running && clock_now_ns() < until_ns) {
		struct app_polled polled = { 0 };
		struct error ignored;

		is_running = app_exec_poll(&poll, &polled, &ignored) == 0 && polled.is_running;
		poll = (struct app_poll){ .exec_id = exec_id,
					  .out_offset = polled.output.out.offset,
					  .err_offset = polled.output.err.offset,
					  .wait_ms = LOOK_MS };
		app_polled_done(&polled);
	}
}

/* Services that were started, in order: the name, the command's id and the signal that ends it, by turns. */
#define PER_SERVICE 3

static void stop_started(const struct strv *started)
{
	/* The last that was started may use those before it. */
	for (size_t i = started->count; i >= PER_SERVICE; i -= PER_SERVICE)
		stop_one(started->items[i - 2], (int)strtol(started->items[i - 1], NULL, 10));
}

static int start_one(const char *name, const struct service_copy *copy, struct strv *started,
		     struct error *err)
{
	owned(request_done) struct request request;
	struct app_started run;
	char user[USER_SIZE];

	begin_request(&request, copy, &copy->start, user);
	if (app_exec_start(name, &request, false, &run, err) < 0)
		return error_context(err, "%s", copy->name);
	strv_add(started, copy->name);
	strv_add(started, run.exec_id);
	strv_take(started, xasprintf("%llu", (unsigned long long)copy->stop_signal));
	record_named("service", name, copy->name);
	return await_ready(name, copy, run.exec_id, err);
}

static int start_listed(const char *name, struct strv *started, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(strv_done) struct strv ids = STRV_INIT;

	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	service_copies_of(&place.sandbox, &ids);
	for (size_t i = 0; i < ids.count; i++) {
		owned(service_copy_done) struct service_copy copy = { .name = NULL };

		if (service_copy_read(&place.store, ids.items[i], &copy, err) < 0 ||
		    start_one(name, &copy, started, err) < 0)
			return -1;
	}
	return 0;
}

static int write_started(const char *name, int dir_fd, const struct strv *started,
			 struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	fields_begin(&text, SERVICES_UP_KIND);
	for (size_t i = 0; i < started->count; i += PER_SERVICE) {
		fields_put(&text, "service", started->items[i]);
		fields_put(&text, "run", started->items[i + 1]);
		fields_put(&text, "signal", started->items[i + 2]);
	}
	put_processes(name, &text);
	fields_end(&text);
	return store_replace(dir_fd, SERVICES_UP, text.data, text.len, false, err);
}

/* All or none: those that run while another is missing would be in the way of the next start. */
static int start_all(const char *name, int dir_fd, struct error *err)
{
	owned(strv_done) struct strv started = STRV_INIT;
	int status = start_listed(name, &started, err);

	if (status == 0)
		status = write_started(name, dir_fd, &started, err);
	if (status < 0)
		stop_started(&started);
	return status;
}

static bool is_known(const struct fields *fields, int pid)
{
	char line[48];

	(void)snprintf(line, sizeof(line), "%d %llu", pid, (unsigned long long)process_began(pid));
	for (size_t i = 0; i < fields->count; i++) {
		if (strcmp(fields->items[i].key, "process") == 0 &&
		    strcmp(fields->items[i].value, line) == 0)
			return true;
	}
	return false;
}

static bool has_service_parent(const struct sandbox_processes *processes, int parent)
{
	for (size_t i = 0; i < processes->count; i++) {
		if (processes->items[i].is_service && processes->items[i].pid == parent)
			return true;
	}
	return false;
}

void service_mark(int dir_fd, struct sandbox_processes *processes)
{
	owned(fields_done) struct fields fields = { 0 };
	struct error ignored;

	processes->others = processes->count;
	if (fields_read(dir_fd, SERVICES_UP, SERVICES_UP_KIND, &fields, &ignored) < 0)
		return;
	for (bool found = true; found;) {
		found = false;
		for (size_t i = 0; i < processes->count; i++) {
			struct sandbox_process *one = &processes->items[i];

			if (one->is_service || (!has_service_parent(processes, one->parent) &&
						!is_known(&fields, one->pid)))
				continue;
			one->is_service = found = true;
			processes->others--;
		}
	}
}

static bool is_up(int dir_fd)
{
	return faccessat(dir_fd, SERVICES_UP, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int service_start_all(const char *name, int dir_fd, struct error *err)
{
	owned(fd_close) int lock_fd = -1;

	if (is_up(dir_fd))
		return 0;
	lock_fd =
		openat(dir_fd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "the lock of the services of '%s'", name);
	return is_up(dir_fd) ? 0 : start_all(name, dir_fd, err);
}

int app_services_up(const char *name, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(strv_done) struct strv ids = STRV_INIT;
	owned(fd_close) int dir_fd = -1, fd = -1;

	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	service_copies_of(&place.sandbox, &ids);
	if (ids.count == 0)
		return 0;
	dir_fd = fd_take(&place.sandbox.dir_fd);
	/* What a supervisor that was killed left is none of the next one's. */
	if (!sandbox_reach(dir_fd, &fd))
		(void)unlinkat(dir_fd, SERVICES_UP, 0);
	sandbox_place_close(&place);
	return service_start_all(name, dir_fd, err);
}

void service_stop_all(int dir_fd)
{
	owned(fields_done) struct fields fields = { 0 };
	struct error ignored;

	if (fields_read(dir_fd, SERVICES_UP, SERVICES_UP_KIND, &fields, &ignored) < 0)
		return;
	/* The last that was started may use those before it. */
	for (size_t i = fields.count; i-- > 2;) {
		if (strcmp(fields.items[i].key, "signal") != 0)
			continue;
		stop_one(fields.items[i - 1].value, (int)strtol(fields.items[i].value, NULL, 10));
	}
}
