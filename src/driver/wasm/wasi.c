/* SPDX-License-Identifier: Apache-2.0 */
/* WASI preview 1 of our own: the table of functions and descriptors, and words between guest and host. */
#include "driver/wasm/wasi.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MODULE "wasi_snapshot_preview1"
#define PARAMETERS_MAX 9

uint8_t *wasi_bytes(const struct wasi_call *call, uint32_t at, uint32_t len)
{
	return at > call->size || len > call->size - at ? NULL : call->memory + at;
}

uint32_t wasi_word(const struct wasi_call *call, size_t slot)
{
	return (uint32_t)call->slots[slot].i32;
}

uint64_t wasi_long(const struct wasi_call *call, size_t slot)
{
	return (uint64_t)call->slots[slot].i64;
}

uint32_t wasi_store32(const struct wasi_call *call, uint32_t at, uint32_t value)
{
	uint8_t *to = wasi_bytes(call, at, sizeof(value));

	if (to)
		memcpy(to, &value, sizeof(value));
	return to ? WASI_SUCCESS : WASI_FAULT;
}

uint32_t wasi_store64(const struct wasi_call *call, uint32_t at, uint64_t value)
{
	uint8_t *to = wasi_bytes(call, at, sizeof(value));

	if (to)
		memcpy(to, &value, sizeof(value));
	return to ? WASI_SUCCESS : WASI_FAULT;
}

uint32_t wasi_error(void)
{
	static const struct {
		int host;
		uint8_t guest;
	} rows[] = {
		{ E2BIG, 1 },
		{ EACCES, 2 },
		{ EAGAIN, 6 },
		{ EBADF, 8 },
		{ EBUSY, 10 },
		{ EDQUOT, 19 },
		{ EEXIST, 20 },
		{ EFAULT, 21 },
		{ EFBIG, 22 },
		{ EILSEQ, 25 },
		{ EINTR, 27 },
		{ EINVAL, 28 },
		{ EIO, 29 },
		{ EISDIR, 31 },
		{ ELOOP, 32 },
		{ EMFILE, 33 },
		{ EMLINK, 34 },
		{ ENAMETOOLONG, 37 },
		{ ENFILE, 41 },
		{ ENODEV, 43 },
		{ ENOENT, 44 },
		{ ENOLCK, 46 },
		{ ENOMEM, 48 },
		{ ENOSPC, 51 },
		{ ENOSYS, 52 },
		{ ENOTDIR, 54 },
		{ ENOTEMPTY, 55 },
		{ ENOTSUP, 58 },
		{ ENOTTY, 59 },
		{ ENXIO, 60 },
		{ EOVERFLOW, 61 },
		{ EPERM, 63 },
		{ EPIPE, 64 },
		{ ERANGE, 68 },
		{ EROFS, 69 },
		{ ESPIPE, 70 },
		{ ETXTBSY, 74 },
		/* What the kernel calls a path that leaves its directory. */
		{ EXDEV, WASI_NOTCAPABLE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].host == errno)
			return rows[i].guest;
	}
	return WASI_IO;
}

uint32_t wasi_errno(int status)
{
	return status < 0 ? wasi_error() : WASI_SUCCESS;
}

int wasi_host(const struct wasi_call *call, uint32_t fd)
{
	return fd < RUNNER_FILES_MAX ? call->runner->files[fd].host : -1;
}

int wasi_number(struct runner *runner, int host)
{
	for (int i = 0; i < RUNNER_FILES_MAX; i++) {
		if (runner->files[i].host >= 0)
			continue;
		runner->files[i] = (struct runner_file){ .host = host };
		return i;
	}
	(void)close(host);
	return -1;
}

uint8_t wasi_type(unsigned mode)
{
	switch (mode & S_IFMT) {
	case S_IFBLK:
		return 1;
	case S_IFCHR:
		return 2;
	case S_IFDIR:
		return 3;
	case S_IFREG:
		return 4;
	case S_IFSOCK:
		return 6;
	case S_IFLNK:
		return 7;
	default:
		return 0;
	}
}

uint64_t wasi_nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

uint32_t wasi_store_stat(const struct wasi_call *call, uint32_t at, const struct stat *st)
{
	const uint64_t words[8] = { st->st_dev,
				    st->st_ino,
				    wasi_type(st->st_mode),
				    st->st_nlink,
				    (uint64_t)st->st_size,
				    wasi_nanoseconds(&st->st_atim),
				    wasi_nanoseconds(&st->st_mtim),
				    wasi_nanoseconds(&st->st_ctim) };
	uint8_t *to = wasi_bytes(call, at, sizeof(words));

	if (to)
		memcpy(to, words, sizeof(words));
	return to ? WASI_SUCCESS : WASI_FAULT;
}

static int one_time(uint64_t value, bool is_set, bool is_now, struct timespec *ret_time)
{
	if (is_set && is_now)
		return -1;
	*ret_time = (struct timespec){ (time_t)(value / 1000000000u), (long)(value % 1000000000u) };
	if (!is_set)
		*ret_time = (struct timespec){ .tv_nsec = is_now ? UTIME_NOW : UTIME_OMIT };
	return 0;
}

int wasi_times(const struct wasi_call *call, size_t slot, uint32_t flags,
	       struct timespec ret_times[2])
{
	if (one_time(wasi_long(call, slot), flags & 1, flags & 2, &ret_times[0]) < 0)
		return -1;
	return one_time(wasi_long(call, slot + 1), flags & 4, flags & 8, &ret_times[1]);
}

/* One way in for all of them. */
static wasm_trap_t *on_call(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots,
			    size_t count)
{
	const struct runner_binding *binding = env;
	const struct wasmtime *api = &binding->runner->api;
	struct wasi_call call = { .runner = binding->runner, .slots = slots };
	wasmtime_extern_t memory;
	uint32_t status = WASI_FAULT;

	if (api->wasmtime_caller_export_get(caller, "memory", strlen("memory"), &memory) &&
	    memory.kind == WASMTIME_EXTERN_MEMORY) {
		wasmtime_context_t *context = api->wasmtime_caller_context(caller);

		call.memory = api->wasmtime_memory_data(context, &memory.of.memory);
		call.size = api->wasmtime_memory_data_size(context, &memory.of.memory);
		status = binding->function->call(&call);
	}
	if (count > 0)
		slots[0] = (wasmtime_val_raw_t){ .i32 = (int32_t)status };
	return NULL;
}

static void make_type(const struct wasmtime *api, const char *parameters, bool has_result,
		      wasm_functype_t **ret_type)
{
	wasm_valtype_t *words[PARAMETERS_MAX + 1];
	wasm_valtype_vec_t in, out;
	size_t count = 0;

	for (; parameters[count]; count++)
		words[count] =
			api->wasm_valtype_new(parameters[count] == 'I' ? WASM_I64 : WASM_I32);
	words[count] = api->wasm_valtype_new(WASM_I32);
	api->wasm_valtype_vec_new(&in, count, words);
	api->wasm_valtype_vec_new(&out, has_result, words + count);
	*ret_type = api->wasm_functype_new(&in, &out);
}

static int link_rows(struct runner *runner, const struct wasi_function *rows, struct error *err)
{
	const struct wasmtime *api = &runner->api;

	for (; rows->name; rows++) {
		struct runner_binding *binding = &runner->bindings[runner->binding_count++];
		/* The one that never returns. */
		bool has_result = strcmp(rows->name, "proc_exit") != 0;
		wasm_functype_t *type;

		*binding = (struct runner_binding){ runner, rows };
		make_type(api, rows->parameters, has_result, &type);
		if (api->wasmtime_linker_define_func_unchecked(
			    runner->linker, MODULE, strlen(MODULE), rows->name, strlen(rows->name),
			    type, on_call, binding, NULL))
			return error_set(err, ERROR_HOST, "the engine refuses %s", rows->name);
	}
	return 0;
}

int wasi_link(struct runner *runner, struct error *err)
{
	if (link_rows(runner, wasi_file_functions, err) < 0 ||
	    link_rows(runner, wasi_path_functions, err) < 0)
		return -1;
	return link_rows(runner, wasi_process_functions, err);
}

/* HOST is taken. */
static int give_directory(struct runner *runner, enum runner_place place, int host,
			  const char *name, struct error *err)
{
	int fd = host < 0 ? -1 : wasi_number(runner, host);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open %s for the module", name);
	runner->files[fd].name = name;
	runner->files[fd].place = place;
	return 0;
}

/* A directory that is empty and stays so: it is removed already. */
static int open_nothing(void)
{
	char path[] = "/tmp/zygote-XXXXXX";
	int fd = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0 && rmdir(path) < 0)
		fd_close(&fd);
	return fd;
}

static const char *place_of(const struct runner_job *job, enum runner_place place)
{
	return place == PLACE_CWD ? job->cwd_from : job->workspace_from;
}

/*
 * A zygote's workspace is an empty directory until the fork: an interpreter that starts looks for its library and for code
 * to begin with there, too, and what it found would be run before all runs, with descriptors that all of them inherit.
 */
static int open_place(const struct runner_job *job, enum runner_place place, int nothing)
{
	char library[40];

	if (place != PLACE_LIBRARY && job->is_zygote)
		return fcntl(nothing, F_DUPFD_CLOEXEC, 0);
	(void)snprintf(library, sizeof(library), "/proc/self/fd/%d",
		       job->passed_fds[WASM_HAND_LIBRARY]);
	return open(place == PLACE_LIBRARY ? library : place_of(job, place),
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int wasi_open(struct runner *runner, struct error *err)
{
	const struct runner_job *job = &runner->job;
	const struct {
		enum runner_place place;
		const char *name;
	} rows[] = { { PLACE_CWD, "." },
		     { PLACE_WORKSPACE, RUNNER_PROJECT },
		     { PLACE_WORKSPACE, job->workspace },
		     { PLACE_LIBRARY, job->library },
		     { PLACE_CWD, "/" } };
	size_t count = job->library[0] ? 5 : 3;
	owned(fd_close) int nothing = job->is_zygote ? open_nothing() : -1;

	for (int i = 0; i < RUNNER_FILES_MAX; i++)
		runner->files[i] = (struct runner_file){ .host = i <= STDERR_FILENO ? i : -1 };
	for (size_t i = 0; i < count; i++) {
		int host = open_place(job, rows[i].place, nothing);

		if (give_directory(runner, rows[i].place, host, rows[i].name, err) < 0)
			return -1;
	}
	return 0;
}

int wasi_replace(struct runner *runner)
{
	for (int i = 0; i < RUNNER_FILES_MAX; i++) {
		const struct runner_file *file = &runner->files[i];
		int fd;

		if (file->host < 0 || !file->name || file->place == PLACE_LIBRARY)
			continue;
		fd = open(place_of(&runner->job, file->place), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || dup3(fd, file->host, O_CLOEXEC) < 0 || close(fd) < 0)
			return -1;
	}
	return 0;
}
