/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wasm driver: a WebAssembly module, run by a program of ours inside a sandbox of the linux driver.
 *
 * The guest is held by the engine: it sees the directories that were opened for it, has its instructions counted and calls
 * nothing of the kernel. Should the engine fail it, it stands in the same sandbox as any native command. So this driver
 * starts the runner through the other driver's vtable with the spec as it is, another command, and three files as
 * descriptors; the runner's report (report.h) becomes fuel, a reason, and a compiled module for the cache.
 */
#include "driver/driver.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/process/own_program.h"
#include "driver/wasm/intake.h"
#include "driver/wasm/zygote_client.h"
#include "launch/passed_fds.h"
#include "wasm/module.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What the runner needs besides the guest's memory, at most; less where little is permitted. */
#define RUNNER_BYTES ((uint64_t)64 << 20)

struct wasm_task {
	struct task task; /* first: a copy of the inner one's, with our own words */
	const struct driver *native;
	struct task *inner;
	struct spec spec; /* borrows everything but command and env */
	struct driver_io io;
	struct passed_fds passed_fds;
	struct wasm_module module;
	struct intake intake;
	char *runner;
	char *library; /* the folder of a language that brings one, or NULL */
	int epoll_fd, report_fd;
	int child_fd;	   /* the runner's end of it, until it is given away */
	int stream_fds[3]; /* of our own, while a zygote may still refuse the run; else -1 */
};

extern const struct driver driver_wasm;

static struct wasm_task *wasm_task_of(struct task *task)
{
	return (struct wasm_task *)task;
}

static const struct driver *native_driver(void)
{
	return driver_find("linux");
}

static int wasm_check(const struct spec *spec, struct error *err)
{
	if (spec->net == NET_ALLOW)
		return error_advise(err, ERROR_DENIED,
				    "leave out --allow and --net, or use --driver linux",
				    "a WebAssembly module has no network");
	if (spec->resident)
		return error_advise(err, ERROR_DENIED,
				    "use `run --driver wasm`, or create it with --driver linux",
				    "the wasm driver keeps no sandbox between commands");
	return native_driver()->check(spec, err);
}

static uint64_t memory_of_guest(uint64_t limit)
{
	if (limit == 0)
		return INT64_MAX;
	return limit >= 2 * RUNNER_BYTES ? limit - RUNNER_BYTES : limit / 2;
}

static const char *mode_of(const struct wasm_task *task)
{
	if (task->io.serve_fd > 0)
		return task->io.serves_started ? WASM_MODE_SERVE_PYTHON : WASM_MODE_SERVE;
	if (!task->module.has_compiled)
		return WASM_MODE_COMPILE_RUN;
	return task->module.language && task->module.language->is_python ? WASM_MODE_RUN_PYTHON
									 : WASM_MODE_RUN;
}

static void make_command(struct wasm_task *task, const struct spec *given)
{
	const struct spec_limits *limits = &given->limits;
	struct strv *command = &task->spec.command;

	task->spec.command = (struct strv)STRV_INIT;
	task->spec.env = (struct strv)STRV_INIT;
	strv_add(command, "aisbx-wasm");
	strv_add(command, mode_of(task));
	strv_addf(command, "%llu", (unsigned long long)limits->fuel);
	strv_addf(command, "%llu", (unsigned long long)memory_of_guest(limits->mem_bytes));
	strv_addf(command, "%llu", (unsigned long long)limits->time_ms);
	strv_add(command, given->workspace);
	strv_add(command, given->cwd);
	strv_add(command, task->library ? task->module.language->library : "");
	strv_add(command, "--");
	for (size_t i = 0; i < given->command.count; i++)
		strv_add(command, given->command.items[i]);
	for (size_t i = 0; i < given->env.count; i++)
		strv_addf(&task->spec.env, "%c%s", WASM_ENV_MARK, given->env.items[i]);
}

/* The file that was looked at and found to be ours; without one, the descriptor. */
static struct passed_fd hand_of(const struct sealed *file, int fd)
{
	return file->path ? (struct passed_fd){ .path = file->path,
						.fd = -1,
						.dev = file->dev,
						.ino = file->ino }
			  : (struct passed_fd){ .fd = fd };
}

static int make_hands(struct wasm_task *task, int report_fd, struct error *err)
{
	const struct wasm_module *module = &task->module;
	const struct sealed *source = module->has_compiled ? &module->compiled : &module->source;

	task->runner = own_program("aisbx-wasm");
	if (!task->runner)
		return error_errno(
			err, ERROR_HOST,
			"this needs aisbx-wasm, which is part of aisbx; install it again");
	task->passed_fds.locks_itself = task->io.serve_fd > 0;
	task->passed_fds.count = task->library ? WASM_HAND_COUNT : WASM_HAND_LIBRARY;
	task->passed_fds.items[WASM_HAND_LIBRARY] =
		(struct passed_fd){ .path = task->library, .fd = -1 };
	task->passed_fds.items[WASM_HAND_RUNNER] =
		(struct passed_fd){ .path = task->runner, .fd = -1 };
	task->passed_fds.items[WASM_HAND_ENGINE] = hand_of(&module->engine, -1);
	task->passed_fds.items[WASM_HAND_REPORT] = (struct passed_fd){ .fd = report_fd };
	task->passed_fds.items[WASM_HAND_MODULE] = hand_of(source, module->copy_fd);
	return 0;
}

/* The caller's are closed once we have started, and their numbers reused. */
static int keep_streams(struct wasm_task *task)
{
	for (int i = 0; i < 3; i++) {
		task->stream_fds[i] = fcntl(task->io.fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (task->stream_fds[i] < 0)
			return -1;
		task->io.fds[i] = task->stream_fds[i];
	}
	return 0;
}

/* Their reader waits for end of file. */
static void let_streams_go(struct wasm_task *task)
{
	for (int i = 0; i < 3; i++)
		fd_close(&task->stream_fds[i]);
}

static void wasm_free(struct task *base)
{
	struct wasm_task *task = wasm_task_of(base);

	let_streams_go(task);
	if (task->inner)
		task->native->free(task->inner);
	passed_fds_close(&task->passed_fds);
	wasm_module_done(&task->module);
	intake_done(&task->intake);
	strv_done(&task->spec.command);
	strv_done(&task->spec.env);
	fd_close(&task->report_fd);
	fd_close(&task->child_fd);
	fd_close(&task->epoll_fd);
	free(task->runner);
	free(task->library);
	free(task);
}

/* What the run layer reads is the inner task's, but for what we know better. */
static void mirror(struct wasm_task *task)
{
	const struct task own = task->task;

	task->task = *task->inner;
	task->task.driver = &driver_wasm;
	task->task.isolation = "wasm";
	task->task.has_fuel = own.has_fuel;
	task->task.fuel_consumed = own.fuel_consumed;
	task->task.stopped_by = own.stopped_by;
	if (task->module.was_changed)
		task->task.note = "its compiled form had been changed since it was made: it was "
				  "removed, and compiled anew";
}

static int watch(struct wasm_task *task, int fd, struct error *err)
{
	return fd_watch(task->epoll_fd, fd) < 0 ? error_errno(err, ERROR_HOST, "epoll") : 0;
}

/* A sandbox for this run alone, or one that a zygote lives in. */
static int start_native(struct wasm_task *task, struct error *err)
{
	int child_fd = task->io.serve_fd > 0 ? task->io.serve_fd : task->child_fd;

	task->native = native_driver();
	if (make_hands(task, child_fd, err) < 0 ||
	    task->native->start(&task->spec, &task->io, &task->inner, err) < 0)
		return -1;
	fd_close(&task->child_fd);
	return watch(task, task->native->poll_fd(task->inner), err);
}

/* Where zygotes are kept and may run it, one is asked; it may still refuse. */
static int start_by_zygote(struct wasm_task *task, const struct spec *spec, struct error *err)
{
	const struct wasm_language *language = task->module.language;
	const struct zygote_wish wish = {
		.module_key = task->module.key,
		.is_started = language && language->is_python && zygote_can_boot(spec),
		.report_fd = task->child_fd,
	};

	if (!task->module.has_compiled || task->io.serve_fd > 0 || !zygote_fits(spec, &task->io) ||
	    keep_streams(task) < 0 || zygote_start(spec, &task->io, &wish, &task->inner, err) < 0)
		return start_native(task, err);
	task->native = &zygote_driver;
	return watch(task, task->native->poll_fd(task->inner), err);
}

/* A zygote is of the code it was asked for, in its compiled form: the module's file may be another by now. */
static bool is_as_asked(const struct wasm_task *task)
{
	return task->io.serve_fd <= 0 ||
	       (task->module.has_compiled && strcmp(task->module.key, task->io.serves_module) == 0);
}

static int start_inner(struct wasm_task *task, const struct spec *spec, struct error *err)
{
	const struct wasm_places places = { spec->store_dir, spec->cache_dir, spec->cwd };
	int ends[2];

	if (wasm_module_find(&places, spec->command.items[0], &task->module, err) < 0)
		return -1;
	if (!is_as_asked(task))
		return error_set(err, ERROR_HOST, "the module has changed");
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	task->report_fd = ends[0];
	task->child_fd = ends[1];
	/* Only our end must not block. */
	(void)fcntl(task->child_fd, F_SETFL, 0);
	if (task->module.language && task->module.language->library)
		task->library = xstrndup(task->module.source.path,
					 (size_t)(strrchr(task->module.source.path, '/') -
						  task->module.source.path));
	make_command(task, spec);
	intake_init(&task->intake, &places, task->module.key, !task->module.has_compiled);
	task->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (watch(task, task->report_fd, err) < 0)
		return -1;
	return start_by_zygote(task, spec, err);
}

static int wasm_start(const struct spec *spec, const struct driver_io *io, struct task **ret_task,
		      struct error *err)
{
	struct wasm_task *task = xcalloc(1, sizeof(*task));

	task->native = native_driver();
	task->module = (struct wasm_module)WASM_MODULE_INIT;
	intake_init(&task->intake, &(struct wasm_places){ NULL, NULL, NULL }, "", false);
	task->epoll_fd = task->report_fd = task->child_fd = -1;
	memset(task->stream_fds, -1, sizeof(task->stream_fds));
	task->spec = *spec;
	task->spec.command = task->spec.env = (struct strv)STRV_INIT;
	task->io = *io;
	task->io.passed_fds = &task->passed_fds;
	if (start_inner(task, spec, err) < 0) {
		wasm_free(&task->task);
		return -1;
	}
	mirror(task);
	*ret_task = &task->task;
	return 0;
}

static int wasm_poll_fd(const struct task *base)
{
	return ((const struct wasm_task *)base)->epoll_fd;
}

/* The outcome that the runner reports. A module that could not be run is an outcome, an engine that could not a failure. */
static void take_end(struct wasm_task *task)
{
	const struct wasm_report *end = &task->intake.end;
	const char *words = task->intake.text;
	const char *name = task->task.driver ? task->spec.command.items[WASM_ARG_GUEST] : "";
	struct error *err = &task->task.error;

	if (!task->intake.has_end)
		return;
	/* A loop publishes its count only when it ends, so an interrupted one has none. */
	task->task.has_fuel = end->outcome != WASM_OUT_OF_TIME;
	task->task.fuel_consumed = end->fuel_consumed;
	switch (end->outcome) {
	case WASM_OUT_OF_FUEL:
		task->task.stopped_by = TASK_OUT_OF_FUEL;
		break;
	case WASM_OUT_OF_TIME:
		task->task.stopped_by = TASK_OUT_OF_TIME;
		break;
	case WASM_BAD_MODULE:
		error_set(err, ERROR_EXEC_REFUSED, "%s: %s", name, words);
		break;
	case WASM_BAD_ENGINE:
		error_set(err, ERROR_HOST, "%s", words);
		break;
	case WASM_STALE:
		wasm_cache_remove(task->spec.cache_dir, task->module.key);
		error_advise(err, ERROR_HOST, "run it again, and it is compiled anew",
			     "the compiled form of %s does not fit this machine and was removed",
			     name);
		break;
	default:
		break;
	}
}

/* No zygote will do it, and nothing of it has run. */
static void go_native(struct wasm_task *task)
{
	struct task *refused = task->inner;
	struct error err;

	task->inner = NULL;
	if (start_native(task, &err) == 0) {
		let_streams_go(task);
		zygote_driver.free(refused);
		return;
	}
	if (task->inner)
		task->native->free(task->inner);
	task->native = &zygote_driver;
	task->inner = refused;
	zygote_fail(refused, &err);
}

static void wasm_step(struct task *base)
{
	struct wasm_task *task = wasm_task_of(base);
	bool was_ended = base->state == TASK_ENDED;

	if (intake_read(&task->intake, task->report_fd) <= 0 && task->report_fd >= 0) {
		(void)epoll_ctl(task->epoll_fd, EPOLL_CTL_DEL, task->report_fd, NULL);
		fd_close(&task->report_fd);
	}
	task->native->step(task->inner);
	if (zygote_is_refused(task->inner))
		go_native(task);
	if (task->inner->state != TASK_STARTING) {
		fd_close(&task->child_fd);
		let_streams_go(task);
	}
	mirror(task);
	if (base->state != TASK_ENDED || was_ended)
		return;
	/* It has ended: its report is in the pipe by now. */
	(void)intake_read(&task->intake, task->report_fd);
	if (base->error.code == ERROR_NONE)
		take_end(task);
}

static void wasm_kill(struct task *base)
{
	struct wasm_task *task = wasm_task_of(base);

	task->native->kill(task->inner);
	mirror(task);
}

static void wasm_sample(struct task *base, struct task_usage *ret_usage)
{
	struct wasm_task *task = wasm_task_of(base);

	task->native->sample(task->inner, ret_usage);
	base->degraded = task->inner->degraded;
}

static void wasm_resize(struct task *base, unsigned rows, unsigned columns)
{
	struct wasm_task *task = wasm_task_of(base);

	task->native->resize(task->inner, rows, columns);
}

const struct driver driver_wasm = {
	.name = "wasm",
	.summary = "a WebAssembly module or language, its instructions counted, in a sandbox",
	.isolation = "wasm",
	.strength = DRIVER_STRONG,
	.lacks = "native programs, a network, sandboxes that stay",
	.check = wasm_check,
	.start = wasm_start,
	.poll_fd = wasm_poll_fd,
	.step = wasm_step,
	.kill = wasm_kill,
	.sample = wasm_sample,
	.resize = wasm_resize,
	.free = wasm_free,
};
