/* The child that performs one call of a tool, and the frames it reports in. */
#ifndef FRONT_MCP_CALL_CHILD_H
#define FRONT_MCP_CALL_CHILD_H

#include "front/mcp/server.h"

#define CALL_FRAME_HEAD 5
#define CALL_FRAME_ANSWER 'R'
#define CALL_FRAME_PROGRESS 'P'
#define CALL_FRAME_QUESTION 'Q'
#define CALL_FRAME_FAILURE 'F'
#define CALL_FRAME_LOG 'L'

/* Runs in the child and never returns. INPUT_FD is -1 where there is none. */
_Noreturn void call_child(struct call *call, const sigset_t *mask, int input_fd, int report_fd);

#endif
