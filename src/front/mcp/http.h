/* SPDX-License-Identifier: Apache-2.0 */
/* The server over HTTP. In a program of its own: the library is large and used nowhere else. */
#ifndef FRONT_MCP_HTTP_H
#define FRONT_MCP_HTTP_H

#include "front/mcp/server.h"

/* Serves clients on ADDRESS, on the loopback, until a signal ends it. */
int http_serve(struct server *server, const char *address, struct error *err);

#endif
