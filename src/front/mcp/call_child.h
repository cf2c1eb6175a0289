/* SPDX-License-Identifier: Apache-2.0 */
/* The child that performs one call of a tool, and the frames it reports in. */
#ifndef FRONT_MCP_CALL_CHILD_H
#define FRONT_MCP_CALL_CHILD_H

#include "front/mcp/server.h"

#define CALL_FRAME_HEAD 5
#define CALL_FRAME_ANSWER 'R'
#define CALL_FRAME_REFUSAL 'X'
#define CALL_FRAME_PROGRESS 'P'
#define CALL_FRAME_QUESTION 'Q'
#define CALL_FRAME_FAILURE 'F'
#define CALL_FRAME_LOG 'L'
#define CALL_FRAME_NEXT 'N'

/* What a child that waited gets before the request. Pointers mean the same to both: one is the other's copy. */
struct call_order {
	const struct tool *tool;
	enum mcp_version version;
	unsigned log_level;
	bool shows_progress;
	size_t len; /* of the request */
};

/* Runs in the child and never returns. INPUT_FD is -1 where there is none. */
_Noreturn void call_child(struct call *call, int input_fd, int report_fd);

/* Likewise, for calls that have not come yet: they are read from ORDER_FD (front/mcp/spare.h). */
_Noreturn void call_child_ahead(struct server *server, int order_fd, int report_fd);

#endif
