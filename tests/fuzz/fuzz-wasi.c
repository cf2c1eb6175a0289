/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the zygote's WASI: calls with arbitrary words and arbitrary memory, through the door the engine uses.
 *
 * The input is a list of calls (fuzz_call), ended by a byte beyond the last function; what follows lies in the guest's
 * memory. The directories it is given hold files and links, some of them leading out. After every call no descriptor may
 * be open on anything beside these directories, and in the end nothing beside them may have changed.
 */
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "driver/wasm/wasi.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_SIZE 16384u
#define CALLS_MAX 64
#define SLOTS_MAX 9

/* Where it happens: TOP/work and TOP/lib are given, TOP/secret is not. */
static struct {
	char top[32], work[48], lib[48], secret[48];
	int lib_fd;
	struct timespec untouched;
} world;

static struct runner guest;
static uint8_t *memory;
static jmp_buf at_exit;

static struct {
	wasmtime_callback_t callback;
	struct runner_binding *binding;
} functions[RUNNER_FUNCTIONS_MAX];
static size_t function_count;

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* The engine, as far as the calls ask for it. */

static bool give_memory(wasmtime_caller_t *caller, const char *name, size_t len,
			wasmtime_extern_t *ret)
{
	(void)caller;
	must(len == strlen("memory") && memcmp(name, "memory", len) == 0);
	*ret = (wasmtime_extern_t){ .kind = WASMTIME_EXTERN_MEMORY };
	return true;
}

static wasmtime_context_t *give_context(wasmtime_caller_t *caller)
{
	(void)caller;
	return NULL;
}

static uint8_t *give_bytes(wasmtime_context_t *context, const wasmtime_memory_t *which)
{
	(void)context;
	(void)which;
	return memory;
}

static size_t give_size(wasmtime_context_t *context, const wasmtime_memory_t *which)
{
	(void)context;
	(void)which;
	return MEMORY_SIZE;
}

static wasm_valtype_t *no_type(uint8_t kind)
{
	(void)kind;
	return NULL;
}

static void no_types(wasm_valtype_vec_t *ret, size_t count, wasm_valtype_t *const *types)
{
	must(count <= SLOTS_MAX && types);
	*ret = (wasm_valtype_vec_t){ count, NULL };
}

static wasm_functype_t *no_function_type(wasm_valtype_vec_t *in, wasm_valtype_vec_t *out)
{
	must(in->size <= SLOTS_MAX && out->size <= 1);
	return NULL;
}

static wasmtime_error_t *note_function(wasmtime_linker_t *linker, const char *module,
				       size_t module_len, const char *name, size_t name_len,
				       const wasm_functype_t *type, wasmtime_callback_t callback,
				       void *env, wasmtime_finalizer_t finalizer)
{
	(void)linker;
	(void)type;
	(void)finalizer;
	must(module_len == strlen(module) && name_len == strlen(name));
	functions[function_count].callback = callback;
	functions[function_count++].binding = env;
	return NULL;
}

static wasmtime_error_t *take_fuel(wasmtime_context_t *context, uint64_t fuel)
{
	(void)context;
	(void)fuel;
	return NULL;
}

/* The runner, as far as they do. */

void runner_exit(struct runner *runner, int status)
{
	must(runner == &guest && status >= 0 && status <= 255);
	longjmp(at_exit, 1);
}

int runner_serve(struct runner *runner)
{
	(void)runner;
	abort();
}

int runner_make_store(struct runner *runner, struct error *err)
{
	(void)runner;
	(void)err;
	return 0;
}

void runner_start_clock(const struct runner *runner)
{
	(void)runner;
}

/* Nobody waits here. */
int __wrap_ppoll(struct pollfd *polls, nfds_t count, const struct timespec *wait,
		 const sigset_t *mask);
int __real_ppoll(struct pollfd *polls, nfds_t count, const struct timespec *wait,
		 const sigset_t *mask);

int __wrap_ppoll(struct pollfd *polls, nfds_t count, const struct timespec *wait,
		 const sigset_t *mask)
{
	const struct timespec now = { 0, 0 };

	must(!wait || (wait->tv_sec >= 0 && wait->tv_nsec >= 0 && wait->tv_nsec < 1000000000));
	return __real_ppoll(polls, count, &now, mask);
}

static void leave_world(void)
{
	(void)tree_remove(AT_FDCWD, world.top);
}

static void make_world(void)
{
	const struct rlimit small = { 1 << 20, 1 << 20 };
	struct stat st;
	int fd;

	/* Memory, where there is some: much is made and removed. */
	(void)snprintf(world.top, sizeof(world.top), "%s/fuzz-wasi-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(world.top) != NULL && atexit(leave_world) == 0);
	(void)snprintf(world.work, sizeof(world.work), "%s/work", world.top);
	(void)snprintf(world.lib, sizeof(world.lib), "%s/lib", world.top);
	(void)snprintf(world.secret, sizeof(world.secret), "%s/secret", world.top);
	fd = open(world.secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0 && fd_write_all(fd, "secret", 6) == 0 && fstat(fd, &st) == 0);
	world.untouched = st.st_ctim;
	(void)close(fd);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &small);
	memory = malloc(MEMORY_SIZE);
	must(memory != NULL);
}

static void link_functions(void)
{
	struct error err;

	guest.api = (struct wasmtime){
		.wasmtime_caller_export_get = give_memory,
		.wasmtime_caller_context = give_context,
		.wasmtime_memory_data = give_bytes,
		.wasmtime_memory_data_size = give_size,
		.wasm_valtype_new = no_type,
		.wasm_valtype_vec_new = no_types,
		.wasm_functype_new = no_function_type,
		.wasmtime_linker_define_func_unchecked = note_function,
		.wasmtime_context_set_fuel = take_fuel,
	};
	must(wasi_link(&guest, &err) == 0);
}

static void fill(const char *dir, const char *name, const char *content)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0 && fd_write_all(fd, content, strlen(content)) == 0);
	(void)close(fd);
}

static void make_links(void)
{
	static const char *const rows[][2] = { { "a", "l" },
					       { "../secret", "o" },
					       { "..", "u" },
					       { "/", "r" },
					       { "d/../../secret", "p" },
					       { "e", "e" },
					       { "/proc/self/fd/0", "m" } };
	char path[80];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", world.work, rows[i][1]);
		must(symlink(rows[i][0], path) == 0);
	}
}

/* The directories as they are at first. */
static void make_directories(void)
{
	char path[80];

	(void)tree_remove(AT_FDCWD, world.work);
	(void)tree_remove(AT_FDCWD, world.lib);
	(void)snprintf(path, sizeof(path), "%s/d", world.work);
	must(mkdir(world.work, 0700) == 0 && mkdir(world.lib, 0700) == 0 && mkdir(path, 0700) == 0);
	fill(world.work, "a", "0123456789");
	fill(world.work, "d/b", "");
	make_links();
	world.lib_fd = open(world.lib, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(world.lib_fd >= 0);
}

/* A guest that has begun, with streams that nobody waits for. */
static void begin(void)
{
	static const char *const argv[] = { "python", "-c", "pass", NULL };
	static const char *variables[] = { "+A=1", "+AISBX_SANDBOX=s", NULL };
	const struct runner_job job = { .workspace = "/w",
					.cwd = "/w",
					.workspace_from = world.work,
					.cwd_from = world.work,
					.library = "/lib",
					.passed_fds = { [WASM_HAND_LIBRARY] = world.lib_fd },
					.argc = 3,
					.argv = argv,
					.environ = variables };
	struct error err;

	guest.job = job;
	guest.variables = variables;
	guest.is_started = true;
	guest.is_booted = false;
	guest.boot_at = 0;
	str_clear(&guest.boot);
	must(wasi_open(&guest, &err) == 0 && runner_replace(&guest) == 0);
	for (int i = 0; i < 3; i++)
		guest.files[i].host = open("/dev/null", O_RDWR | O_CLOEXEC);
}

static void end(void)
{
	struct stat st;
	int left = 0;
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, world.top);
	struct dirent *entry;

	for (int i = 0; i < RUNNER_FILES_MAX; i++)
		fd_close(&guest.files[i].host);
	fd_close(&world.lib_fd);
	must(lstat(world.secret, &st) == 0 && st.st_nlink == 1 && st.st_size == 6 &&
	     st.st_ctim.tv_sec == world.untouched.tv_sec &&
	     st.st_ctim.tv_nsec == world.untouched.tv_nsec);
	while (dir_next(dir, &entry) == 1)
		left++;
	must(left == 3);
}

/* Of what lies in the directories, or in none at all any more. */
static void check_descriptors(void)
{
	for (int i = 0; i < RUNNER_FILES_MAX; i++) {
		char path[40], target[PATH_MAX];
		ssize_t len;

		if (guest.files[i].host < 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", guest.files[i].host);
		len = readlink(path, target, sizeof(target) - 1);
		must(len > 0);
		target[len] = '\0';
		must(strcmp(target, "/dev/null") == 0 || str_starts(target, world.work) ||
		     str_starts(target, world.lib));
	}
}

/* Two bytes for a word: small numbers, and negative ones. */
static int16_t take_word(const uint8_t **data, size_t *size)
{
	int16_t word = 0;
	size_t len = *size < 2 ? *size : 2;

	memcpy(&word, *data, len);
	*data += len;
	*size -= len;
	return word;
}

static int64_t widen(int16_t word)
{
	if (word == INT16_MAX)
		return INT64_MAX;
	return word == INT16_MIN ? INT64_MIN : word;
}

struct fuzz_call {
	uint8_t function;
	wasmtime_val_raw_t slots[SLOTS_MAX];
};

/* False at the end of the calls. */
static bool take_call(const uint8_t **data, size_t *size, struct fuzz_call *ret)
{
	const char *at;

	memset(ret, 0, sizeof(*ret));
	if (*size == 0)
		return false;
	ret->function = **data;
	(*data)++;
	(*size)--;
	if (ret->function >= function_count)
		return false;
	at = functions[ret->function].binding->function->parameters;
	for (size_t i = 0; at[i]; i++) {
		int16_t word = take_word(data, size);

		if (at[i] == 'I')
			ret->slots[i].i64 = widen(word);
		else
			ret->slots[i].i32 = word;
	}
	return true;
}

static void make_calls(struct fuzz_call *calls, size_t count)
{
	for (volatile size_t i = 0; i < count; i++) {
		struct fuzz_call *call = &calls[i];

		if (setjmp(at_exit) == 0)
			(void)functions[call->function].callback(functions[call->function].binding,
								 NULL, call->slots, SLOTS_MAX);
		/* Nothing else opens any. */
		if (strcmp(functions[call->function].binding->function->name, "path_open") == 0)
			check_descriptors();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_call calls[CALLS_MAX];
	size_t count = 0;

	if (!memory) {
		make_world();
		link_functions();
	}
	while (count < CALLS_MAX && take_call(&data, &size, &calls[count]))
		count++;
	memset(memory, 0, MEMORY_SIZE);
	memcpy(memory, data, size < MEMORY_SIZE ? size : MEMORY_SIZE);
	make_directories();
	begin();
	make_calls(calls, count);
	end();
	return 0;
}
