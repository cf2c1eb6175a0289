/* The command line: finds the verb, calls it, shows what came of it. */
#include "front/cli/cli.h"

#include "base/fd.h"
#include "base/nearest.h"
#include "base/own.h"
#include "front/cli/ask.h"
#include "front/cli/options.h"
#include "front/cli/render.h"
#include "ops/op.h"

#include <string.h>
#include <unistd.h>

static bool has_variable(const char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++) {
		/* Set to nothing counts as not set, as no-color.org has it. */
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=' && (*env)[len + 1])
			return true;
	}
	return false;
}

static struct render_style style_of(bool terminal, const char *const *env)
{
	return (struct render_style){ .terminal = terminal,
				      .colour = terminal && !has_variable(env, "NO_COLOR") };
}

static int exit_status_of(const struct op *op, const struct error *err)
{
	bool runs = op && (op->flags & OP_RUN_CODES);

	return runs ? error_run_exit_status(err->code) : error_exit_status(err->code);
}

static int fail(const struct op *op, bool json, const struct error *err, const char *const *env)
{
	owned(str_done) struct str out = STR_INIT;
	struct render_style style = style_of(isatty(STDERR_FILENO) == 1, env);

	if (json)
		render_error_json(op, err, &out);
	else
		render_error(err, &style, &out);
	/* Nobody is left to tell when this fails. */
	(void)fd_write_all(json ? STDOUT_FILENO : STDERR_FILENO, out.data, out.len);
	return exit_status_of(op, err);
}

/* Output that did not arrive must not look like success: a full disk, a closed pipe. */
static int show(const struct op_call *call, struct error *err)
{
	owned(str_done) struct str out = STR_INIT;
	owned(str_done) struct str notes = STR_INIT;
	struct render_style out_style = style_of(call->stdout_tty, call->environ);

	render_answer(call, &out_style, &out);
	if (!call->json)
		render_notes(call, &notes);
	if (notes.len > 0)
		(void)fd_write_all(STDERR_FILENO, notes.data, notes.len);
	if (out.len > 0 && fd_write_all(STDOUT_FILENO, out.data, out.len) < 0)
		return error_errno(err, ERROR_HOST, "writing to stdout");
	return 0;
}

/* What is known so far, so that nobody has to hold all of it. */
static int pass_on(struct op_call *call, struct error *err)
{
	int status = show(call, err);

	str_clear(&call->text);
	str_clear(&call->data);
	str_clear(&call->notes);
	return status;
}

static char ask(struct op_call *call, const char *question)
{
	struct error unseen;

	return pass_on(call, &unseen) < 0 ? 0 : ask_letter(question);
}

/* One line on the terminal that long work keeps rewriting. */
static void show_progress(const char *what)
{
	owned(str_done) struct str line = STR_INIT;

	str_add(&line, "\r\033[K");
	if (what)
		render_safe(&line, what, strlen(what), false);
	(void)fd_write_all(STDERR_FILENO, line.data, line.len);
}

/* Runs `help VERB` in place of the verb. */
static void turn_into_help(struct op_call *call)
{
	strv_done(&call->words);
	strv_add(&call->words, call->op->name);
	call->op = op_find("help");
}

/* What a failed call still has to say, then the failure itself. */
static int show_failure(const struct op *op, struct op_call *call, const struct error *err)
{
	struct error unseen;

	if (call->json && call->data.len > 0) {
		(void)show(call, &unseen);
		return exit_status_of(op, err);
	}
	value_free(call->answer);
	call->answer = NULL;
	str_clear(&call->text);
	if (!call->json)
		(void)show(call, &unseen);
	return fail(op, call->json, err, call->environ);
}

static int perform(struct op_call *call, char *const *words)
{
	const struct op *op = call->op;
	struct error err = { .code = ERROR_NONE };

	if (options_parse(call, words, &err) < 0)
		return fail(op, options_want_json(words), &err, call->environ);
	if (op_arg_switch(call, "help"))
		turn_into_help(call);
	if (call->stderr_tty && !call->json)
		call->progress = show_progress;
	if (call->stdin_tty && call->stdout_tty && call->stderr_tty && !call->json)
		call->ask = ask;
	call->pass_on = pass_on;
	if (!call->op->run)
		return CLI_NEEDS_LIBRARIES;
	if (call->op->run(call, &err) < 0)
		return err.code == ERROR_LIBRARIES ? CLI_NEEDS_LIBRARIES
						   : show_failure(op, call, &err);
	if (show(call, &err) < 0)
		return fail(op, false, &err, call->environ);
	return call->exit_status;
}

static int unknown_verb(const char *word, struct error *err)
{
	struct nearest nearest;

	nearest_init(&nearest, word);
	for (const struct op *const *at = ops; *at; at++)
		nearest_try(&nearest, (*at)->name);
	if (nearest.best)
		return error_set(err, ERROR_USAGE, "%s: unknown verb (did you mean %s?)", word,
				 nearest.best);
	return error_set(err, ERROR_USAGE, "%s: unknown verb (aisbx help lists them)", word);
}

/* The verb of the first word; flags before a verb are the two everybody tries. */
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
	struct op_call call;
	struct error err;
	int status;

	if (!op) {
		unknown_verb(word, &err);
		return fail(NULL, options_want_json(argv + 1), &err, env);
	}
	op_call_init(&call, op, env);
	call.stdin_tty = isatty(STDIN_FILENO) == 1;
	call.stdout_tty = isatty(STDOUT_FILENO) == 1;
	call.stderr_tty = isatty(STDERR_FILENO) == 1;
	status = perform(&call, argv + (word ? 2 : 1));
	/* Bare `aisbx` is a question, not a success a script should build on. */
	if (!word && status == 0)
		status = error_exit_status(ERROR_USAGE);
	op_call_done(&call);
	return status;
}

int cli_fail(char *const *argv, const struct error *err, const char *const *env)
{
	return fail(verb_of(argv[1]), options_want_json(argv + 1), err, env);
}
