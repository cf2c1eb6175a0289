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

const char *mcp_version_name(enum mcp_version version);
/* MCP_NONE for one we do not speak. */
enum mcp_version mcp_version_find(const char *name);

void tools_list(const struct request_view *request);
void tools_call(const struct request_view *request);
/* The tool of this face alone: answered at once, no operation behind it. */
bool tools_more_is_meant(const struct request_view *request);
void tools_more(const struct request_view *request);

/* NULL when there is none. */
const struct method *method_find(const char *name);

#endif
