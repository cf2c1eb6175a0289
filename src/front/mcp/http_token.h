/* SPDX-License-Identifier: Apache-2.0 */
/* The words that open the server over HTTP: its token, and the names of sessions. */
#ifndef FRONT_MCP_HTTP_TOKEN_H
#define FRONT_MCP_HTTP_TOKEN_H

#include "base/core/error.h"

#include <stdbool.h>

#define TOKEN_BYTES 32
#define TOKEN_SIZE (TOKEN_BYTES * 2 + 1)

/* A new one, of 256 random bits. */
int token_make(char ret_text[static TOKEN_SIZE], struct error *err);
/* Takes as long for the first wrong letter as for the last. */
bool token_is_same(const char *given, const char *token);
/* Leaves it in a file of mode 0600 of the user's, named after PORT; the path is the caller's to free. */
int token_leave(const char *token, unsigned port, const char *const *env, char **ret_path,
		struct error *err);

#endif
