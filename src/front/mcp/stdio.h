/* SPDX-License-Identifier: Apache-2.0 */
/* MCP over standard input and output. */
#ifndef FRONT_MCP_STDIO_H
#define FRONT_MCP_STDIO_H

#include "front/mcp/server.h"

/* Serves one client until it is gone. */
int stdio_serve(struct server *server, struct error *err);

#endif
