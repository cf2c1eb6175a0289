/* SPDX-License-Identifier: Apache-2.0 */
/* Modules on disk: seals, the cache of compiled ones, finding what a command means, and packages. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "scratch.h"
#include "tests/tap.h"
#include "wasm/module.h"
#include "wasm/unpack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUM_A "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" /* of "a" */

static const struct seal_key own_key = { "a secret of the data folder" };

static int look(const struct scratch *at, const char *file, struct sealed *ret)
{
	owned(fd_close) int fd = open(at->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err;

	return sealed_look(fd, at->dir, file, &own_key, ret, &err);
}

static void seal(const struct scratch *at, const char *file, const char *sum)
{
	owned(fd_close) int fd = open(at->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err;

	if (sealed_write(fd, file, sum, &own_key, &err) < 0)
		abort();
}

/* A file that nobody else may write, whatever umask a caller has: others are never believed. */
static char *put_file(const struct scratch *at, const char *name, const char *text)
{
	char *path = scratch_write(at, name, text);

	if (chmod(path, 0644) < 0)
		abort();
	return path;
}

static void test_seals(void)
{
	struct sealed found = SEALED_INIT;
	struct scratch at;

	scratch_open(&at);
	owned(free_ptr) char *path = put_file(&at, "f", "a");

	tap_ok(look(&at, "nothing", &found) == 0, "what is not there");
	tap_ok(look(&at, "f", &found) == -1, "a file without a seal");
	seal(&at, "f", SUM_A);
	tap_ok(look(&at, "f", &found) == 1, "a file with one");
	tap_is_str(found.sha256, SUM_A, "and its hash");
	sealed_done(&found);

	owned(free_ptr) char *copy = put_file(&at, "g", "a");

	(void)rename(copy, path);
	tap_ok(look(&at, "f", &found) == 1, "another file of the same content");
	sealed_done(&found);
	free_ptr(&path);
	path = put_file(&at, "f", "b");
	tap_ok(look(&at, "f", &found) == -1, "another content");
	seal(&at, "f", SUM_A);
	tap_ok(look(&at, "f", &found) == 1,
	       "control: a seal is believed about a file that still is who it was");
	sealed_done(&found);
	(void)chmod(path, 0666);
	tap_ok(look(&at, "f", &found) == -1, "a file that others may write");
	(void)unlink(path);
	(void)!symlink("/etc/passwd", path);
	tap_ok(look(&at, "f", &found) == -1, "a link in its place");
	(void)unlink(path);
	(void)mkfifo(path, 0600);
	tap_ok(look(&at, "f", &found) == -1, "a fifo, which is not waited for");
	scratch_close(&at);
}

/* A file and a seal that are right in every respect, but were not made with the secret. */
static void test_forged(void)
{
	static const struct seal_key other = { "another one" };
	struct sealed found = SEALED_INIT;
	struct seal_key first, again;
	struct scratch at;
	struct error err;

	scratch_open(&at);
	free(put_file(&at, "f", "a"));
	free(put_file(&at, "g", "a"));
	owned(fd_close) int fd = open(at.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	tap_ok(sealed_write(fd, "f", SUM_A, &other, &err) == 0, "a seal of another secret");
	tap_ok(look(&at, "f", &found) == -1, "is not believed");
	tap_ok(!sealed_renew(fd, "f", "00", &own_key) && look(&at, "f", &found) == -1,
	       "nor renewed for another content");
	tap_ok(sealed_renew(fd, "f", SUM_A, &own_key) && look(&at, "f", &found) == 1,
	       "it is for the one that is known");
	sealed_done(&found);
	tap_ok(renameat(fd, "f.seal", fd, "g.seal") == 0 && look(&at, "g", &found) == -1,
	       "a seal of another file");
	tap_ok(seal_key_read(at.dir, &first, &err) == 0 && seal_key_read(at.dir, &again, &err) == 0,
	       "a secret is made");
	tap_ok(memcmp(&first, &again, sizeof(first)) == 0, "once");

	owned(free_ptr) char *key_path = scratch_path(&at, "wasm/seal-key");

	(void)chmod(key_path, 0644);
	tap_ok(seal_key_read(at.dir, &again, &err) < 0 && err.code == ERROR_DENIED,
	       "one that others may read is refused: %s", err.text);
	scratch_close(&at);
}

static void test_folder(void)
{
	struct scratch at;
	struct error err;
	int fd;

	scratch_open(&at);
	tap_ok(sealed_folder(at.dir, "x", false, &fd, &err) == 0 && fd < 0, "no folder");
	tap_ok(sealed_folder(at.dir, "x", true, &fd, &err) == 0 && fd >= 0, "one is made");
	fd_close(&fd);

	owned(free_ptr) char *path = scratch_path(&at, "x");

	(void)chmod(path, 0777);
	tap_ok(sealed_folder(at.dir, "x", true, &fd, &err) < 0 && err.code == ERROR_DENIED,
	       "one that others may write is refused: %s", err.text);
	scratch_close(&at);
}

static void put(const char *cache, const char *key, const char *text)
{
	struct wasm_draft draft = WASM_DRAFT_INIT;
	struct error err;

	if (wasm_draft_start(&draft, cache, &err) < 0 ||
	    wasm_draft_add(&draft, text, strlen(text), &err) < 0 ||
	    wasm_draft_finish(&draft, key, &own_key, &err) < 0)
		abort();
	wasm_draft_drop(&draft);
}

static void test_cache(void)
{
	char key[SHA256_HEX_SIZE], other[SHA256_HEX_SIZE], language[SHA256_HEX_SIZE];
	const struct timespec earlier[2] = { { .tv_sec = time(NULL) - 1 },
					     { .tv_sec = time(NULL) - 1 } };
	struct sealed found = SEALED_INIT;
	struct scratch at;
	struct error err;
	bool removed;

	scratch_open(&at);
	wasm_cache_key(SUM_A, key);
	wasm_cache_key(key, other);
	wasm_cache_key(wasm_language_find("python")->parts[0].sha256, language);
	tap_ok(strcmp(key, other) != 0, "another module has another key");
	tap_ok(wasm_cache_find(at.dir, key, &own_key, &found, &removed, &err) == 0,
	       "an empty cache");
	put(at.dir, language, "compiled");
	put(at.dir, key, "compiled");
	tap_ok(wasm_cache_find(at.dir, key, &own_key, &found, &removed, &err) == 1 &&
		       found.bytes == 8,
	       "what was put is found");

	FILE *file = fopen(found.path, "r+e");

	(void)fputs("tampered", file);
	(void)fclose(file);
	sealed_done(&found);
	tap_ok(wasm_cache_find(at.dir, key, &own_key, &found, &removed, &err) == 0 && removed,
	       "what was tampered with is not, and is removed");
	tap_ok(wasm_cache_find(at.dir, key, &own_key, &found, &removed, &err) == 0 && !removed,
	       "for good");
	put(at.dir, key, "compiled anew");
	tap_ok(wasm_cache_find(at.dir, key, &own_key, &found, &removed, &err) == 1,
	       "and is put again");
	/* A kernel's clock may tell one time for all that is made in some milliseconds. */
	tap_ok(utimensat(AT_FDCWD, found.path, earlier, 0) == 0, "a second before the others");
	sealed_done(&found);
	for (int i = 0; i < 80; i++) {
		char name[SHA256_HEX_SIZE];

		sha256_hex(&i, sizeof(i), name);
		put(at.dir, name, "x");
	}
	tap_ok(wasm_cache_find(at.dir, key, &own_key, &found, &removed, &err) == 0 && !removed,
	       "the oldest make room");
	tap_ok(wasm_cache_find(at.dir, language, &own_key, &found, &removed, &err) == 1,
	       "but for those of languages");
	sealed_done(&found);
	scratch_close(&at);
}

static void test_words(void)
{
	struct wasm_module module = WASM_MODULE_INIT;
	struct scratch at;
	struct error err;

	scratch_open(&at);
	const struct wasm_places places = { at.dir, at.dir, at.dir };

	tap_ok(wasm_module_find(&places, "ruby", &module, &err) < 0 &&
		       err.code == ERROR_EXEC_NOT_FOUND && strstr(err.text, "python"),
	       "an unknown language: %s", err.text);
	tap_ok(wasm_module_find(&places, "engine", &module, &err) < 0, "the engine is none");
	tap_ok(wasm_module_find(&places, "python", &module, &err) < 0 &&
		       strstr(err.text, "aisbx wasm install"),
	       "without an engine: %s", err.text);
	tap_ok(wasm_language_find("python3") == wasm_language_find("python"), "two names");
	scratch_close(&at);
}

static void test_parse(void)
{
	static const char good[] =
		"aisbx-seal 2 " SUM_A " " SUM_A " 1 2 3 4 18446744073709551615\n";
	static const char *const bad[] = {
		"",
		"aisbx-seal 2 ",
		("aisbx-seal 1 " SUM_A " 1 2 3 4 5\n"),
		("aisbx-seal 2 " SUM_A " 1 2 3 4 5\n"),
		("aisbx-seal 2 " SUM_A " " SUM_A " 1 2 3 4\n"),
		("aisbx-seal 2 " SUM_A " " SUM_A " 1 2 3 4 5"),
		("aisbx-seal 2 " SUM_A " " SUM_A " 1 2 3 4 5\n\n"),
		("aisbx-seal 2 " SUM_A " " SUM_A " 1 2 3 4 18446744073709551616\n"),
		("aisbx-seal 2 " SUM_A " " SUM_A " 1 2 3 -4 5\n"),
		("aisbx-seal 2 " SUM_A
		 " CA978112CA1BBDCAFAC231B39A23DC4DA786EFF8147C4E72B9807785AFEE48BB 1 "
		 "2 "
		 "3 4 5\n"),
	};
	struct file_seal parsed;

	tap_ok(file_seal_parse(good, strlen(good), &parsed) == 0 && parsed.ctime_ns == UINT64_MAX,
	       "a seal");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(file_seal_parse(bad[i], strlen(bad[i]), &parsed) < 0, "no seal %zu", i);
}

/* Two files, stored: a/one and a/two. */
static const uint8_t package[] = {
	0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x5c, 0x57,
	0xee, 0x71, 0x92, 0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
	0x61, 0x2f, 0x6f, 0x6e, 0x65, 0x66, 0x69, 0x72, 0x73, 0x74, 0x50, 0x4b, 0x03, 0x04, 0x14,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x5c, 0x69, 0x11, 0x1f, 0xb6, 0x06, 0x00,
	0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x61, 0x2f, 0x74, 0x77, 0x6f,
	0x73, 0x65, 0x63, 0x6f, 0x6e, 0x64, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x5c, 0x57, 0xee, 0x71, 0x92, 0x05, 0x00, 0x00, 0x00,
	0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x61, 0x2f, 0x6f, 0x6e, 0x65, 0x50, 0x4b, 0x01,
	0x02, 0x14, 0x03, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x5c, 0x69, 0x11,
	0x1f, 0xb6, 0x06, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x28, 0x00, 0x00, 0x00, 0x61, 0x2f,
	0x74, 0x77, 0x6f, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x02, 0x00,
	0x66, 0x00, 0x00, 0x00, 0x51, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static int unpack(int package_fd, const char *member, uint64_t bytes, struct str *ret_text)
{
	owned(fd_close) int to_fd = memfd_create("unpacked", MFD_CLOEXEC);
	struct error err;

	str_clear(ret_text);
	if (wasm_unpack(package_fd, member, bytes, to_fd, &err) < 0)
		return -1;
	return lseek(to_fd, 0, SEEK_SET) < 0 ? -1 : fd_read_all(to_fd, 100, ret_text);
}

static void test_unpack(void)
{
	owned(fd_close) int fd = memfd_create("package", MFD_CLOEXEC);
	owned(str_done) struct str text = STR_INIT;

	if (fd_write_all(fd, package, sizeof(package)) < 0)
		tap_bail("package");
	for (int i = 0; i < 2; i++) {
		tap_is_int(unpack(fd, "a/two", 6, &text), 0, "a file of a package");
		tap_is_str(str_cstr(&text), "second", "is what it was");
	}
	tap_is_int(unpack(fd, "a/one", 6, &text), -1, "another size");
	tap_is_int(unpack(fd, "two", 6, &text), -1, "another name");
	tap_is_int(ftruncate(fd, 20), 0, "cut off");
	tap_is_int(unpack(fd, "a/one", 5, &text), -1, "is no package");
}

int main(void)
{
	test_parse();
	test_seals();
	test_forged();
	test_folder();
	test_cache();
	test_words();
	test_unpack();
	return tap_done();
}
