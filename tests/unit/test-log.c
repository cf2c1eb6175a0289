/* SPDX-License-Identifier: Apache-2.0 */
/* The kept output of a run: frames, the cap, and places where nothing can be kept. */
#include "run/log.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

static struct scratch scratch;

static void read_log(const char *name, struct str *ret_text)
{
	owned(free_ptr) char *path = xasprintf("%s/logs/%s", scratch.dir, name);
	struct error err;

	(void)file_read(AT_FDCWD, path, 1 << 20, ret_text, &err);
}

static bool exists(const char *name)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", scratch.dir, name);

	return access(path, F_OK) == 0;
}

/* Reads one frame at *AT; returns its tag, or 0 at the end or where the file is torn. */
static char next_frame(const char **at, char *ret_bytes, size_t size)
{
	char tag;
	double seconds;
	size_t len;
	int head = 0;

	if (sscanf(*at, "%c %lf %zu\n%n", &tag, &seconds, &len, &head) != 3 || seconds < 0 ||
	    len >= size || strlen(*at + head) <= len || (*at)[(size_t)head + len] != '\n')
		return '\0';
	memcpy(ret_bytes, *at + head, len);
	ret_bytes[len] = '\0';
	*at += (size_t)head + len + 1;
	return tag;
}

static void test_frames(void)
{
	owned(str_done) struct str text = STR_INIT;
	struct run_log log;
	char bytes[64];

	run_log_init(&log, scratch.dir, "RUN1", 1000);
	tap_ok(!exists("logs"), "nothing is made before the first byte");
	run_log_add(&log, 'o', "hello\nworld", 11);
	run_log_add(&log, 'e', "oops\n", 5);
	run_log_add(&log, 'o', "", 0);
	run_log_done(&log);
	read_log("RUN1", &text);
	const char *at = str_cstr(&text);

	tap_ok(next_frame(&at, bytes, sizeof(bytes)) == 'o' && strcmp(bytes, "hello\nworld") == 0,
	       "a frame of stdout, newline and all");
	tap_ok(next_frame(&at, bytes, sizeof(bytes)) == 'e' && strcmp(bytes, "oops\n") == 0,
	       "a frame of stderr");
	tap_is_str(at, "", "nothing is no frame");
}

static void test_cap(void)
{
	owned(str_done) struct str text = STR_INIT;
	struct run_log log;
	char bytes[64];

	run_log_init(&log, scratch.dir, "RUN2", 8);
	run_log_add(&log, 'o', "12345", 5);
	run_log_add(&log, 'o', "67890", 5);
	run_log_add(&log, 'o', "more", 4);
	run_log_done(&log);
	read_log("RUN2", &text);
	const char *at = str_cstr(&text);

	tap_ok(next_frame(&at, bytes, sizeof(bytes)) == 'o' && strcmp(bytes, "12345") == 0 &&
		       next_frame(&at, bytes, sizeof(bytes)) == 'o' && strcmp(bytes, "678") == 0,
	       "the cap counts the output and cuts the last frame");
	tap_is_str(at, "", "nothing is kept beyond it");
}

static void test_tiny_frames(void)
{
	owned(str_done) struct str text = STR_INIT;
	struct run_log log;

	run_log_init(&log, scratch.dir, "RUN5", 100000);
	for (int i = 0; i < 100000; i++)
		run_log_add(&log, i % 2 ? 'o' : 'e', "x", 1);
	run_log_done(&log);
	read_log("RUN5", &text);
	tap_ok(text.len > 200000 && text.len < 300000, "tiny frames are bounded with their heads");
	tap_ok(log.kept < 100000 && log.kept_out <= log.kept,
	       "and what is not kept is not counted");
}

static void test_no_place(void)
{
	struct run_log log;

	run_log_init(&log, NULL, "RUN3", 1000);
	run_log_add(&log, 'o', "x", 1);
	run_log_done(&log);
	tap_ok(!exists("logs/RUN3"), "without a state directory nothing is kept");
	run_log_init(&log, "/no/such/place", "RUN4", 1000);
	run_log_add(&log, 'o', "x", 1);
	run_log_done(&log);
	tap_ok(log.fd < 0 && log.dir_fd < 0, "nor in one that cannot be opened");
	/* An id that is taken already: another run's log is never written to. */
	run_log_init(&log, scratch.dir, "RUN1", 1000);
	run_log_add(&log, 'o', "x", 1);
	tap_ok(log.fd < 0, "a log that exists is left alone");
	run_log_done(&log);
}

int main(void)
{
	scratch_open(&scratch);
	test_frames();
	test_cap();
	test_tiny_frames();
	test_no_place();
	scratch_close(&scratch);
	return tap_done();
}
