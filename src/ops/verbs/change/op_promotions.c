/* SPDX-License-Identifier: Apache-2.0 */
/* `promotions`: what was applied to the host, what a program asked to apply, and a person's answer to that. */
#include "base/core/own.h"
#include "app/stage/approval.h"
#include "app/change/workspace.h"
#include "ops/promotion.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 6

static void add_row(struct strv *cells, const struct value *row)
{
	struct str cell = STR_INIT;
	int64_t files = 0;

	strv_add(cells, value_get_text(row, value_get_text(row, "request_id") ? "request_id"
									      : "promotion_id"));
	words_add_age(&cell, words_moment(row, "made"));
	strv_take(cells, str_detach(&cell));
	strv_add(cells, value_get_text(row, "state"));
	if (value_get_int(row, "files", &files))
		strv_addf(cells, "%lld", (long long)files);
	else
		strv_add(cells, "unknown");
	strv_add(cells, value_get_text(row, "sandbox") ? value_get_text(row, "sandbox") : "");
	words_add_path(&cell, value_get_text(row, "target") ? value_get_text(row, "target") : "");
	strv_take(cells, str_detach(&cell));
}

/* A program that calls gets to see its own only. */
static void join(const char *owner, struct value *from, struct value *to)
{
	for (size_t i = 0; i < from->many.count; i++) {
		const char *whose = value_get_text(from->many.items[i], "owner");

		if (!owner || (whose && strcmp(whose, owner) == 0))
			value_append(to, from->many.items[i]);
		else
			value_free(from->many.items[i]);
	}
	from->many.count = 0;
	value_free(from);
}

static void report_pending(struct op_call *call)
{
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		const char *reason = value_get_text(row, "reason");

		if (!value_get_text(row, "request_id") ||
		    strcmp(value_get_text(row, "state"), "pending") != 0)
			continue;
		str_addf(&call->text, "%s asks", value_get_text(row, "request_id"));
		if (reason) {
			str_add(&call->text, ": ");
			words_add_line(&call->text, reason);
		}
		str_addf(&call->text, "\n  look: aisbx diff %s\n", value_get_text(row, "sandbox"));
		str_addf(&call->text, "  answer: aisbx promotions approve %s, or reject\n",
			 value_get_text(row, "request_id"));
	}
}

/* Why promotions are unfinished. */
static void note_unfinished(struct op_call *call)
{
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const char *note = value_get_text(call->answer->many.items[i], "note");

		if (!note)
			continue;
		words_add_line(&call->notes, note);
		str_add_char(&call->notes, '\n');
	}
}

static int list(struct op_call *call, struct error *err)
{
	static const char *const titles[COLUMNS] = { "ID",    "MADE",	 "STATE",
						     "FILES", "SANDBOX", "TARGET" };
	owned(strv_done) struct strv cells = STRV_INIT;
	struct value *asks = NULL, *done = NULL;

	if (approval_list(op_sees(call), &asks, err) < 0)
		return -1;
	call->answer = asks;
	if (app_promotions(&done, err) < 0)
		return -1;
	join(op_sees(call), done, call->answer);
	if (call->answer->many.count == 0) {
		str_add(&call->text, "nothing was promoted yet\n");
		return 0;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		strv_add(&cells, titles[i]);
	for (size_t i = 0; i < call->answer->many.count; i++)
		add_row(&cells, call->answer->many.items[i]);
	words_add_table(&call->text, &cells, COLUMNS);
	report_pending(call);
	note_unfinished(call);
	return 0;
}

/* A promotion, or what --stages and --commit say; what belongs to one of them is no part of another. */
static int read_kind(const struct op_call *call, struct approval_request *ask, struct error *err)
{
	bool is_stages = op_arg_switch(call, "stages");

	ask->to = op_arg_text(call, "to");
	ask->message = op_arg_text(call, "commit");
	ask->kind = is_stages	   ? APPROVAL_STAGES
		    : ask->message ? APPROVAL_COMMIT
				   : APPROVAL_PROMOTION;
	if (is_stages && ask->message)
		return error_set(err, ERROR_USAGE, "--stages and --commit are two requests");
	if (ask->to && !is_stages)
		return error_set(err, ERROR_USAGE, "--to belongs to --stages");
	if (ask->kind != APPROVAL_PROMOTION &&
	    (call->words.count > 2 || ask->strategy || ask->commits))
		return error_set(err, ERROR_USAGE,
				 "paths, --strategy and --commits belong to a promotion");
	if (ask->kind == APPROVAL_COMMIT && ask->ignored)
		return error_set(err, ERROR_USAGE, "--ignored belongs to files");
	if (ask->commits && (call->words.count > 2 || ask->strategy))
		return error_set(err, ERROR_USAGE,
				 "--commits takes the commits of the sandbox's branch as they are: "
				 "name neither paths nor a strategy");
	if (ask->message && !ask->message[strspn(ask->message, " \t\n")])
		return error_set(err, ERROR_USAGE, "a commit needs a message");
	return 0;
}

static int request(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	struct approval_request ask = { .sandbox = call->words.items[1],
					.paths = &paths,
					.strategy = op_arg_text(call, "strategy"),
					.ignored = op_arg_switch(call, "ignored"),
					.commits = op_arg_switch(call, "commits"),
					.reason = op_arg_text(call, "reason"),
					.owner = call->ceiling ? call->ceiling->owner : NULL,
					.environ = call->environ };

	if (read_kind(call, &ask, err) < 0)
		return -1;
	for (size_t i = 2; i < call->words.count; i++) {
		owned(free_ptr) char *path = words_read_path(call->words.items[i]);

		strv_add(&paths, path ? path : call->words.items[i]);
	}
	if (approval_make(&ask, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "asked as %s; a person decides with: aisbx promotions approve %s\n",
		 value_get_text(call->answer, "request_id"),
		 value_get_text(call->answer, "request_id"));
	return 0;
}

/* What the answer would be about, in a few lines. */
static void report_ask(struct op_call *call, const struct value *ask)
{
	const struct value *triggers = value_get(ask, "triggers");

	promotion_report_ask(&call->text, ask);
	str_add_char(&call->text, '\n');
	for (size_t i = 0; triggers && i < triggers->many.count; i++) {
		const struct value *one = triggers->many.items[i];
		const char *path = value_get_text(one, "path"), *why = value_get_text(one, "why");

		str_add(&call->text, "  needs your word: ");
		words_add_path(&call->text, path ? path : "");
		str_addf(&call->text, " (%s)\n", why ? why : "");
	}
}

/* The question itself, by its id; NULL when there is none. */
static const struct value *find(const struct value *asks, const char *id)
{
	for (size_t i = 0; i < asks->many.count; i++) {
		const char *other = value_get_text(asks->many.items[i], "request_id");

		if (other && strcmp(other, id) == 0)
			return asks->many.items[i];
	}
	return NULL;
}

/* The user at a terminal, or with --yes; never a process in a sandbox, whose changes these are. */
static int check_person(struct op_call *call, struct error *err)
{
	owned(value_release) struct value *asks = NULL;
	const struct value *ask;

	if (getenv("AISBX_SANDBOX"))
		return error_set(err, ERROR_DENIED, "promotions are not decided in a sandbox");
	if (op_arg_text(call, "digest") &&
	    (approval_list(NULL, &asks, err) < 0 ||
	     promotion_check_digest(asks, "request_id", call->words.items[1],
				    op_arg_text(call, "digest"), err) < 0))
		return -1;
	if (op_arg_switch(call, "yes"))
		return 0;
	if (!call->ask)
		return error_set(err, ERROR_CONSENT,
				 "this is a person's to say: on a terminal, or with --yes");
	if (!asks && approval_list(NULL, &asks, err) < 0)
		return -1;
	ask = find(asks, call->words.items[1]);
	/* An unknown id is refused below. */
	if (!ask)
		return 0;
	report_ask(call, ask);
	if (call->ask(call, "Apply this to the host? [y]es or [n]o: ") == 'y')
		return 0;
	return error_advise(err, ERROR_CONSENT, "reject ends the request", "nothing was decided");
}

/* A program's face passes on what was asked through it, and nothing else. */
static int check_owner(struct op_call *call, struct error *err)
{
	owned(value_release) struct value *asks = NULL;

	if (!op_sees(call))
		return 0;
	if (approval_list(op_sees(call), &asks, err) < 0)
		return -1;
	return find(asks, call->words.items[1])
		       ? 0
		       : error_set(err, ERROR_NOT_FOUND, "no such request was made here");
}

static int decide(struct op_call *call, bool is_approved, struct error *err)
{
	if (check_owner(call, err) < 0)
		return -1;
	if (is_approved && check_person(call, err) < 0)
		return -1;
	if (!is_approved && getenv("AISBX_SANDBOX"))
		return error_set(err, ERROR_DENIED, "promotions are not decided in a sandbox");
	if (approval_decide(call->words.items[1], is_approved, call->environ, &call->answer, err) <
	    0)
		return -1;
	str_addf(&call->text, "%s %s\n", value_get_text(call->answer, "state"),
		 call->words.items[1]);
	if (value_get_text(call->answer, "outcome"))
		str_addf(&call->text, "the way through the stages: %s\n",
			 value_get_text(call->answer, "outcome"));
	if (value_get_text(call->answer, "commit"))
		str_addf(&call->text, "committed as %.10s\n",
			 value_get_text(call->answer, "commit"));
	if (value_get_text(call->answer, "note"))
		str_addf(&call->notes, "%s\n", value_get_text(call->answer, "note"));
	if (value_get_text(call->answer, "undo"))
		str_addf(&call->text, "take it back with: %s\n",
			 value_get_text(call->answer, "undo"));
	return 0;
}

/* Everything that waits, or what one owner asked for. */
static int reject_all(struct op_call *call, struct error *err)
{
	owned(value_release) struct value *asks = NULL;

	if (call->ceiling || getenv("AISBX_SANDBOX"))
		return error_set(err, ERROR_DENIED, "this is a person's to say");
	if (approval_list(op_arg_text(call, "owner"), &asks, err) < 0)
		return -1;
	call->answer = value_new_list();
	for (size_t i = 0; i < asks->many.count; i++) {
		const char *id = value_get_text(asks->many.items[i], "request_id");
		const char *state = value_get_text(asks->many.items[i], "state");
		struct value *rejected = NULL;

		if (!id || !state || strcmp(state, "pending") != 0)
			continue;
		if (approval_decide(id, false, call->environ, &rejected, err) < 0)
			return -1;
		value_append(call->answer, rejected);
	}
	str_addf(&call->text, "rejected %zu request%s\n", call->answer->many.count,
		 call->answer->many.count == 1 ? "" : "s");
	return 0;
}

int op_promotions_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "";
	size_t count = call->words.count;

	if (count == 0)
		return list(call, err);
	if (strcmp(word, "request") == 0 && count >= 2)
		return request(call, err);
	if (strcmp(word, "approve") == 0 && count == 2)
		return decide(call, true, err);
	if (strcmp(word, "reject") == 0 && count == 1 && op_arg_switch(call, "all"))
		return reject_all(call, err);
	if (strcmp(word, "reject") == 0 && count == 2 && !op_arg_switch(call, "all"))
		return decide(call, false, err);
	return error_set(err, ERROR_USAGE,
			 "write aisbx promotions, promotions request NAME [PATH...], promotions "
			 "approve ID or promotions reject ID|--all");
}

bool promotion_may_gates_decide(const struct value *ask)
{
	return approval_may_gates_decide(ask);
}
