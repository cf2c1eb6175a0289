/* SPDX-License-Identifier: Apache-2.0 */
/* `secret`: named secrets of the user set, listed, removed; and which runs used one. */
#include "app/config/secret_verbs.h"
#include "base/core/own.h"
#include "ops/rows/rows.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool ask(void *cookie, const char *question, char *ret_answer, size_t size)
{
	struct op_call *call = cookie;

	return call->ask_hidden && call->ask_hidden(question, ret_answer, size);
}

/* The value, in memory that SECRET_BYTES_MAX + 1 bytes fit into: its length, one more than the most where it is longer; -1. */
static ssize_t read_value(struct op_call *call, char *bytes, struct error *err)
{
	size_t len = 0;
	ssize_t got;

	if (call->stdin_tty) {
		if (!ask(call, "value (not shown): ", bytes, SECRET_BYTES_MAX + 1))
			return error_set(err, ERROR_USAGE, "no value was given");
		return (ssize_t)strlen(bytes);
	}
	while (len <= SECRET_BYTES_MAX &&
	       (got = read(STDIN_FILENO, bytes + len, SECRET_BYTES_MAX + 1 - len)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(err, ERROR_HOST, "the value on standard input");
		len += (size_t)got;
	}
	return (ssize_t)len;
}

static int set(struct op_call *call, struct error *err)
{
	struct app_secret wish = { .name = call->words.items[1],
				   .hosts = op_arg_list(call, "host"),
				   .profiles = op_arg_list(call, "profile"),
				   .workspaces = op_arg_list(call, "workspace"),
				   .takes_passphrase = op_arg_switch(call, "passphrase"),
				   .asker = { ask, call } };
	char *bytes = secret_alloc(SECRET_BYTES_MAX + 1);
	ssize_t len = read_value(call, bytes, err);
	int status = -1;

	wish.bytes = bytes;
	wish.len = (size_t)len;
	if (len >= 0)
		status = app_secret_set(&wish, &call->answer, err);
	secret_free(bytes, SECRET_BYTES_MAX + 1);
	if (status == 0)
		str_addf(&call->text, "set %s\n", wish.name);
	return status;
}

static void join_scopes(const struct value *row, struct str *out)
{
	const struct value *scopes = value_get(row, "scopes");

	for (size_t i = 0; i < scopes->many.count; i++)
		str_addf(out, "%s%s", i ? ", " : "", scopes->many.items[i]->text.bytes);
	if (out->len == 0)
		str_add(out, "everywhere");
}

static int list(struct op_call *call, struct error *err)
{
	const struct secret_asker asker = { ask, call };

	if (app_secret_list(&asker, &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; !call->json && i < call->answer->many.count; i++) {
		struct value *row = call->answer->many.items[i];
		owned(str_done) struct str scopes = STR_INIT;

		join_scopes(row, &scopes);
		value_set(row, "scopes", value_new_text(str_cstr(&scopes)));
	}
	return 0;
}

static int drop(struct op_call *call, struct error *err)
{
	const struct secret_asker asker = { ask, call };

	if (app_secret_remove(call->words.items[1], &asker, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "removed %s\n", call->words.items[1]);
	return 0;
}

static int show_use(struct op_call *call, struct error *err)
{
	if (app_secret_uses(call->words.items[1], &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];

		str_addf(&call->text, "%s  %s  %s  %s\n", value_get_text(row, "time"),
			 value_get_text(row, "run_id"), value_get_text(row, "sandbox"),
			 value_get_text(row, "as"));
	}
	if (call->answer->many.count == 0)
		str_addf(&call->notes, "no run on record used %s\n", call->words.items[1]);
	return 0;
}

static const struct {
	const char *word;
	size_t names;
	int (*run)(struct op_call *call, struct error *err);
} verbs[] = {
	{ "set", 1, set }, { "ls", 0, list }, { "rm", 1, drop }, { "show-use", 1, show_use }
};

static bool has_set_flags(const struct op_call *call)
{
	return op_arg_list(call, "host") || op_arg_list(call, "profile") ||
	       op_arg_list(call, "workspace") || op_arg_switch(call, "passphrase");
}

int op_secret_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "ls";
	size_t names = call->words.count > 0 ? call->words.count - 1 : 0;
	char shown[STR_SHOWN_SIZE];

	secrets_keep_in_memory();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].word, word) != 0)
			continue;
		if (names != verbs[i].names)
			return op_want_words(call, verbs[i].names + 1, verbs[i].names + 1, err);
		if (verbs[i].run != set && has_set_flags(call))
			return error_set(err, ERROR_USAGE,
					 "scopes and --passphrase are for secret set");
		return verbs[i].run(call, err);
	}
	return error_advise(err, ERROR_USAGE, "it is set, ls, rm or show-use",
			    "secret: unknown '%s'", str_shown(word, shown));
}
