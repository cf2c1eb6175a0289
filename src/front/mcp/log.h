/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages: sent beside the answers to a client that asked for them. */
#ifndef FRONT_MCP_LOG_H
#define FRONT_MCP_LOG_H

#include "front/mcp/server.h"

/* The number of a level's name, most talkative first; MCP_QUIET when it is none. */
unsigned log_level_find(const char *name);

/*
 * In the child: what of a call is worth a message, in the frames its report has for that; each {level, data}. Refusals,
 * what a run was denied, limits it hit, walls it did without, and questions to a person.
 */
void log_call(const struct tool_call *work, int status, const struct error *err,
	      void (*emit)(const struct str *message));

/* Sends the child's messages, where the client wants that level. */
void log_pass_on(const struct call *call, const char *bytes, size_t len);

#endif
