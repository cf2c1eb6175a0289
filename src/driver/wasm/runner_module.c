/* SPDX-License-Identifier: Apache-2.0 */
/* The runner's module: mapped where its compiled form is at hand, else compiled here and reported. */
#include "driver/wasm/runner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The module as it came, mapped; its file cannot change: it is ours, or a copy. */
static const uint8_t *map_source(int fd, size_t *ret_size)
{
	struct stat st;
	void *bytes;

	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return NULL;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	*ret_size = (size_t)st.st_size;
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* Before anything of the guest runs: once the guest runs, a report could be its own. */
static void send_compiled(const struct runner *runner)
{
	struct wasm_report report = { .kind = WASM_REPORT_COMPILED };
	wasm_byte_vec_t bytes = { 0, NULL };

	if (runner->api.wasmtime_module_serialize(runner->module, &bytes))
		return;
	report.length = bytes.size;
	runner_send(runner, &report, bytes.data);
}

static enum wasm_outcome compile(struct runner *runner, char *words, size_t size)
{
	size_t length = 0;
	const uint8_t *source = map_source(runner->job.passed_fds[WASM_HAND_MODULE], &length);
	wasmtime_error_t *error;

	if (!source) {
		(void)snprintf(words, size, "it is empty, or cannot be read");
		return WASM_BAD_MODULE;
	}
	error = runner->api.wasmtime_module_new(runner->engine, source, length, &runner->module);
	if (error) {
		runner_words(runner, error, NULL, words, size);
		return WASM_BAD_MODULE;
	}
	send_compiled(runner);
	return WASM_EXITED;
}

enum wasm_outcome runner_open_module(struct runner *runner, char *words, size_t size)
{
	wasmtime_error_t *error;
	char path[40];

	if (!runner->job.has_compiled)
		return compile(runner, words, size);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
		       runner->job.passed_fds[WASM_HAND_MODULE]);
	error = runner->api.wasmtime_module_deserialize_file(runner->engine, path, &runner->module);
	if (!error)
		return WASM_EXITED;
	runner_words(runner, error, NULL, words, size);
	return WASM_STALE;
}
