/* SPDX-License-Identifier: Apache-2.0 */
/* A command in the background as others see it: what it wrote, how it stands, and what can be done to it. */
#include "app/sandbox/background.h"

#include "supervise/background/control_socket.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "host/host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* How long an answer of the supervisor's is waited for, and room for input unless the caller waits longer. */
#define ANSWER_MS 10000
#define ROOM_MS 5000
/* From SIGTERM to SIGKILL, and from there to the end of the supervisor. */
#define GRACE_MS 2000
#define KILLED_MS 10000

struct asking {
	const struct app_poll *poll;
	struct app_polled *polled;
	int dir_fd;
	int fd; /* to the supervisor; -1: it is gone */
	uint64_t until_ns;
};

void app_polled_done(struct app_polled *polled)
{
	free_ptr(&polled->sandbox);
	strv_done(&polled->command);
	output_done(&polled->output);
	exec_result_done(&polled->result);
}

static int left_ms(const struct asking *asking)
{
	uint64_t now = clock_now_ns();

	return now >= asking->until_ns ? 0 : (int)((asking->until_ns - now + 999999) / 1000000);
}

/* 1 answered, -1 gone; a supervisor that lives answers at once. */
static int ask(struct asking *asking, struct control_message *message, int *ret_fd,
	       struct error *err)
{
	int got = asking->fd < 0 ? -1 : control_socket_ask(asking->fd, message, ANSWER_MS, ret_fd);

	if (got == 0) {
		error_set(err, ERROR_HOST, "the supervisor of %s does not answer",
			  asking->poll->exec_id);
		return error_add_hint(err, "aisbx stop %s ends it", asking->polled->sandbox);
	}
	if (got < 0)
		fd_close(&asking->fd);
	return got < 0 ? 0 : 1;
}

static int refuse_ended(const struct asking *asking, struct error *err)
{
	error_set(err, ERROR_CONFLICT, "the command has ended and takes no input");
	return error_add_hint(err, "see what came of it with aisbx poll %s", asking->poll->exec_id);
}

static int refuse_closed(const struct asking *asking, struct error *err)
{
	error_set(err, ERROR_CONFLICT,
		  "%zu of %zu bytes were taken: the command's standard input is closed",
		  asking->polled->input_taken, asking->poll->input_len);
	return error_add_hint(err, "start another with aisbx exec -d %s", asking->polled->sandbox);
}

/* Room that does not come is the command's doing: it does not read. */
static int await_room(const struct asking *asking, int input_fd, struct error *err)
{
	int wait_ms = asking->poll->wait_ms ? left_ms(asking) : ROOM_MS;
	int got = fd_wait(input_fd, POLLOUT, wait_ms);

	if (got > 0 || (got < 0 && errno == EINTR))
		return 0;
	return error_advise(err, ERROR_CONFLICT, "send the rest later, or wait longer with --wait",
			    "%zu of %zu bytes were taken: the command does not read its input",
			    asking->polled->input_taken, asking->poll->input_len);
}

/* Writing into a pipe without a reader must not end us. */
static ssize_t write_quietly(int fd, const char *bytes, size_t len)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	ssize_t done;

	(void)sigaction(SIGPIPE, &ignore, &before);
	done = write(fd, bytes, len);
	(void)sigaction(SIGPIPE, &before, NULL);
	return done;
}

static int write_input(struct asking *asking, int input_fd, struct error *err)
{
	const struct app_poll *poll = asking->poll;
	size_t *taken = &asking->polled->input_taken;

	while (*taken < poll->input_len) {
		ssize_t done =
			write_quietly(input_fd, poll->input + *taken, poll->input_len - *taken);

		if (done > 0)
			*taken += (size_t)done;
		else if (done < 0 && errno == EPIPE)
			return refuse_closed(asking, err);
		else if (done < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, ERROR_HOST, "the command's input");
		else if (await_room(asking, input_fd, err) < 0)
			return -1;
	}
	return 0;
}

static int give_input(struct asking *asking, struct error *err)
{
	struct control_message message = { .kind = CONTROL_INPUT };
	owned(fd_close) int input_fd = -1;
	int got = ask(asking, &message, &input_fd, err);

	if (got <= 0)
		return got < 0 ? -1 : refuse_ended(asking, err);
	if (message.kind != CONTROL_INPUT || input_fd < 0)
		return refuse_closed(asking, err);
	return write_input(asking, input_fd, err);
}

/* True when the command ended within WAIT_MS: no output reaches the count that is waited for. */
static bool await_end(struct asking *asking, int wait_ms)
{
	struct control_message message = { .kind = CONTROL_WAIT,
					   .out = UINT64_MAX,
					   .err = UINT64_MAX };

	if (asking->fd >= 0 && control_socket_ask(asking->fd, &message, wait_ms, NULL) < 0)
		fd_close(&asking->fd);
	return asking->fd < 0;
}

static int end_command(struct asking *asking, struct error *err)
{
	struct control_message polite = { .kind = CONTROL_SIGNAL, .signal = SIGTERM };
	struct control_message last = { .kind = CONTROL_SIGNAL, .signal = SIGKILL };

	if (ask(asking, &polite, NULL, err) < 0)
		return -1;
	if (await_end(asking, GRACE_MS))
		return 0;
	if (ask(asking, &last, NULL, err) < 0)
		return -1;
	(void)await_end(asking, KILLED_MS);
	return 0;
}

/* Ended twice is ended; and a command that is over needs no end of input, nor a signal. */
static int notify_supervisor(struct asking *asking, struct error *err)
{
	struct control_message end = { .kind = CONTROL_INPUT_END };
	struct control_message sig = { .kind = CONTROL_SIGNAL, .signal = asking->poll->signal };

	if (asking->poll->input && give_input(asking, err) < 0)
		return -1;
	if (asking->poll->input_end && ask(asking, &end, NULL, err) < 0)
		return -1;
	if (asking->poll->signal && ask(asking, &sig, NULL, err) < 0)
		return -1;
	return asking->poll->end ? end_command(asking, err) : 0;
}

/* Waits for output beyond the bytes of an incomplete character that were read before. */
static void await_news(struct asking *asking)
{
	const struct output *seen = &asking->polled->output;
	struct control_message message = { .kind = CONTROL_WAIT,
					   .out = asking->poll->out_offset + seen->out.held,
					   .err = asking->poll->err_offset + seen->err.held };

	if (asking->fd >= 0 && control_socket_ask(asking->fd, &message, left_ms(asking), NULL) < 0)
		fd_close(&asking->fd);
}

/* First how it stands, then what it wrote: what has ended writes no more. */
static int look(struct asking *asking, const char *state_dir, struct error *err)
{
	struct app_polled *polled = asking->polled;
	const char *id = asking->poll->exec_id;
	enum exec_state state;

	if (exec_state_read(asking->dir_fd, id, &state, &polled->result, err) < 0)
		return -1;
	polled->is_running = state == EXEC_RUNNING;
	if (state == EXEC_LOST && app_exec_lost(state_dir, id, &polled->result, err) < 0)
		return -1;
	output_done(&polled->output);
	polled->output = (struct output){ .out.offset = asking->poll->out_offset,
					  .err.offset = asking->poll->err_offset };
	return output_read(state_dir, id, !polled->is_running, &polled->output, err);
}

static bool is_half_a_character(const struct app_polled *polled)
{
	const struct output *output = &polled->output;

	return polled->is_running && output->out.bytes.len + output->err.bytes.len == 0 &&
	       output->out.held + output->err.held > 0;
}

static int look_for_news(struct asking *asking, const char *state_dir, struct error *err)
{
	do {
		await_news(asking);
		if (look(asking, state_dir, err) < 0)
			return -1;
	} while (is_half_a_character(asking->polled) && asking->fd >= 0 && left_ms(asking) > 0);
	return 0;
}

static int read_card(struct asking *asking, const char *state_dir, struct error *err)
{
	const char *id = asking->poll->exec_id;
	struct exec_record record = { 0 };
	char shown[STR_SHOWN_SIZE];

	if (!exec_is_id(id))
		return error_advise(err, ERROR_NOT_FOUND,
				    "aisbx exec -d says the id; aisbx inspect NAME lists them",
				    "no command '%s' in the background", str_shown(id, shown));
	/* Without the directory there was never any; the missing record gives the better error. */
	if (execs_open(state_dir, false, &asking->dir_fd, err) < 0 && err->code != ERROR_NOT_FOUND)
		return -1;
	if (exec_record_read(asking->dir_fd, id, &record, err) < 0)
		return -1;
	asking->polled->sandbox = record.sandbox;
	asking->polled->started_ms = record.started_ms;
	asking->polled->command = record.command;
	return 0;
}

int app_exec_poll(const struct app_poll *poll, struct app_polled *ret_polled, struct error *err)
{
	owned(host_done) struct host host = { 0 };
	struct asking asking = { .poll = poll,
				 .polled = ret_polled,
				 .dir_fd = -1,
				 .fd = -1,
				 .until_ns = clock_now_ns() + poll->wait_ms * 1000000 };
	int status;

	memset(ret_polled, 0, sizeof(*ret_polled));
	status = host_read_caller(&host, err) < 0 ? -1 : read_card(&asking, host.state_dir, err);
	if (status == 0 &&
	    (poll->input || poll->input_end || poll->signal || poll->end || poll->wait_ms))
		asking.fd = control_socket_connect(asking.dir_fd, poll->exec_id);
	if (status == 0)
		status = notify_supervisor(&asking, err);
	if (status == 0)
		status = (poll->wait_ms ? look_for_news : look)(&asking, host.state_dir, err);
	fd_close(&asking.fd);
	fd_close(&asking.dir_fd);
	return status;
}

static void add_running(int dir_fd, const char *id, const char *sandbox, struct value *list)
{
	struct exec_record record = { 0 };
	struct error ignored;
	char started[32];

	if (exec_record_read(dir_fd, id, &record, &ignored) < 0)
		return;
	if (!sandbox || strcmp(sandbox, record.sandbox) == 0) {
		struct value *row = value_append(list, value_new_map());

		time_format_utc(record.started_ms, started);
		value_add(row, "exec_id", value_new_text(id));
		value_add(row, "sandbox", value_new_text(record.sandbox));
		value_add(row, "started", value_new_text(started));
		value_add(row, "command", value_from_strv(&record.command));
	}
	exec_record_done(&record);
}

struct value *app_execs(const char *sandbox)
{
	owned(strv_done) struct strv running = STRV_INIT;
	owned(host_done) struct host host = { 0 };
	owned(fd_close) int dir_fd = -1;
	struct value *list = value_new_list();
	struct error ignored;

	if (host_read_caller(&host, &ignored) < 0 ||
	    execs_open(host.state_dir, false, &dir_fd, &ignored) < 0)
		return list;
	execs_sweep(dir_fd, &running, NULL);
	strv_sort(&running);
	for (size_t i = 0; i < running.count; i++)
		add_running(dir_fd, running.items[i], sandbox, list);
	return list;
}
