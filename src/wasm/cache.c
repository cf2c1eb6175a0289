/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled modules on disk. */
#include "wasm/cache.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "wasm/language.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define FOLDER "wasm"
#define SUFFIX ".compiled"
/* Modules of programs; the oldest of them go. */
#define ENTRIES_MAX 64
#define BYTES_MAX (512ULL << 20)

/*
 * Code is made for the processor at hand: a home that two machines share must not mix them. On x86 C libraries make
 * something else of the kernel's word, each in its way, and the processor is asked itself.
 */
static void add_processor(struct str *text)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	if (__get_cpuid(1, &a, &b, &c, &d))
		str_addf(text, " %x %x", c, d);
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
		str_addf(text, " %x %x", b, c);
#else
	str_addf(text, " %lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
}

void wasm_cache_key(const char *module_sha256, char ret_key[static SHA256_HEX_SIZE])
{
	const struct wasm_part *engine = &wasm_engine_row()->parts[0];
	owned(str_done) struct str text = STR_INIT;

	str_addf(&text, "%s %s " WASM_SETTINGS, module_sha256,
		 engine->sha256 ? engine->sha256 : "");
	add_processor(&text);
	sha256_hex(text.data, text.len, ret_key);
}

static void file_name(const char *key, char *name, size_t size)
{
	(void)snprintf(name, size, "%.64s" SUFFIX, key);
}

/* 0, or -1 where it stays. */
static int remove_entry(int dir_fd, const char *file)
{
	owned(free_ptr) char *seal = xasprintf("%s.seal", file);

	(void)unlinkat(dir_fd, seal, 0);
	return unlinkat(dir_fd, file, 0);
}

int wasm_cache_find(const char *cache_dir, const char *key, const struct seal_key *seal_key,
		    struct sealed *ret, bool *ret_removed, struct error *err)
{
	owned(free_ptr) char *dir = xasprintf("%s/" FOLDER, cache_dir);
	owned(fd_close) int dir_fd = -1;
	struct error why;
	char name[96];
	int found;

	*ret_removed = false;
	if (sealed_folder(cache_dir, FOLDER, false, &dir_fd, err) < 0)
		return -1;
	if (dir_fd < 0)
		return 0;
	file_name(key, name, sizeof(name));
	found = sealed_look(dir_fd, dir, name, seal_key, ret, &why);
	if (found >= 0)
		return found;
	(void)remove_entry(dir_fd, name);
	*ret_removed = true;
	return 0;
}

void wasm_cache_remove(const char *cache_dir, const char *key)
{
	owned(fd_close) int dir_fd = -1;
	struct error ignored;
	char name[96];

	if (sealed_folder(cache_dir, FOLDER, false, &dir_fd, &ignored) < 0 || dir_fd < 0)
		return;
	file_name(key, name, sizeof(name));
	(void)remove_entry(dir_fd, name);
}

int wasm_draft_start(struct wasm_draft *draft, const char *cache_dir, struct error *err)
{
	wasm_draft_drop(draft);
	if (sealed_folder(cache_dir, FOLDER, true, &draft->dir_fd, err) < 0)
		return -1;
	/* Without a name until it is whole: a process that dies leaves nothing. */
	draft->fd = openat(draft->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
	if (draft->fd < 0)
		return error_errno(err, ERROR_HOST, "%s/" FOLDER, cache_dir);
	sha256_start(&draft->sum);
	return 0;
}

int wasm_draft_add(struct wasm_draft *draft, const void *bytes, size_t len, struct error *err)
{
	if (fd_write_all(draft->fd, bytes, len) < 0)
		return error_errno(err, ERROR_HOST, "compiled module");
	sha256_add(&draft->sum, bytes, len);
	return 0;
}

/* Those of languages stay: many small modules must not evict half a minute of compiling. */
static bool is_of_language(const char *file)
{
	for (const struct wasm_language *row = wasm_languages; row->name; row++) {
		char key[SHA256_HEX_SIZE];

		if (wasm_is_engine(row))
			continue;
		wasm_cache_key(row->parts[0].sha256, key);
		if (str_starts(file, key))
			return true;
	}
	return false;
}

static bool is_older(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Whether there are too many, or too large ones; and which of them was made longest ago. */
static bool is_full(int dir_fd, char ret_oldest[NAME_MAX + 1])
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct timespec when = { 0, 0 };
	struct dirent *entry;
	uint64_t bytes = 0;
	size_t count = 0;

	while (dir_next(dir, &entry) > 0) {
		struct stat st;

		if (!str_ends(entry->d_name, SUFFIX) || is_of_language(entry->d_name) ||
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes += (uint64_t)st.st_size;
		if (count++ == 0 || is_older(&st.st_mtim, &when)) {
			when = st.st_mtim;
			memcpy(ret_oldest, entry->d_name, strlen(entry->d_name) + 1);
		}
	}
	return count >= ENTRIES_MAX || bytes > BYTES_MAX;
}

/* One that cannot be removed would be the oldest for ever; another run may have been quicker at it. */
static void make_room(int dir_fd)
{
	char oldest[NAME_MAX + 1];

	while (is_full(dir_fd, oldest)) {
		if (remove_entry(dir_fd, oldest) < 0 && errno != ENOENT)
			return;
	}
}

int wasm_draft_finish(struct wasm_draft *draft, const char *key, const struct seal_key *seal_key,
		      struct error *err)
{
	char sum[SHA256_HEX_SIZE], name[96], path[40];

	make_room(draft->dir_fd);
	file_name(key, name, sizeof(name));
	sha256_end(&draft->sum, sum);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", draft->fd);
	/* Another run was quicker: one is as good as the other, and that one is in use. */
	if (linkat(AT_FDCWD, path, draft->dir_fd, name, AT_SYMLINK_FOLLOW) < 0)
		return errno == EEXIST ? 0 : error_errno(err, ERROR_HOST, "compiled module");
	return sealed_write(draft->dir_fd, name, sum, seal_key, err);
}

void wasm_draft_drop(struct wasm_draft *draft)
{
	fd_close(&draft->fd);
	fd_close(&draft->dir_fd);
}
