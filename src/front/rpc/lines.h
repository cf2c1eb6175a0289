/* SPDX-License-Identifier: Apache-2.0 */
/* Newline-delimited messages out of a stream of bytes, with a bound on each. */
#ifndef FRONT_RPC_LINES_H
#define FRONT_RPC_LINES_H

#include "base/core/str.h"

struct rpc_lines {
	struct str buffer;
	size_t at;	  /* before it is done with */
	size_t seen;	  /* up to it there is no newline */
	bool is_skipping; /* the rest of a line that was too long */
};

enum rpc_line { RPC_LINE_NONE, RPC_LINE_WHOLE, RPC_LINE_TOO_LONG };

void rpc_lines_add(struct rpc_lines *lines, const char *bytes, size_t len);
/*
 * The next line without its end; it stays where it is until more is added. RPC_LINE_TOO_LONG once for each that is
 * longer than MAX, as soon as that is clear; what follows of it is thrown away.
 */
enum rpc_line rpc_lines_next(struct rpc_lines *lines, size_t max, const char **ret_line,
			     size_t *ret_len);
void rpc_lines_done(struct rpc_lines *lines);

#endif
