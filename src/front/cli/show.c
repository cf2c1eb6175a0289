/* SPDX-License-Identifier: Apache-2.0 */
/* What a verb has to say on its way out: to stdout, through a pager on a terminal, and to stderr. */
#include "front/cli/show.h"

#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "front/cli/ask.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct render_style showing_style(bool terminal, const char *const *env)
{
	return (struct render_style){ .terminal = terminal,
				      .colour = terminal && !env_given(env, "NO_COLOR") };
}

/* The first bytes start the pager; where there is none, they go to stdout like everything else. */
static bool wants_pager(struct showing *showing)
{
	const struct op_call *call = &showing->call;

	if (!showing->has_pager && call->op->flags & OP_PAGED && call->stdout_tty && !call->json)
		showing->has_pager = pager_start(&showing->pager, call->environ);
	return showing->has_pager;
}

static int write_out(struct showing *showing, const struct str *out, struct error *err)
{
	if (out->len == 0 || showing->is_enough)
		return 0;
	if (!wants_pager(showing))
		return fd_write_all(STDOUT_FILENO, out->data, out->len) < 0
			       ? error_errno(err, ERROR_HOST, "writing to stdout")
			       : 0;
	if (pager_write(&showing->pager, out->data, out->len) == 0)
		return 0;
	if (errno != EPIPE)
		return error_errno(err, ERROR_HOST, "writing to the pager");
	showing->is_enough = true;
	return 0;
}

/* Whether notes are not printed: data has them in its fields, and -q turns them off. */
static bool is_quiet(const struct op_call *call)
{
	return call->json || op_arg_switch(call, "quiet");
}

int showing_show(struct showing *showing, struct error *err)
{
	owned(str_done) struct str out = STR_INIT;
	owned(str_done) struct str notes = STR_INIT;
	const struct op_call *call = &showing->call;
	bool is_aside = call->is_aside && !call->json;
	struct render_style style =
		showing_style(is_aside ? call->stderr_tty : call->stdout_tty, call->environ);

	render_answer(call, &style, &out);
	if (!is_quiet(call))
		render_notes(call, &notes);
	if (notes.len > 0)
		(void)fd_write_all(STDERR_FILENO, notes.data, notes.len);
	if (is_aside) {
		(void)fd_write_all(STDERR_FILENO, out.data, out.len);
		return 0;
	}
	return write_out(showing, &out, err);
}

int showing_finish(struct showing *showing, struct error *err)
{
	if (!showing->has_pager)
		return 0;
	showing->has_pager = false;
	return pager_finish(&showing->pager, err);
}

/* Prints what is known so far, so that a long list is never held as a whole. */
static int pass_on(struct op_call *call, struct error *err)
{
	int status = showing_show((struct showing *)call, err);

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

/* A command may have made the terminal raw: lines begin and end with a return of their own. */
static void show_notes(struct op_call *call)
{
	owned(str_done) struct str notes = STR_INIT, lines = STR_INIT;

	render_notes(call, &notes);
	str_clear(&call->notes);
	for (const char *at = str_cstr(&notes); call->stderr_tty && *at; at++)
		str_addf(&lines, *at == '\n' ? "\r%c" : "%c", *at);
	(void)fd_write_all(STDERR_FILENO, call->stderr_tty ? lines.data : notes.data,
			   call->stderr_tty ? lines.len : notes.len);
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

void showing_start(struct showing *showing)
{
	struct op_call *call = &showing->call;

	call->pass_on = pass_on;
	call->ask_hidden = ask_hidden;
	call->note = is_quiet(call) ? NULL : show_notes;
	if (call->json || !call->stderr_tty)
		return;
	call->progress = is_quiet(call) ? NULL : show_progress;
	if (call->stdin_tty && call->stdout_tty)
		call->ask = ask;
}
