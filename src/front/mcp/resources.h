/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: listed, and read by a call of the tool that knows them. */
#ifndef FRONT_MCP_RESOURCES_H
#define FRONT_MCP_RESOURCES_H

#include "front/mcp/server.h"

void resources_list(const struct request_view *request);
void resources_templates(const struct request_view *request);
void resources_read(const struct request_view *request);

/* In the child: ReadResourceResult of the call's resource; false with {message} when it cannot be had. */
bool resource_write(struct call *call, struct str *out);
/* Answers what resource_write could not. */
void resource_lost(struct call *call, const struct value *said);

/* Prompts, which are words of ours with the client's in them. */
void prompts_list(const struct request_view *request);
void prompts_get(const struct request_view *request);

#endif
