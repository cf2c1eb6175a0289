/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling a language of the wasm driver. */
#include "app/run/wasm_ready.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/run/run_request.h"
#include "wasm/module.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Compiling is our own doing: the limits are against accidents. */
#define COMPILE_MEM "6g"
#define COMPILE_TIME "30m"
#define PROGRESS_MS 250

static int set(struct request *request, const char *name, const char *value, struct error *err)
{
	return settings_set(&request->flags, setting_find(name), name, value, err);
}

static int run_once(const struct wasm_language *language, const char *const *env, struct error *err)
{
	const struct app_run_options options = { .capture = true,
						 .compiles = true,
						 .is_own = true };
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;

	run_result_init(&result);
	request_init(&request);
	request.environ = env;
	strv_add(&request.command, language->name);
	for (const char *const *word = language->probe; *word; word++)
		strv_add(&request.command, *word);
	if (set(&request, "driver", "wasm", err) < 0 ||
	    set(&request, "mem", COMPILE_MEM, err) < 0 ||
	    set(&request, "time", COMPILE_TIME, err) < 0 ||
	    app_run(&request, &options, &result, err) < 0)
		return -1;
	if (result.status != RUN_SUCCESS)
		return error_set(err, ERROR_HOST, "%s does not run here: %s, %.200s",
				 language->name, run_status_name(result.status),
				 result.message ? result.message : str_cstr(&result.err.kept));
	return 0;
}

static void show_progress(const struct wasm_language *language, uint64_t began_ns,
			  void (*progress)(const char *what))
{
	unsigned seconds = (unsigned)((clock_now_ns() - began_ns) / 1000000000);
	unsigned percent = seconds * 100 / language->compile_seconds;
	char bar[21] = "", line[128];

	memset(bar, '#', (percent < 95 ? percent : 95) / 5);
	(void)snprintf(line, sizeof(line), "compiling %s [%-20s] %u s of about %u", language->name,
		       bar, seconds, language->compile_seconds);
	progress(line);
}

/* What the child had to say: nothing bad is no code. */
static int handle_child(const struct wasm_language *language, int fd,
			void (*progress)(const char *what), struct error *err)
{
	uint64_t began_ns = clock_now_ns();

	while (fd_wait(fd, POLLIN, PROGRESS_MS) <= 0) {
		if (progress)
			show_progress(language, began_ns, progress);
	}
	if (progress)
		progress(NULL);
	if (read(fd, err, sizeof(*err)) != (ssize_t)sizeof(*err))
		return error_set(err, ERROR_INTERNAL, "compiling %s was stopped", language->name);
	return err->code == ERROR_NONE ? 0 : -1;
}

int wasm_compile(const struct wasm_language *language, const char *const *env,
		 void (*progress)(const char *what), struct error *err)
{
	owned(fd_close) int from_fd = -1;
	/* Of its own, since a process that has started a sandbox is not fit to start another. */
	pid_t pid = child_fork(CHILD_WRITES, 0, &from_fd, err);
	int status;

	if (pid == 0) {
		struct error said = { 0 };

		(void)run_once(language, env, &said);
		(void)fd_write_all(from_fd, &said, sizeof(said));
		_exit(0);
	}
	if (pid < 0)
		return -1;
	status = handle_child(language, from_fd, progress, err);
	(void)child_wait(pid);
	return status;
}

int wasm_make_ready(const struct spec *spec, const char *const *env, struct strv *notes,
		    struct error *err)
{
	const struct wasm_places places = { spec->store_dir, spec->cache_dir, spec->cwd };
	struct wasm_module module = WASM_MODULE_INIT;
	uint64_t began = clock_now_ns();
	struct error ignored;

	if (strcmp(spec->driver, "wasm") != 0 || !wasm_language_find(spec->command.items[0]) ||
	    wasm_module_find(&places, spec->command.items[0], &module, &ignored) < 0)
		return 0;
	const struct wasm_language *language = module.language;
	bool is_ready = module.has_compiled, was_changed = module.was_changed;

	wasm_module_done(&module);
	if (is_ready)
		return 0;
	if (wasm_compile(language, env, NULL, err) < 0)
		return -1;
	strv_addf(notes, "%s%s was compiled for this machine first, which took %.0f s",
		  was_changed ? "its compiled form had been changed and was removed: " : "",
		  language->name, (double)(clock_now_ns() - began) / 1e9);
	return 0;
}
