/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: finds the verb, calls it, shows what came of it. */
#include "front/cli/cli.h"

#include "base/file/fd.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "front/cli/options.h"
#include "front/cli/show.h"

#include <string.h>
#include <unistd.h>

static int exit_status_of(const struct op *op, const struct error *err)
{
	bool runs = op && (op->flags & OP_RUN_CODES);

	return runs ? error_run_exit_status(err->code) : error_exit_status(err->code);
}

static int fail(const struct op *op, bool json, const struct error *err, const char *const *env)
{
	owned(str_done) struct str out = STR_INIT;
	struct render_style style = showing_style(isatty(STDERR_FILENO) == 1, env);

	if (json)
		render_error_json(op, err, &out);
	else
		render_error(err, &style, &out);
	/* There is nowhere to report a failure of this. */
	(void)fd_write_all(json ? STDOUT_FILENO : STDERR_FILENO, out.data, out.len);
	return exit_status_of(op, err);
}

/* Runs `help VERB` in place of the verb. */
static void turn_into_help(struct op_call *call)
{
	strv_done(&call->words);
	strv_add(&call->words, call->op->name);
	call->op = op_find("help");
}

/* What a failed call still has to say, then the failure itself. */
static int show_failure(const struct op *op, struct showing *showing, const struct error *err)
{
	struct op_call *call = &showing->call;
	struct error unseen;

	if (call->json && call->data.len > 0) {
		(void)showing_show(showing, &unseen);
		return exit_status_of(op, err);
	}
	value_free(call->answer);
	call->answer = NULL;
	str_clear(&call->text);
	(void)showing_finish(showing, &unseen);
	if (!call->json)
		(void)showing_show(showing, &unseen);
	return fail(op, call->json, err, call->environ);
}

static int perform(struct showing *showing, char *const *words)
{
	struct op_call *call = &showing->call;
	const struct op *op = call->op;
	struct error err = { .code = ERROR_NONE };

	if (options_parse(call, words, &err) < 0)
		return fail(op, options_want_json(op, words), &err, call->environ);
	if (op_arg_switch(call, "help"))
		turn_into_help(call);
	showing_start(showing);
	if (!call->op->run)
		return CLI_NEEDS_LIBRARIES;
	if (call->op->run(call, &err) < 0)
		return err.code == ERROR_LIBRARIES ? CLI_NEEDS_LIBRARIES
						   : show_failure(op, showing, &err);
	if (showing_show(showing, &err) < 0 || showing_finish(showing, &err) < 0)
		return fail(op, false, &err, call->environ);
	return call->exit_status;
}

static int unknown_verb(const char *word, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	(void)str_shown(*word ? word : "''", shown);
	if (word[0] == '-')
		return error_advise(err, ERROR_USAGE, "as in `aisbx run -q -- CMD`",
				    "%s: flags stand behind the verb", shown);
	suggest_init(&suggest, word);
	for (const struct op *const *at = ops; *at; at++)
		suggest_try(&suggest, (*at)->name);
	if (suggest.best) {
		error_set(err, ERROR_USAGE, "%s: unknown verb", shown);
		return error_add_hint(err, "did you mean %s?", suggest.best);
	}
	return error_advise(err, ERROR_USAGE, "aisbx help lists them", "%s: unknown verb", shown);
}

/* The verb of the first word; the only flags before a verb are --help and --version. */
static const struct op *verb_of(const char *word)
{
	if (!word || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return op_find("help");
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return op_find("version");
	return op_find(word);
}

int cli_main(int argc, char *const *argv, const char *const *env)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct op *op = verb_of(word);
	struct showing showing = { .has_pager = false };
	struct op_call *call = &showing.call;
	struct error err;
	int status;

	if (!op) {
		unknown_verb(word, &err);
		return fail(NULL, options_want_json(NULL, argv + 1), &err, env);
	}
	op_call_init(call, op, env);
	call->stdin_tty = isatty(STDIN_FILENO) == 1;
	call->stdout_tty = isatty(STDOUT_FILENO) == 1;
	call->stderr_tty = isatty(STDERR_FILENO) == 1;
	status = perform(&showing, argv + (word ? 2 : 1));
	/* Bare `aisbx` is a question, not a success a script should build on. */
	if (!word && status == 0)
		status = error_exit_status(ERROR_USAGE);
	op_call_done(call);
	return status;
}

int cli_fail(char *const *argv, const struct error *err, const char *const *env)
{
	const struct op *op = verb_of(argv[1]);

	return fail(op, options_want_json(op, argv + (argv[1] ? 2 : 1)), err, env);
}
