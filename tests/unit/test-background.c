/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in the background: their cards and results, their output from any byte on, their socket. */
#include "supervise/background/control_socket.h"
#include "supervise/background/output.h"
#include "supervise/background/place.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>

#define ID "01JCQ8ZK3V5W7X9Y1A2B3C4D5E"
#define OTHER "01JCQ8ZK3V5W7X9Y1A2B3C4D5F"

static struct scratch scratch;

static void test_ids(void)
{
	static const char *const wrong[] = { "", "x", ID "0", "01JCQ8ZK3V5W7X9Y1A2B3C4D5/",
					     "../../../../../etc/passwd0" };

	tap_ok(exec_is_id(ID), "an id");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		tap_ok(!exec_is_id(wrong[i]), "'%s' is none", wrong[i]);
}

static void test_card(int dir_fd)
{
	owned(exec_record_done) struct exec_record record = { .sandbox = xstrdup("box"),
							      .started_ms = 42 };
	owned(exec_record_done) struct exec_record read = { 0 };
	owned(exec_result_done) struct exec_result result = { 0 };
	owned(strv_done) struct strv running = STRV_INIT;
	owned(fd_close) int lock_fd = -1;
	enum exec_state state = EXEC_LOST;
	struct error err;

	strv_add(&record.command, "sh");
	strv_add(&record.command, "");
	strv_add(&record.command, "two\nlines");
	tap_ok(exec_record_read(dir_fd, ID, &read, &err) < 0 && err.code == ERROR_NOT_FOUND,
	       "no record yet");
	tap_ok(exec_record_make(dir_fd, ID, &record, &lock_fd, &err) == 0, "a record is made");
	tap_ok(exec_record_read(dir_fd, ID, &read, &err) == 0 && strcmp(read.sandbox, "box") == 0 &&
		       read.started_ms == 42 && read.command.count == 3 &&
		       strcmp(read.command.items[2], "two\nlines") == 0,
	       "and read again, whatever the words are");
	tap_ok(exec_state_read(dir_fd, ID, &state, &result, &err) == 0 && state == EXEC_RUNNING,
	       "it runs as long as somebody holds it");
	execs_sweep(dir_fd, &running, NULL);
	tap_ok(running.count == 1 && strcmp(running.items[0], ID) == 0, "and is listed");
	fd_close(&lock_fd);
	tap_ok(exec_state_read(dir_fd, ID, &state, &result, &err) == 0 && state == EXEC_LOST,
	       "let go without a result, it is lost");
	str_add(&result.words, "success, exit code 0");
	str_add(&result.object, "{\"a\":1}");
	tap_ok(exec_result_write(dir_fd, ID, &result, &err) == 0, "a result is written");
	exec_result_done(&result);
	tap_ok(exec_state_read(dir_fd, ID, &state, &result, &err) == 0 && state == EXEC_DONE &&
		       strcmp(str_cstr(&result.words), "success, exit code 0") == 0 &&
		       strcmp(str_cstr(&result.object), "{\"a\":1}") == 0,
	       "and is what it comes to");
	exec_forget(dir_fd, ID);
	tap_ok(faccessat(dir_fd, ID, F_OK, 0) < 0 && faccessat(dir_fd, ID ".result", F_OK, 0) < 0,
	       "forgotten, nothing is left");
}

static void test_long_card(void)
{
	owned(str_done) struct str text = STR_INIT, word = STR_INIT;
	owned(exec_record_done) struct exec_record record = { .sandbox = xstrdup("box") };
	owned(exec_record_done) struct exec_record read = { 0 };
	struct error err;

	for (size_t i = 0; i < 100000; i++)
		str_add_char(&word, 'x');
	strv_add(&record.command, "first");
	strv_add(&record.command, str_cstr(&word));
	strv_add(&record.command, "last");
	exec_record_format(&record, &text);
	tap_ok(text.len <= (64u << 10), "a long command is cut");
	tap_ok(exec_record_parse(str_cstr(&text), text.len, &read, &err) == 0 &&
		       read.command.count == 2,
	       "and what is left can be read");
	tap_ok(exec_record_parse("box", 3, &read, &err) < 0 &&
		       exec_record_parse("", 0, &read, &err) < 0 &&
		       exec_record_parse("box\0x\0sh\0", 9, &read, &err) < 0,
	       "what is no record is refused");
}

/* Reads from the offsets on; whether the pieces are those. */
static bool reads(int fd, uint64_t out_at, uint64_t err_at, const char *out, const char *err)
{
	struct output output = { .out.offset = out_at, .err.offset = err_at };
	struct error problem;
	bool good = output_read_log(fd, false, &output, &problem) == 0 &&
		    strcmp(str_cstr(&output.out.bytes), out) == 0 &&
		    strcmp(str_cstr(&output.err.bytes), err) == 0 &&
		    output.out.offset == out_at + strlen(out) &&
		    output.err.offset == err_at + strlen(err) && !output.out.has_more;

	output_done(&output);
	return good;
}

static int open_log(const char *text, size_t len)
{
	owned(free_ptr) char *path = scratch_path(&scratch, "log");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)fd_write_all(fd, text, len);
	return fd;
}

static void test_output(void)
{
	static const char log[] =
		"o 0.001 6\nhello\n\ne 0.002 3\nerr\no 0.003 5\nworld\no 0.004 9\nhal";
	owned(fd_close) int fd = open_log(log, sizeof(log) - 1);
	struct output output = { 0 };
	struct error err;

	tap_ok(reads(fd, 0, 0, "hello\nworld", "err"), "streams, told apart");
	tap_ok(reads(fd, 3, 1, "lo\nworld", "rr"), "from the middle of a frame");
	tap_ok(reads(fd, 6, 3, "world", ""), "from the edge of one");
	tap_ok(reads(fd, 11, 3, "", ""), "from the end, and what is being written waits");
	tap_ok(reads(fd, 99, 99, "", ""), "from beyond it");
	fd_close(&fd);
	fd = open_log("o 0.001 6\nhello\n\nnonsense\n", 26);
	tap_ok(output_read_log(fd, true, &output, &err) < 0 && err.code == ERROR_INPUT,
	       "a damaged log is told");
	output_done(&output);
}

static void test_characters(void)
{
	owned(fd_close) int fd = open_log("o 0.001 3\na\xc3\xa4\no 0.002 2\nb\xe2\n", 27);
	struct output output = { 0 };
	struct error err;

	tap_ok(reads(fd, 0, 0,
		     "a\xc3\xa4"
		     "b",
		     ""),
	       "a character that is not whole waits");
	output.out.offset = 4;
	(void)output_read_log(fd, false, &output, &err);
	tap_ok(output.out.bytes.len == 0 && output.out.offset == 4 && output.out.held == 1,
	       "also when there is nothing else");
	output_done(&output);
	output = (struct output){ 0 };
	(void)output_read_log(fd, true, &output, &err);
	tap_ok(output.out.offset == 5, "unless it is the last");
	output_done(&output);
}

static void test_piece(void)
{
	owned(str_done) struct str log = STR_INIT;
	owned(fd_close) int fd = -1;
	struct output output = { 0 };
	struct error err;

	for (int i = 0; i < 20; i++) {
		str_add(&log, "o 0.001 65536\n");
		for (int b = 0; b < 65536; b++)
			str_add_char(&log, (char)('a' + i));
		str_add_char(&log, '\n');
	}
	fd = open_log(log.data, log.len);
	(void)output_read_log(fd, true, &output, &err);
	tap_ok(output.out.bytes.len == OUTPUT_PIECE && output.out.has_more, "a piece has its size");
	str_clear(&output.out.bytes);
	output.out.has_more = false;
	(void)output_read_log(fd, true, &output, &err);
	tap_ok(output.out.offset == 20u << 16 && !output.out.has_more &&
		       output.out.bytes.data[0] == 'a' + 16,
	       "and the next one goes on");
	output_done(&output);
}

static void test_desk(int dir_fd)
{
	struct control_message message = { .kind = CONTROL_WAIT, .out = 5, .err = 5 };
	owned(fd_close) int client = -1, given = -1, reader = -1;
	struct error err;
	struct control_socket control;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	reader = ends[0];
	tap_ok(control_socket_connect(dir_fd, OTHER) < 0, "nobody listens yet");
	tap_ok(control_socket_open(&control, dir_fd, OTHER, ends[1], &err) == 0,
	       "a desk is opened");
	client = control_socket_connect(dir_fd, OTHER);
	tap_ok(client >= 0 && control_socket_attend(&control, true, 0, 0) == 0 &&
		       control.count == 1,
	       "and reached");
	tap_ok(control_socket_ask(client, &message, 0, NULL) == 0 &&
		       control_socket_attend(&control, true, 5, 5) == 0 &&
		       control.clients[0].is_waiting,
	       "who knows everything waits");
	(void)control_socket_attend(&control, false, 5, 6);
	tap_ok(!control.clients[0].is_waiting, "until there is more");
	message = (struct control_message){ .kind = CONTROL_SIGNAL, .signal = SIGTERM };
	(void)control_socket_ask(client, &message, 0, NULL);
	tap_ok(control_socket_attend(&control, true, 0, 0) == SIGTERM, "a signal is passed on");
	message = (struct control_message){ .kind = CONTROL_SIGNAL, .signal = 1000 };
	(void)control_socket_ask(client, &message, 0, NULL);
	tap_ok(control_socket_attend(&control, true, 0, 0) == 0, "what is none is not");
	message = (struct control_message){ .kind = CONTROL_INPUT_END };
	(void)control_socket_ask(client, &message, 0, &given);
	(void)control_socket_attend(&control, true, 0, 0);
	tap_ok(control.input_fd < 0, "the input is ended");
	(void)fd_send(client, "x", 1, NULL, 0);
	(void)control_socket_attend(&control, true, 0, 0);
	tap_ok(control.count == 0, "nonsense is hung up on");
	control_socket_close(&control);
}

int main(void)
{
	owned(fd_close) int dir_fd = -1;
	struct error err;

	scratch_open(&scratch);
	tap_ok(execs_open(scratch.dir, false, &dir_fd, &err) < 0 && err.code == ERROR_NOT_FOUND,
	       "no directory yet");
	tap_ok(execs_open(scratch.dir, true, &dir_fd, &err) == 0, "it is made");
	test_ids();
	test_card(dir_fd);
	test_long_card();
	test_output();
	test_characters();
	test_piece();
	test_desk(dir_fd);
	fd_close(&dir_fd);
	scratch_close(&scratch);
	return tap_done();
}
