/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients start: commands and code. Each is read here before the agent gets it, asked about where a policy or the scanner is
 * there, put on record, and held to the time that `serve` was given. The agent reports how it ended; a sandbox that does not end
 * it in time is ended as a whole, because what runs there could keep its agent from doing so.
 */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/json_read.h"
#include "envd/note.h"
#include "front/e2b/errand.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#define START_PATH "/process.Process/Start"
#define ENVELOPE 5
/* How long the end of a command may take once its time is over. */
#define LATE_MS 5000

struct order {
	struct order *next;
	const struct served_plan *plan;
	uint32_t channel;
	struct served_run run;
	uint64_t late_ms; /* since the epoch; 0: never */
};

static const char *path_of(const struct http_request *request)
{
	const char *path = http_path(request);

	return path + strspn(path, "/") - 1;
}

bool order_is(const struct http_request *request)
{
	const char *path = path_of(request);

	return strcmp(http_method(request), "POST") == 0 &&
	       (strcmp(path, START_PATH) == 0 || strcmp(path, "/execute") == 0);
}

/* In the shape of the call. */
static void refuse(struct http_request *request, unsigned status, const char *code,
		   const char *text)
{
	owned(str_done) struct str body = STR_INIT;
	struct json json;

	relay_forget(request);
	if (strcmp(path_of(request), START_PATH) != 0) {
		api_refuse(request, status, "%s", text);
		return;
	}
	str_addf(&body, "{\"error\":{\"code\":\"%s\",\"message\":", code);
	json_init(&json, &body);
	json_text(&json, text);
	str_add(&body, "}}");
	const char head[ENVELOPE] = { 2, (char)(body.len >> 24), (char)(body.len >> 16),
				      (char)(body.len >> 8), (char)body.len };

	http_stream(request, "application/connect+json");
	http_stream_add(request, head, sizeof(head));
	http_stream_add(request, body.data, body.len);
	http_stream_end(request, NULL);
}

static void add_variables(const struct value *map, struct strv *env)
{
	for (size_t i = 0; map && map->kind == VALUE_MAP && i < map->many.count; i++) {
		if (map->many.items[i]->kind == VALUE_TEXT)
			strv_addf(env, "%s=%s", map->many.keys[i], map->many.items[i]->text.bytes);
	}
}

static bool add_word(const struct value *word, struct strv *command)
{
	if (!word || word->kind != VALUE_TEXT || strlen(word->text.bytes) != word->text.len)
		return false;
	strv_add(command, word->text.bytes);
	return true;
}

static bool read_command(const struct value *message, struct strv *command, struct strv *env)
{
	const struct value *config = value_get(message, "process"),
			   *args = value_get(config, "args");
	bool is_right = add_word(value_get(config, "cmd"), command);

	for (size_t i = 0; args && args->kind == VALUE_LIST && i < args->many.count; i++)
		is_right = is_right && add_word(args->many.items[i], command);
	add_variables(value_get(config, "envs"), env);
	return is_right;
}

/* The language that runs it: a context has one of its own, and its id begins with that (interpreter.py). */
static const char *language_of(const struct value *message)
{
	const char *context = value_get_text(message, "context_id");

	if (context && *context && strcmp(context, "default") != 0)
		return context;
	return value_get_text(message, "language");
}

/* Code as the command that would run it. */
static bool read_code(const struct value *message, struct strv *command, struct strv *env)
{
	static const struct {
		const char *name, *program, *flag;
	} rows[] = { { "javascript", "node", "-e" },
		     { "js", "node", "-e" },
		     { "bash", "bash", "-c" },
		     { "sh", "bash", "-c" } };
	const char *language = language_of(message), *program = "python3", *flag = "-c";
	size_t len = language ? strcspn(language, "-") : 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (len == strlen(rows[i].name) && strncasecmp(language, rows[i].name, len) == 0) {
			program = rows[i].program;
			flag = rows[i].flag;
		}
	}
	strv_add(command, program);
	strv_add(command, flag);
	add_variables(value_get(message, "env_vars"), env);
	return add_word(value_get(message, "code"), command);
}

/* The one message of a body; NULL: there is none. */
static struct value *read_message(const struct http_request *request, const struct str *body)
{
	const struct json_limits limits = {
		.bytes = E2B_HELD_MAX, .depth = 16, .values = 65536, .nul = true
	};
	bool has_head = strcmp(path_of(request), START_PATH) == 0;
	const char *bytes = str_cstr(body);
	struct value *message = NULL;
	size_t len = body->len;
	struct error err;

	if (has_head) {
		const unsigned char *head = (const unsigned char *)bytes;

		if (len < ENVELOPE || head[0] != 0)
			return NULL;
		bytes += ENVELOPE;
		len -= ENVELOPE;
		/* One that is followed by another is none: the agent takes the first alone. */
		if (len != ((size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 |
			    head[4]))
			return NULL;
	}
	/* As the interpreter takes it. */
	if (len == 0 && !has_head)
		return value_new_map();
	if (json_read(bytes, len, &limits, &message, &err) == 0 && message->kind == VALUE_MAP)
		return message;
	value_free(message);
	return NULL;
}

static void start(struct e2b *e2b, struct row *row, struct http_request *request,
		  const struct served_order *wish, uint64_t limit_ms)
{
	struct order *order = xcalloc(1, sizeof(*order));
	struct error err;

	order->plan = &e2b->setup->plan;
	if (served_run_begin(order->plan, wish, &order->run, &err) < 0) {
		free(order);
		refuse(request, 500, "internal", err.text);
		return;
	}
	order->channel = relay_pass(request, limit_ms);
	order->late_ms = limit_ms ? clock_epoch_ms() + limit_ms + LATE_MS : 0;
	order->next = row->orders;
	row->orders = order;
}

void order_begin(struct e2b *e2b, struct row *row, struct http_request *request,
		 const struct str *body, const uint64_t *limit_ms)
{
	owned(value_release) struct value *message = read_message(request, body);
	owned(strv_done) struct strv command = STRV_INIT, env = STRV_INIT;
	const struct served_order wish = { row->id, &command, &env };
	const struct errand_wish judge = {
		.kind = ERRAND_JUDGE, .row = row, .id = row->id, .request = request, .order = &wish
	};
	bool is_code = strcmp(path_of(request), START_PATH) != 0;

	if (!message)
		refuse(request, 400, "invalid_argument", "the body is no JSON object of this call");
	else if (!(is_code ? read_code(message, &command, &env)
			   : read_command(message, &command, &env)))
		refuse(request, 400, "invalid_argument", "there is no command in this message");
	else if (limit_ms || !served_must_judge(&row->facts))
		start(e2b, row, request, &wish, limit_ms ? *limit_ms : row->facts.time_ms);
	else if (!errand_begin(e2b, &judge))
		refuse(request, 429, "resource_exhausted", "too much is under way; try again");
}

void order_judged(struct e2b *e2b, struct row *row, struct http_request *request,
		  const struct error *err, uint64_t limit_ms)
{
	const struct str *body = relay_held(request);

	/* It was broken off meanwhile. */
	if (!body)
		return;
	if (err->code != ERROR_NONE)
		refuse(request, 403, "permission_denied", err->text);
	else
		order_begin(e2b, row, request, body, &limit_ms);
}

static struct served_end end_of(const struct note *note)
{
	struct served_end end = { .tails = note->tail,
				  .bytes = { note->bytes[0], note->bytes[1] } };

	switch (note->kind) {
	case NOTE_LATE:
		end.status = RUN_TIMEOUT;
		end.exit_code = 124;
		return end;
	case NOTE_FAILED:
		end.status = RUN_ERROR;
		end.exit_code = 127;
		end.message = "it could not be started";
		return end;
	case NOTE_KILLED:
		end.status = RUN_KILLED;
		end.exit_code = 137;
		end.message = "its client left, or what ran it has ended";
		return end;
	case NOTE_ENDED:
		break;
	}
	end.signal = WIFSIGNALED(note->status) ? WTERMSIG(note->status) : 0;
	end.exit_code = end.signal ? 128 + end.signal : WEXITSTATUS(note->status);
	end.status = end.signal == SIGKILL || end.signal == SIGTERM ? RUN_KILLED
		     : end.exit_code				    ? RUN_ERROR
								    : RUN_SUCCESS;
	return end;
}

static void finish(struct row *row, struct order **slot, const struct served_end *end)
{
	struct order *order = *slot;

	*slot = order->next;
	served_run_end(order->plan, row->id, &order->run, end);
	free(order);
}

bool order_ended(struct row *row, const struct link_frame *frame)
{
	owned(note_done) struct note note = { 0 };
	struct order **slot = &row->orders;

	if (!note_read(frame->bytes, frame->len, &note))
		return false;
	while (*slot && (*slot)->channel != frame->channel)
		slot = &(*slot)->next;
	if (*slot) {
		const struct served_end end = end_of(&note);

		finish(row, slot, &end);
	}
	return true;
}

void orders_end(struct row *row, uint32_t channel)
{
	const struct served_end end = { .status = RUN_KILLED,
					.exit_code = 137,
					.signal = SIGKILL,
					.message = channel ? "its client left"
							   : "the sandbox was ended" };

	for (struct order **slot = &row->orders; *slot;) {
		if (channel && (*slot)->channel != channel)
			slot = &(*slot)->next;
		else
			finish(row, slot, &end);
	}
}

uint64_t orders_late_ms(const struct row *row)
{
	uint64_t next_ms = UINT64_MAX;

	for (const struct order *at = row->orders; at; at = at->next) {
		if (at->late_ms && at->late_ms < next_ms)
			next_ms = at->late_ms;
	}
	return next_ms;
}

void orders_resumed(struct row *row)
{
	uint64_t soonest_ms = clock_epoch_ms() + LATE_MS;

	for (struct order *at = row->orders; at; at = at->next) {
		if (at->late_ms && at->late_ms < soonest_ms)
			at->late_ms = soonest_ms;
	}
}
