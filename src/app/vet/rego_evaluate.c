/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator of policies: a process for one question, and what it answers. */
#include "app/vet/rego_parts.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/own_program.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define HELPER "aisbx-policy"
/* It stops by itself long before; this is for a machine with much else to do, and for one that hangs. */
#define WAIT_MS 10000
#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define ANSWER_DEPTH_MAX 16
#define ANSWER_VALUES_MAX 20000

static int start(pid_t *ret_pid, int *ret_fd, struct error *err)
{
	owned(free_ptr) char *path = own_program(HELPER);
	owned(fd_close) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char *words[] = { path, NULL }, *variables[] = { NULL };
	int ends[2];

	if (!path)
		return error_advise(
			err, ERROR_DENIED,
			"install cargo and rustc (Debian: cargo-web, rustc-web), then build and "
			"install aisbx again; or move the policies away",
			"there is a policy, and " HELPER ", which evaluates it, is not installed");
	if (null_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "no channel to the evaluator of policies");
	const struct child_exec exec = { .words = words,
					 .environ = variables,
					 .streams = { ends[1], ends[1], null_fd } };

	*ret_pid = child_exec(&exec, err);
	fd_close(&ends[1]);
	if (*ret_pid < 0)
		fd_close(&ends[0]);
	*ret_fd = *ret_pid < 0 ? -1 : ends[0];
	return *ret_pid < 0 ? -1 : 0;
}

/* 0 when DONE bytes went through, or the other end can go on; -1 when it is gone or the time is over. */
static int go_on(int fd, ssize_t done, short events, uint64_t until_ns)
{
	if (done > 0)
		return 0;
	if (done == 0 || (errno != EAGAIN && errno != EINTR))
		return -1;
	return fd_wait_until(fd, events, until_ns) > 0 ? 0 : -1;
}

/* One line there, one line back. */
static int talk(int fd, const struct str *question, struct str *ret_line)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_MS * UINT64_C(1000000);
	char buffer[16384];

	for (size_t at = 0; at < question->len;) {
		ssize_t done = send(fd, question->data + at, question->len - at,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (go_on(fd, done, POLLOUT, until_ns) < 0)
			return -1;
		at += done > 0 ? (size_t)done : 0;
	}
	while (ret_line->len == 0 || ret_line->data[ret_line->len - 1] != '\n') {
		ssize_t done = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);

		if (go_on(fd, done, POLLIN, until_ns) < 0 || ret_line->len > ANSWER_BYTES_MAX)
			return -1;
		str_add_bytes(ret_line, buffer, done > 0 ? (size_t)done : 0);
	}
	return 0;
}

int policy_read_line(const char *bytes, size_t len, const struct value *sets,
		     struct value **ret_answer, struct error *err)
{
	const struct json_limits limits = { .bytes = ANSWER_BYTES_MAX,
					    .depth = ANSWER_DEPTH_MAX,
					    .values = ANSWER_VALUES_MAX };
	owned(value_release) struct value *answer = NULL;
	const struct value *rows;

	if (json_read(bytes, len, &limits, &answer, err) < 0) {
		err->code = ERROR_DENIED;
		return error_context(err, "the evaluator of policies answers nonsense");
	}
	if (answer->kind == VALUE_MAP && value_get_text(answer, "error"))
		return error_set(err, ERROR_DENIED, "%s", value_get_text(answer, "error"));
	rows = answer->kind == VALUE_MAP ? value_get(answer, "sets") : NULL;
	if (!rows || rows->kind != VALUE_LIST || rows->many.count != sets->many.count)
		return error_set(err, ERROR_DENIED, "the evaluator of policies answers nonsense");
	for (size_t i = 0; i < rows->many.count; i++) {
		const struct value *row = rows->many.items[i];

		if (row->kind != VALUE_MAP || !value_get_text(row, "name") ||
		    !str_same(value_get_text(row, "name"),
			      value_get_text(sets->many.items[i], "name")))
			return error_set(err, ERROR_DENIED,
					 "the evaluator of policies answers another question");
	}
	*ret_answer = ptr_take(&answer);
	return 0;
}

int policy_evaluate(const char *mode, const struct policy_files *files, const struct value *input,
		    struct value **ret_answer, struct error *err)
{
	owned(str_done) struct str question = STR_INIT, line = STR_INIT;
	owned(fd_close) int fd = -1;
	pid_t pid = -1;

	str_addf(&question, "{\"mode\":\"%s\",\"sets\":", mode);
	json_write(&question, files->sets, 0);
	str_add(&question, ",\"input\":");
	json_write(&question, input, 0);
	str_add(&question, "}\n");
	if (start(&pid, &fd, err) < 0)
		return -1;
	int talked = talk(fd, &question, &line);

	child_end(pid);
	if (talked < 0)
		return error_advise(
			err, ERROR_DENIED, "aisbx policy check tries all of it",
			"the policy gives no answer: it takes too long or too much memory");
	return policy_read_line(line.data, line.len, files->sets, ret_answer, err);
}
