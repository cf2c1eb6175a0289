/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a tool as the protocol's result. */
#ifndef FRONT_MCP_ANSWER_H
#define FRONT_MCP_ANSWER_H

#include "front/mcp/server.h"

/* In the child: what came of WORK (STATUS, ERR as tool_call_perform gave them) as CallToolResult. */
void answer_write(struct tool_call *work, int status, const struct error *err,
		  enum mcp_version version, struct str *out);
/* OBJECT (owned from here on) and nothing else. */
void answer_object(struct value *object, enum mcp_version version, struct str *out);
/* The answer to arguments that never became a call. */
void answer_refusal(const struct error *err, enum mcp_version version, struct str *out);

#endif
