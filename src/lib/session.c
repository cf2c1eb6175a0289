/* SPDX-License-Identifier: Apache-2.0 */
/* libaisbx: a program that stays between runs, so that what it keeps started is there for the next. */
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/core/utf8.h"
#include "lib/lib.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct aisbx_session {
	pthread_mutex_t lock;
	struct talk talk;
	pid_t pid;
	int64_t limit_ms;    /* of a run */
	pid_t owner;	     /* the process it was opened in */
	struct str received; /* of the answer to come */
	bool is_lost;
};

/* A fork has the pipes as well: what it asked would mix with its parent's, and each could read the other's answers. */
static bool is_owned(const struct aisbx_session *session)
{
	return session->owner == getpid();
}

enum aisbx_error aisbx_session_open(const struct aisbx_request *request,
				    struct aisbx_session **session)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "run" };
	struct aisbx_session *made;
	enum aisbx_error error;

	if (!request || !session || request->command.count > 0)
		return AISBX_ERROR_ARGUMENT;
	made = xcalloc(1, sizeof(*made));
	strv_add(&ask.words, "--jobs=1");
	strv_add(&ask.words, "--batch=-");
	error = process_start(&ask, &made->talk, &made->pid);
	if (error) {
		free(made);
		return error;
	}
	(void)pthread_mutex_init(&made->lock, NULL);
	made->limit_ms = request_limit_ms(request, true);
	made->owner = getpid();
	*session = made;
	return AISBX_OK;
}

void aisbx_session_close(struct aisbx_session *session)
{
	int ignored;

	if (!session)
		return;
	/* The end of its input is its end. */
	fd_close(&session->talk.input_write);
	fd_close(&session->talk.output_read);
	/* Of a fork it is no child, and its lock may have been held by a thread that is not there. */
	if (is_owned(session)) {
		talk_set_limit(&session->talk, session->limit_ms);
		(void)wait_for(&session->talk, session->pid, &ignored);
		(void)pthread_mutex_destroy(&session->lock);
	}
	talk_close(&session->talk);
	str_done(&session->received);
	free(session);
}

static bool is_text(const char *bytes, size_t len)
{
	return utf8_valid(bytes, len);
}

/* One line of the batch; false where JSON could not carry it as it is. */
static bool write_line(const struct aisbx_request *request, struct str *ret_line)
{
	struct json json;

	json_init(&json, ret_line);
	json_open(&json, '{');
	json_key(&json, "command");
	json_strv(&json, &request->command);
	for (size_t i = 0; i < request->command.count; i++) {
		if (!is_text(request->command.items[i], strlen(request->command.items[i])))
			return false;
	}
	if (request->input.len > 0) {
		json_key(&json, "stdin");
		json_bytes(&json, request->input.data, request->input.len);
	}
	json_close(&json, '}');
	str_add_char(ret_line, '\n');
	return is_text(request->input.data, request->input.len);
}

/* True when it is all written. */
static bool feed(struct aisbx_session *session, const struct str *line, size_t *fed)
{
	ssize_t done = write(session->talk.input_write, line->data + *fed, line->len - *fed);

	if (done > 0)
		*fed += (size_t)done;
	else if (done < 0 && errno != EAGAIN && errno != EINTR)
		session->is_lost = true;
	return *fed == line->len;
}

static void collect(struct aisbx_session *session)
{
	char chunk[65536];
	ssize_t got = read(session->talk.output_read, chunk, sizeof(chunk));

	if (got > 0)
		str_add_bytes(&session->received, chunk, (size_t)got);
	else if (got == 0 || (errno != EINTR && errno != EAGAIN))
		session->is_lost = true;
}

static bool has_answer(const struct aisbx_session *session)
{
	return memchr(str_cstr(&session->received), '\n', session->received.len) != NULL;
}

/* Until it is answered and all written: one that is too long is answered early, and its rest would be the next line's. */
static void converse(struct aisbx_session *session, const struct str *line)
{
	size_t fed = 0;
	bool is_fed = false;
	int got;

	talk_set_limit(&session->talk, session->limit_ms);
	while (!session->is_lost && !(is_fed && has_answer(session))) {
		struct pollfd ready[2] = {
			{ .fd = session->talk.output_read, .events = POLLIN },
			{ .fd = is_fed ? -1 : session->talk.input_write, .events = POLLOUT },
		};

		got = poll(ready, 2, talk_left_ms(&session->talk));
		session->talk.late = got == 0;
		if (got <= 0) {
			session->is_lost = got == 0 || errno != EINTR;
			continue;
		}
		if (ready[1].revents)
			is_fed = feed(session, line, &fed);
		if (ready[0].revents)
			collect(session);
	}
}

/* The answer of a run, or of a line that could not become one. */
static enum aisbx_error take_answer(struct aisbx_session *session, struct aisbx_result **result)
{
	owned(str_done) struct str answer = session->received;
	enum aisbx_error error;

	session->received = (struct str)STR_INIT;
	/* Two answers to one line: later answers could not be matched any more. */
	if (!session->is_lost &&
	    memchr(answer.data, '\n', answer.len) != answer.data + answer.len - 1)
		session->is_lost = true;
	if (session->is_lost)
		return session->talk.late ? AISBX_ERROR_TIME : AISBX_ERROR_ANSWER;
	error = result_read_run(&answer, 0, result);
	return error ? result_read(&answer, 1, result) : AISBX_OK;
}

enum aisbx_error aisbx_session_run(struct aisbx_session *session,
				   const struct aisbx_request *request,
				   struct aisbx_result **result)
{
	owned(str_done) struct str line = STR_INIT;
	enum aisbx_error error;
	sigset_t before;
	bool take_back;

	if (!session || !is_owned(session) || !request || !result || request->command.count == 0 ||
	    request->flags.count > 0 || request->variables.count > 0 || !write_line(request, &line))
		return AISBX_ERROR_ARGUMENT;
	(void)pthread_mutex_lock(&session->lock);
	take_back = hold_pipe_signal(&before);
	converse(session, &line);
	release_pipe_signal(&before, take_back);
	error = take_answer(session, result);
	(void)pthread_mutex_unlock(&session->lock);
	return error;
}
