/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the page, in processes. */
#include "front/page/page_call.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "base/text/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
/* Longer than anything but a stream takes; streams are begun anew by the page. */
#define CALL_S 3600
#define OUTPUT_MAX ((size_t)64 << 20)
#define READ_BYTES 65536
/* In one turn: no call keeps the others waiting. */
#define READS_MAX 8
#define NOTES_MAX 8192
/* Between the end of its output and its own. */
#define END_MS 2000

/* A file of zeros for what a call notes; no call can make it longer. */
static int open_notes(int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = memfd_create("notes", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, NOTES_MAX) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a file for notes");
	*ret_fd = fd_take(&fd);
	return 0;
}

/* In the child: nothing of the server's but its environment and directory. */
static _Noreturn void become(const struct page_setup *setup, const struct strv *words, int out_fd,
			     int notes_fd)
{
	const int keep[] = { 0, 1, 2 };
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	char **argv = xcalloc(words->count + 2, sizeof(*argv));
	sigset_t none;

	argv[0] = setup->program;
	for (size_t i = 0; i < words->count; i++)
		argv[i + 1] = words->items[i];
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(notes_fd, STDERR_FILENO) < 0)
		_exit(127);
	fd_close_others(keep, 3);
	process_heed_signals();
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execve(setup->program, argv, (char *const *)(uintptr_t)setup->environ);
	_exit(127);
}

int page_call_start(struct page_calls *calls, struct http_request *request, const struct op *op,
		    const struct value *asked, const struct page_setup *setup, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	struct page_call *call = calls->items;
	owned(fd_close) int notes_fd = -1;
	pid_t pid;
	int fd = -1;

	if (page_words(op, asked, &words, err) < 0)
		return -1;
	while (call < calls->items + PAGE_CALLS_MAX && call->pid)
		call++;
	if (call == calls->items + PAGE_CALLS_MAX)
		return error_set(err, ERROR_CONFLICT, "%d calls are under way already",
				 PAGE_CALLS_MAX);
	if (open_notes(&notes_fd, err) < 0)
		return -1;
	pid = child_fork(CHILD_WRITES, SIGTERM, &fd, err);
	if (pid < 0)
		return -1;
	if (pid == 0)
		become(setup, &words, fd, notes_fd);
	(void)fcntl(fd, F_SETFL, O_RDONLY | O_NONBLOCK);
	*call = (struct page_call){ .request = request,
				    .pid = pid,
				    .fd = fd,
				    .notes_fd = fd_take(&notes_fd),
				    .end_ns = clock_now_ns() + CALL_S * NS_PER_S,
				    .is_read_only = op->flags & OP_READ_ONLY };
	http_stream(request, "application/x-ndjson");
	return 0;
}

static void finish(struct page_call *call)
{
	owned(str_done) struct str last = STR_INIT;
	char notes[NOTES_MAX] = "";
	struct json json;
	int status;

	fd_close(&call->fd);
	(void)child_wait_within(call->pid, END_MS, &status);
	if (pread(call->notes_fd, notes, sizeof(notes), 0) < 0)
		notes[0] = '\0';
	fd_close(&call->notes_fd);
	if (call->request) {
		json_init(&json, &last);
		str_addf(&last,
			 "{\"end\":{\"exit\":%d,\"cut\":%s,\"notes\":", child_exit_code(status),
			 call->is_cut ? "true" : "false");
		json_bytes(&json, notes, strnlen(notes, sizeof(notes)));
		str_add(&last, "}}\n");
		http_stream_add(call->request, last.data, last.len);
		http_stream_end(call->request, NULL);
	}
	*call = (struct page_call){ .fd = -1, .notes_fd = -1 };
}

void page_calls_forget(struct page_calls *calls, const struct http_request *request)
{
	for (size_t i = 0; i < PAGE_CALLS_MAX; i++) {
		struct page_call *call = &calls->items[i];

		if (!call->pid || call->request != request)
			continue;
		call->request = NULL;
		if (call->is_read_only)
			(void)kill(call->pid, SIGKILL);
	}
}

void page_calls_polls(const struct page_calls *calls, struct pollfd *polls)
{
	for (size_t i = 0; i < PAGE_CALLS_MAX; i++) {
		const struct page_call *call = &calls->items[i];
		bool is_wanted =
			call->pid && (!call->request || http_stream_has_room(call->request));

		polls[i] = (struct pollfd){ .fd = is_wanted ? call->fd : -1, .events = POLLIN };
	}
}

/* What it has written, as far as the reader takes it. */
static void pass_on(struct page_call *call)
{
	char bytes[READ_BYTES];

	for (unsigned i = 0; i < READS_MAX; i++) {
		if (call->request && !http_stream_has_room(call->request))
			return;
		ssize_t got = read(call->fd, bytes, sizeof(bytes));

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			finish(call);
			return;
		}
		call->bytes += (size_t)got;
		call->is_cut |= call->bytes > OUTPUT_MAX;
		if (call->request && !call->is_cut)
			http_stream_add(call->request, bytes, (size_t)got);
	}
}

void page_calls_turn(struct page_calls *calls)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < PAGE_CALLS_MAX; i++) {
		struct page_call *call = &calls->items[i];

		if (call->pid)
			pass_on(call);
		if (call->pid && (now_ns > call->end_ns || (call->is_cut && call->is_read_only)))
			(void)kill(call->pid, SIGTERM);
	}
}

void page_calls_done(struct page_calls *calls)
{
	for (size_t i = 0; i < PAGE_CALLS_MAX; i++) {
		if (!calls->items[i].pid)
			continue;
		(void)kill(calls->items[i].pid, SIGTERM);
		calls->items[i].request = NULL;
		finish(&calls->items[i]);
	}
}
