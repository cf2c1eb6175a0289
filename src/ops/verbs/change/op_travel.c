/* SPDX-License-Identifier: Apache-2.0 */
/* `push`, `pull`, `conflicts` and `key`: sandboxes that travel to other machines. */
#include "base/core/own.h"
#include "app/travel/remote.h"
#include "app/travel/travel.h"
#include "app/vet/sign.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <stdlib.h>
#include <string.h>

int op_push_run(struct op_call *call, struct error *err)
{
	const char *serves = op_arg_text(call, "serve");
	struct app_push push = { .name = op_arg_text(call, "as") };

	if (serves)
		return op_want_words(call, 0, 0, err) < 0 ? -1 : remote_serve(serves, err);
	if (op_want_words(call, 2, 2, err) < 0)
		return -1;
	push.sandbox = call->words.items[0];
	push.remote = call->words.items[1];
	if (app_push(&push, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "%s %s as %s, number %lld: %lld changes, %lld new contents\n",
		 value_is_true(call->answer, "is_new") ? "pushed" : "nothing new of", push.sandbox,
		 value_get_text(call->answer, "name"),
		 (long long)value_int_of(call->answer, "sequence"),
		 (long long)value_int_of(call->answer, "files"),
		 (long long)value_int_of(call->answer, "sent"));
	if (value_list_count(call->answer, "left_out") > 0)
		str_addf(&call->notes,
			 "%zu paths stay here: mounts, sockets, devices (--json lists them)\n",
			 value_list_count(call->answer, "left_out"));
	return 0;
}

static void report_conflicts(struct op_call *call)
{
	const struct value *list = value_get(call->answer, "conflicts");

	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *row = list->many.items[i];

		str_addf(&call->text, "%s  ", value_get_text(row, "id"));
		words_add_path(&call->text, value_get_text(row, "path"));
		str_addf(&call->text, " %s\n", value_get_text(row, "what"));
	}
}

int op_pull_run(struct op_call *call, struct error *err)
{
	owned(request_done) struct request request;
	struct app_pull pull = { .sandbox = op_arg_text(call, "as"),
				 .onto = op_arg_text(call, "onto"),
				 .strategy = op_arg_text(call, "strategy"),
				 .allow_links = op_arg_switch(call, "allow-links"),
				 .request = &request };
	int status;

	request_init(&request);
	if (op_want_words(call, 1, 2, err) < 0 || op_request(call, &request, err) < 0)
		return -1;
	pull.remote = call->words.items[0];
	pull.name = call->words.count > 1 ? call->words.items[1] : NULL;
	status = app_pull(&pull, &call->answer, err);
	if (!call->answer)
		return -1;
	if (status < 0) {
		report_conflicts(call);
		str_addf(&call->notes, "%s\n", err->text);
		call->exit_status = error_exit_status(err->code);
		return 0;
	}
	if (value_is_true(call->answer, "created"))
		str_addf(&call->text, "made %s: %lld changes of %s, number %lld\n",
			 value_get_text(call->answer, "sandbox"),
			 (long long)value_int_of(call->answer, "files"),
			 value_get_text(call->answer, "name"),
			 (long long)value_int_of(call->answer, "sequence"));
	else
		str_addf(&call->text, "%s has all of it already\n", pull.onto);
	return 0;
}

/* A person's word, given outside: what runs in a sandbox is what it is about. */
static int want_person(const char *what, struct error *err)
{
	return getenv("AISBX_SANDBOX") ? error_set(err, ERROR_DENIED, "%s in a sandbox", what) : 0;
}

static int resolve(struct op_call *call, struct error *err)
{
	bool ours = op_arg_switch(call, "ours"), theirs = op_arg_switch(call, "theirs");
	const char *file = call->words.count > 2 ? call->words.items[2] : NULL;

	if (ours + theirs + (file != NULL) != 1 || op_arg_switch(call, "base"))
		return error_set(err, ERROR_USAGE, "write --ours, --theirs or a FILE");
	if (want_person("conflicts are not resolved", err) < 0 ||
	    app_conflict_resolve(call->words.items[1],
				 ours	  ? CONFLICT_OURS
				 : theirs ? CONFLICT_THEIRS
					  : CONFLICT_FILE,
				 file, &call->answer, err) < 0)
		return -1;
	str_add(&call->text, "resolved; the same pull again applies it\n");
	return 0;
}

static int show(struct op_call *call, struct error *err)
{
	const char *side = op_arg_switch(call, "ours")	   ? "ours"
			   : op_arg_switch(call, "theirs") ? "theirs"
			   : op_arg_switch(call, "base")   ? "base"
							   : NULL;

	if (!side)
		return error_set(err, ERROR_USAGE, "write --ours, --theirs or --base");
	if (app_conflict_side(call->words.items[1], side, &call->text, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "side", value_new_text(side));
	value_add(call->answer, "content", value_new_bytes(str_cstr(&call->text), call->text.len));
	return 0;
}

int op_conflicts_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "ls";
	size_t count = call->words.count;

	if (strcmp(word, "resolve") == 0 && (count == 2 || count == 3))
		return resolve(call, err);
	if (strcmp(word, "show") == 0 && count == 2)
		return show(call, err);
	if (strcmp(word, "ls") != 0 || count > 1)
		return error_set(
			err, ERROR_USAGE,
			"write aisbx conflicts, conflicts show ID or conflicts resolve ID");
	if (app_conflicts(&call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0)
		str_add(&call->text, "nothing waits to be resolved\n");
	return 0;
}

int op_key_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "show";
	size_t count = call->words.count;
	bool trusts = strcmp(word, "trust") == 0;

	if (count == 2 && (trusts || strcmp(word, "distrust") == 0)) {
		if (want_person("keys are not trusted", err) < 0 ||
		    app_key_change(call->words.items[1], trusts, &call->answer, err) < 0)
			return -1;
		str_addf(&call->text, "%s is %s\n", call->words.items[1],
			 trusts ? "trusted" : "no longer trusted");
		return 0;
	}
	if (strcmp(word, "show") != 0 || count > 1)
		return error_set(err, ERROR_USAGE,
				 "write aisbx key, key trust KEY or key distrust KEY");
	if (app_key_show(&call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "%s\n", value_get_text(call->answer, "key"));
	return 0;
}
