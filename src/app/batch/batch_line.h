/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a batch: a JSON object as the request it stands for. */
#ifndef APP_BATCH_LINE_H
#define APP_BATCH_LINE_H

#include "plan/request.h"

#define BATCH_LINE_MAX ((size_t)1 << 20)
#define BATCH_DEPTH_MAX 8

struct batch_line {
	struct request request; /* flags, command and trace are its own; the rest is the base's */
	char *cwd;		/* where the command starts; NULL: where the caller is */
	struct str input;	/* for its standard input */
};

void batch_line_init(struct batch_line *line);
void batch_line_done(struct batch_line *line);

/*
 * Reads {"command": [...] or "script": "...", "env", "stdin", "cwd", "trace_id", and flags of run by their names} over BASE,
 * the flags of the command line: what those say, a line can only narrow. LINE was initialised.
 */
int batch_line_read(const char *bytes, size_t len, const struct request *base,
		    struct batch_line *line, struct error *err);

#endif
