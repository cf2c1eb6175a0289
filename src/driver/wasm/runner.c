/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner: a small program that runs one WebAssembly module, inside a sandbox like any other command.
 *
 * It is given the engine, the module and its compiled form as descriptors on read-only mounts, and sees of the sandbox's
 * files what the guest may see: the workspace. Order: limits and engine; the module (compiled here if there is no compiled
 * form yet, before anything of it runs); the store; then the guest. It never returns from the guest to anything but its
 * report.
 */
#include "driver/wasm/runner.h"

#include "base/file/fd.h"
#include "launch/passed_fds.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

/* The one job of this program; a signal handler has no other way to the engine. */
static struct runner runner;

void runner_send(const struct runner *self, const struct wasm_report *report, const void *bytes)
{
	int fd = self->job.passed_fds[WASM_HAND_REPORT];

	/* A driver that does not listen any more has its reasons. */
	if (fd_write_all(fd, report, sizeof(*report)) == 0 && report->length)
		(void)fd_write_all(fd, bytes, (size_t)report->length);
}

static uint64_t fuel_consumed(void)
{
	uint64_t left = runner.job.fuel;

	if (runner.context)
		(void)runner.api.wasmtime_context_get_fuel(runner.context, &left);
	return left > runner.job.fuel ? 0 : runner.job.fuel - left;
}

static _Noreturn void end(enum wasm_outcome outcome, int status, const char *words)
{
	struct wasm_report report = { .kind = WASM_REPORT_END,
				      .outcome = outcome,
				      .length = strlen(words),
				      .fuel_consumed = fuel_consumed() };

	runner_send(&runner, &report, words);
	/* Nothing is taken down in order: the kernel is quicker at it. */
	_exit(status);
}

void runner_words(const struct runner *self, const wasmtime_error_t *error, const wasm_trap_t *trap,
		  char *words, size_t size)
{
	wasm_byte_vec_t message = { 0, NULL };
	size_t used = 0;

	if (error)
		self->api.wasmtime_error_message(error, &message);
	else
		self->api.wasm_trap_message(trap, &message);
	for (size_t i = 0; i < message.size && used + 1 < size; i++) {
		unsigned char c = (unsigned char)message.data[i];

		if (c == '\0')
			break;
		/* The module chose some of these words. */
		if (c == '\n' || c == '\t')
			c = ' ';
		if (c == ' ' && used > 0 && words[used - 1] == ' ')
			continue;
		words[used++] = c < ' ' || c == 0x7f ? '?' : (char)c;
	}
	words[used] = '\0';
}

static const char *trap_name(uint8_t code)
{
	static const char *const names[] = {
		"the stack is exhausted",
		"memory access out of bounds",
		"misaligned memory access",
		"table access out of bounds",
		"indirect call of nothing",
		"indirect call of another type",
		"integer overflow",
		"integer division by zero",
		"a number that is no integer was converted to one",
		"unreachable code was reached",
	};

	return code < sizeof(names) / sizeof(names[0]) ? names[code] : NULL;
}

static _Noreturn void end_trapped(const wasm_trap_t *trap)
{
	char words[WASM_REPORT_TEXT_MAX];
	const char *name = NULL;
	uint8_t code = UINT8_MAX;

	if (runner.api.wasmtime_trap_code(trap, &code)) {
		if (code == WASMTIME_TRAP_OUT_OF_FUEL)
			end(WASM_OUT_OF_FUEL, 128 + SIGKILL, "");
		if (code == WASMTIME_TRAP_INTERRUPT)
			end(WASM_OUT_OF_TIME, 124, "");
		name = trap_name(code);
	}
	if (!name) {
		runner_words(&runner, NULL, trap, words, sizeof(words));
		name = words;
	}
	(void)dprintf(STDERR_FILENO, "wasm: trap: %s\n", name);
	end(WASM_TRAPPED, WASM_TRAP_EXIT, "");
}

/* An exit of the guest's own choice comes as an error with a status. IS_STARTED: what else fails, failed in the guest. */
static _Noreturn void end_failed(const wasmtime_error_t *error, bool is_started)
{
	char words[WASM_REPORT_TEXT_MAX];
	int status = 0;

	if (runner.api.wasmtime_error_exit_status(error, &status))
		end(WASM_EXITED, status & 0xff, "");
	runner_words(&runner, error, NULL, words, sizeof(words));
	if (!is_started)
		end(WASM_BAD_MODULE, 126, words);
	(void)dprintf(STDERR_FILENO, "wasm: %s\n", words);
	end(WASM_TRAPPED, WASM_TRAP_EXIT, "");
}

/* The engine permits this call in a signal handler. */
static void on_alarm(int sig)
{
	(void)sig;
	runner.api.wasmtime_engine_increment_epoch(runner.engine);
}

void runner_start_clock(const struct runner *self)
{
	uint64_t time_ms = self->job.time_ms;
	const struct itimerval timer = { .it_value = { (time_t)(time_ms / 1000),
						       (suseconds_t)(time_ms % 1000) * 1000 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	if (time_ms == 0)
		return;
	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* A program has a function without arguments or results, which the engine checks. */
static wasmtime_error_t *call_start(const wasmtime_func_t *entry, int *ret_status,
				    wasm_trap_t **ret_trap)
{
	*ret_status = 0;
	return runner.api.wasmtime_func_call(runner.context, entry, NULL, 0, NULL, 0, ret_trap);
}

/* A language that is started already has one that gives its exit status: only modules we know by their hash have it. */
static wasmtime_error_t *call_run(const wasmtime_func_t *entry, int *ret_status,
				  wasm_trap_t **ret_trap)
{
	wasmtime_val_raw_t slots[1] = { { .both = { 0, 0 } } };
	wasmtime_error_t *error = NULL;

	error = runner.api.wasmtime_func_call_unchecked(runner.context, entry, slots, 1, ret_trap);
	*ret_status = slots[0].i32 & 0xff;
	return error;
}

static _Noreturn void run_guest(void)
{
	const struct wasmtime *api = &runner.api;
	const char *name = runner.job.library[0] ? "run" : "_start";
	wasmtime_instance_t instance;
	wasm_trap_t *trap = NULL;
	wasmtime_error_t *error = api->wasmtime_linker_instantiate(runner.linker, runner.context,
								   runner.module, &instance, &trap);
	wasmtime_extern_t entry;
	int status = 0;

	if (trap)
		end_trapped(trap);
	if (error)
		end_failed(error, false);
	if (!api->wasmtime_instance_export_get(runner.context, &instance, name, strlen(name),
					       &entry) ||
	    entry.kind != WASMTIME_EXTERN_FUNC)
		end(WASM_BAD_MODULE, 126,
		    "it has no function called _start: it is a library, not a program");
	error = runner.job.library[0] ? call_run(&entry.of.func, &status, &trap)
				      : call_start(&entry.of.func, &status, &trap);
	if (trap)
		end_trapped(trap);
	if (error)
		end_failed(error, true);
	end(WASM_EXITED, status, "");
}

void runner_exit(struct runner *self, int status)
{
	(void)self;
	end(WASM_EXITED, status, "");
}

/* Does not end before it has become a run; a report before that means that it cannot. */
static _Noreturn void start_python(void)
{
	struct error err = { 0 };

	if (runner_python(&runner, &err) < 0)
		end(WASM_BAD_ENGINE, 125, err.text);
	run_guest();
}

static int make_engine(struct error *err)
{
	const struct wasmtime *api = &runner.api;
	wasm_config_t *config;

	if (wasmtime_load(runner.job.passed_fds[WASM_HAND_ENGINE], &runner.api, err) < 0)
		return -1;
	config = api->wasm_config_new();
	/* What changes here changes the code that is made: WASM_SETTINGS of the cache must change with it. */
	api->wasmtime_config_consume_fuel_set(config, true);
	api->wasmtime_config_epoch_interruption_set(config, true);
	api->wasmtime_config_wasm_threads_set(config, false);
	api->wasmtime_config_native_unwind_info_set(config, false);
	runner.engine = api->wasm_engine_new_with_config(config);
	return runner.engine ? 0 : error_set(err, ERROR_HOST, "the engine does not start here");
}

/* "5,9,10,11", of the launch that started us. */
static int read_hands(int *passed_fds, int count)
{
	const char *at = getenv(PASSED_FDS_VARIABLE);

	for (int i = 0; i < count; i++) {
		char *end;

		if (!at)
			return -1;
		passed_fds[i] = (int)strtol(at, &end, 10);
		if (end == at || passed_fds[i] <= STDERR_FILENO)
			return -1;
		at = *end == ',' ? end + 1 : NULL;
	}
	return 0;
}

static int read_job(int argc, char **argv, char **environ_given, struct runner_job *job)
{
	if (argc <= WASM_ARG_GUEST || strcmp(argv[WASM_ARG_DASHES], "--") != 0)
		return -1;
	const char *mode = argv[WASM_ARG_MODE];

	*job = (struct runner_job){
		.is_compiling = strcmp(mode, WASM_MODE_COMPILE) == 0,
		.is_zygote = str_starts(mode, WASM_MODE_SERVE),
		.is_python = strcmp(mode, WASM_MODE_SERVE_PYTHON) == 0,
		.has_own_wasi = str_ends(mode, "-python"),
		.fuel = strtoull(argv[WASM_ARG_FUEL], NULL, 10),
		.memory_bytes = strtoull(argv[WASM_ARG_MEMORY], NULL, 10),
		.time_ms = strtoull(argv[WASM_ARG_TIME], NULL, 10),
		.workspace = argv[WASM_ARG_WORKSPACE],
		.cwd = argv[WASM_ARG_CWD],
		.workspace_from = argv[WASM_ARG_WORKSPACE],
		.cwd_from = argv[WASM_ARG_CWD],
		.library = argv[WASM_ARG_LIBRARY],
		.argc = argc - WASM_ARG_GUEST,
		.argv = (const char *const *)argv + WASM_ARG_GUEST,
		.environ = (const char *const *)environ_given,
	};
	job->has_compiled = job->is_zygote || str_starts(mode, WASM_MODE_RUN);
	return read_hands(job->passed_fds, job->library[0] ? WASM_HAND_COUNT : WASM_HAND_LIBRARY);
}

int main(int argc, char **argv, char **environ_given)
{
	char words[WASM_REPORT_TEXT_MAX] = "";
	enum wasm_outcome outcome;
	struct error err = { 0 };

	(void)prctl(PR_SET_NAME, "aisbx-wasm", 0, 0, 0);
	if (read_job(argc, argv, environ_given, &runner.job) < 0) {
		(void)dprintf(STDERR_FILENO,
			      "aisbx-wasm is started by `aisbx run --driver wasm`\n");
		return 125;
	}
	if (make_engine(&err) < 0 ||
	    (runner_lockdown() < 0 && error_errno(&err, ERROR_HOST, "filter") < 0))
		end(WASM_BAD_ENGINE, 125, err.text);
	outcome = runner_open_module(&runner, words, sizeof(words));
	if (outcome != WASM_EXITED)
		end(outcome, 126, words);
	if (runner.job.is_compiling)
		end(WASM_EXITED, 0, "");
	if (runner_link(&runner, &err) < 0)
		end(WASM_BAD_ENGINE, 125, err.text);
	if (runner.job.is_python)
		start_python();
	if (runner.job.is_zygote && runner_serve(&runner) < 0)
		end(WASM_BAD_ENGINE, 125, "the run could not be taken over");
	if (runner_prepare(&runner, &err) < 0)
		end(WASM_BAD_ENGINE, 125, err.text);
	runner_start_clock(&runner);
	run_guest();
}
