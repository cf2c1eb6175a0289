/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network rules while sandboxes live: for one sandbox, where they take effect at once, or for a workspace, where later
 * runs take them up.
 */
#ifndef APP_NETWORK_H
#define APP_NETWORK_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

struct app_rule {
	const char *sandbox;   /* or NULL: */
	const char *workspace; /* -C; NULL for the one around the current directory */
	struct strv rules;     /* owned */
	bool is_deny, is_removal;
	bool services_with_network; /* data of the sandbox's services may leave by the rules */
};

void app_rule_done(struct app_rule *wish);

/*
 * Keeps or forgets rules: {sandbox, workspace, action, rule, removed, live}; several by comma. LIVE: a running gateway
 * follows already. Of several to forget those count that are there. NOTES: what the user should know besides.
 */
int app_rule(struct app_rule *wish, struct value **ret_answer, struct strv *notes,
	     struct error *err);

/*
 * The rules in force: {sandbox, workspace, net, running, rules: [{action, rule, from}], publish, connections,
 * sent_bytes, received_bytes, denials: [{time, layer, what, rule, hint}], digest}: the digest of the rules. SANDBOX NULL: of runs in the workspace, which
 * have counts of their own each.
 */
int app_network(const char *sandbox, const char *workspace, struct value **ret_answer,
		struct error *err);

#endif
