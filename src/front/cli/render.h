/* SPDX-License-Identifier: Apache-2.0 */
/* Answers into bytes: tables for people, JSON for programs, nothing a terminal would obey. */
#ifndef FRONT_CLI_RENDER_H
#define FRONT_CLI_RENDER_H

#include "base/core/error.h"
#include "ops/op.h"

struct render_style {
	bool terminal; /* bytes that steer a terminal are shown as escapes */
	bool colour;
};

/*
 * The answer of CALL as it goes to stdout. With call->json: `data`, or the object, or one object
 * per line. Else `text`, or a table of the columns, or "key: value" lines.
 */
void render_answer(const struct op_call *call, const struct render_style *style, struct str *out);

/* Each line of the notes with "aisbx: " in front; bytes that steer a terminal are escapes, wherever it goes. */
void render_notes(const struct op_call *call, struct str *out);

/* One line: "aisbx: sentence"; escapes as in notes. */
void render_error(const struct error *err, const struct render_style *style, struct str *out);

/*
 * {"ok":false,"error":{"code","message","hint"}}, with status and exit_code for verbs that run commands.
 */
void render_error_json(const struct op *op, const struct error *err, struct str *out);

/*
 * Adds TEXT; for a terminal, control bytes, bytes that are not UTF-8 and characters that reorder or
 * hide text become \xHH or \u{HHHH}. Newlines stay when KEEP_LINES is set (tabs too).
 */
void render_safe(struct str *out, const char *text, size_t len, bool keep_lines);

#endif
