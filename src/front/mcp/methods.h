/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of the protocol that this server answers. */
#ifndef FRONT_MCP_METHODS_H
#define FRONT_MCP_METHODS_H

#include "front/mcp/server.h"

struct method {
	const char *name;
	void (*answer)(const struct request_view *request);
	bool needs_version; /* a version must have been agreed on, or be named */
};

void tools_list(const struct request_view *request);
void tools_call(const struct request_view *request);

/* NULL when there is none. */
const struct method *method_find(const char *name);

#endif
