/* SPDX-License-Identifier: Apache-2.0 */
/* Promotions that a person has to agree to: asked through the client where it can, else left as requests. */
#ifndef FRONT_MCP_CONSENT_H
#define FRONT_MCP_CONSENT_H

#include "front/mcp/server.h"

/*
 * In the child, after a tool that asks: decides where the policy lets it, else fills *ret_question with
 * {request_id, message}; true when there is a question.
 */
bool consent_needed(struct tool_call *work, enum mcp_policy policy, struct str *ret_question);
/* Puts the call's question to the client's user; false when that cannot be done here. RESULT is the answer without it. */
bool consent_ask(struct call *call);
/* The user's choice, once the child that asked has ended; starts the child that carries it out. */
void consent_decide(struct call *call);
/* The client's answer to a request of ours. */
void consent_answered(struct session *session, const struct value *response);
/* Whether a call brings the answer to a question along (2026-07-28). */
bool consent_is_brought(const struct request_view *request, const struct tool *tool);
/* Makes WORK what was decided; ERROR_CONSENT when that question was not put here, or was answered before. */
int consent_take(const struct request_view *request, struct tool_call *work, struct error *err);
/* Forgets the questions that were put. */
void consent_done(struct server *server);

#endif
