/* SPDX-License-Identifier: Apache-2.0 */
/* `poll`: how a command in the background stands, what it wrote since, and input or a signal for it. */
#include "base/core/clock.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/sandbox/background.h"
#include "observe/result.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <signal.h>
#include <string.h>

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "TERM", SIGTERM }, { "INT", SIGINT },	  { "KILL", SIGKILL },	 { "HUP", SIGHUP },
	{ "QUIT", SIGQUIT }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },	 { "STOP", SIGSTOP },
	{ "CONT", SIGCONT }, { "ALRM", SIGALRM }, { "WINCH", SIGWINCH }, { "ABRT", SIGABRT },
};

static int signal_of(const char *word, int *ret_number, struct error *err)
{
	const char *name = str_starts(word, "SIG") ? word + 3 : word;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(name, signals[i].name) == 0) {
			*ret_number = signals[i].number;
			return 0;
		}
	}
	return error_advise(err, ERROR_USAGE,
			    "TERM, INT, KILL, HUP, QUIT, USR1, USR2, STOP, CONT, ALRM, WINCH, ABRT",
			    "--signal: %s is no signal that can be sent", str_shown(word, shown));
}

static int read_offset(const struct op_call *call, const char *name, uint64_t *ret_offset,
		       struct error *err)
{
	owned(free_ptr) char *where = xasprintf("--%s", name);
	const char *text = op_arg_text(call, name);
	int64_t offset = 0;

	if (text && units_count(where, text, 0, INT64_MAX, &offset, err) < 0)
		return -1;
	*ret_offset = (uint64_t)offset;
	return 0;
}

static int read_wait(const struct op_call *call, uint64_t *ret_ms, struct error *err)
{
	const char *text = op_arg_text(call, "wait");
	int64_t ms = 0;

	if (text && strcmp(text, "0") != 0 && units_duration("--wait", text, &ms, err) < 0)
		return -1;
	*ret_ms = ms > BACKGROUND_WAIT_MS_MAX ? BACKGROUND_WAIT_MS_MAX : (uint64_t)ms;
	return 0;
}

/* BYTES hold what came by descriptor; a text on the command line is borrowed. */
static int read_input(const struct op_call *call, struct str *bytes, struct app_poll *poll,
		      struct error *err)
{
	int given = op_arg_descriptor(call, "input-fd", 0, BACKGROUND_INPUT_MAX, bytes, err);

	poll->input = op_arg_text(call, "input");
	if (given < 0)
		return -1;
	if (given && poll->input)
		return error_set(err, ERROR_USAGE, "--input and --input-fd: give one of them");
	poll->input_len = poll->input ? strlen(poll->input) : bytes->len;
	if (given)
		poll->input = str_cstr(bytes);
	if (poll->input_len > BACKGROUND_INPUT_MAX) {
		error_set(err, ERROR_USAGE, "--input: %zu bytes are too many at once",
			  poll->input_len);
		return error_add_hint(err, "send at most %zu", BACKGROUND_INPUT_MAX);
	}
	return 0;
}

static int read_words(const struct op_call *call, struct str *bytes, struct app_poll *poll,
		      struct error *err)
{
	const char *sig = op_arg_text(call, "signal");

	if (call->words.count != 1)
		return error_advise(err, ERROR_USAGE, "aisbx exec -d says its id",
				    "poll takes one command: aisbx poll EXEC");
	*poll = (struct app_poll){ .exec_id = call->words.items[0],
				   .input_end = op_arg_switch(call, "input-end"),
				   .end = op_arg_switch(call, "end") };
	if (read_input(call, bytes, poll, err) < 0)
		return -1;
	if (sig && poll->end)
		return error_set(err, ERROR_USAGE, "--signal and --end: give one of them");
	if (sig && signal_of(sig, &poll->signal, err) < 0)
		return -1;
	if (read_offset(call, "offset", &poll->out_offset, err) < 0 ||
	    read_offset(call, "stderr-offset", &poll->err_offset, err) < 0)
		return -1;
	return read_wait(call, &poll->wait_ms, err);
}

static void add_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static void add_piece(struct json *json, const char *name, const struct output_piece *piece)
{
	owned(free_ptr) char *offset = xasprintf("%s_offset", name);
	owned(free_ptr) char *encoding = xasprintf("%s_encoding", name);
	owned(str_done) struct str coded = STR_INIT;
	const char *bytes = str_cstr(&piece->bytes);
	bool is_text = utf8_valid(bytes, piece->bytes.len);

	if (!is_text)
		base64_add(&coded, bytes, piece->bytes.len);
	json_key(json, name);
	json_bytes(json, is_text ? bytes : coded.data, is_text ? piece->bytes.len : coded.len);
	json_key(json, offset);
	json_int(json, (int64_t)piece->offset);
	add_text(json, encoding, is_text ? "utf-8" : "base64");
}

static void write_data(struct op_call *call, const struct app_poll *poll,
		       const struct app_polled *polled)
{
	struct json json;
	char started[32];

	time_format_utc(polled->started_ms, started);
	json_init(&json, &call->data);
	json_open(&json, '{');
	add_text(&json, "exec_id", poll->exec_id);
	add_text(&json, "sandbox", polled->sandbox);
	add_text(&json, "state", polled->is_running ? "running" : "done");
	add_text(&json, "started", started);
	json_key(&json, "command");
	json_strv(&json, &polled->command);
	add_piece(&json, "stdout", &polled->output.out);
	add_piece(&json, "stderr", &polled->output.err);
	/* Whether polling again at once brings more. */
	json_key(&json, "more");
	json_bool(&json, polled->output.out.has_more || polled->output.err.has_more);
	if (poll->input) {
		json_key(&json, "input_bytes");
		json_int(&json, (int64_t)polled->input_taken);
	}
	json_key(&json, "result");
	json_raw(&json, str_cstr(&polled->result.object), polled->result.object.len);
	json_close(&json, '}');
}

/* Output as it is, and below it, on stderr, how to go on. */
static void write_words(struct op_call *call, const struct app_poll *poll,
			const struct app_polled *polled)
{
	const struct output *output = &polled->output;
	bool has_more = output->out.has_more || output->err.has_more;

	str_add_bytes(&call->text, str_cstr(&output->out.bytes), output->out.bytes.len);
	str_add_bytes(&call->text, str_cstr(&output->err.bytes), output->err.bytes.len);
	str_addf(&call->notes, "%s in %s, started ", poll->exec_id, polled->sandbox);
	words_add_age(&call->notes, polled->started_ms);
	str_addf(&call->notes, ": %s\n",
		 polled->is_running ? "running" : str_cstr(&polled->result.words));
	if (polled->is_running || has_more)
		str_addf(&call->notes,
			 "go on with: aisbx poll %s --offset %llu --stderr-offset %llu%s\n",
			 poll->exec_id, (unsigned long long)output->out.offset,
			 (unsigned long long)output->err.offset, has_more ? "" : " --wait 10s");
	else
		str_addf(&call->notes, "all about it: aisbx show %s\n", poll->exec_id);
}

int op_poll_run(struct op_call *call, struct error *err)
{
	owned(app_polled_done) struct app_polled polled = { 0 };
	owned(str_done) struct str input = STR_INIT;
	struct app_poll poll = { .exec_id = NULL };

	if (read_words(call, &input, &poll, err) < 0 || app_exec_poll(&poll, &polled, err) < 0)
		return -1;
	if (call->json)
		write_data(call, &poll, &polled);
	else
		write_words(call, &poll, &polled);
	return 0;
}
