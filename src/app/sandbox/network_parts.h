/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of network rules share. Private to app. */
#ifndef APP_NETWORK_PARTS_H
#define APP_NETWORK_PARTS_H

#include "app/sandbox/network.h"
#include "app/sandbox/sandbox_parts.h"
#include "launch/exec/attach.h"
#include "spec/spec.h"

/* What rules are about: a sandbox, or a workspace; and what it would be started with now. */
struct network_place {
	struct sandbox_place place; /* with has_sandbox */
	struct request request;
	struct plan_context around;
	struct spec spec;
	int supervisor_fd; /* -1: nothing runs in it */
	char *run_id; /* of a run without a name, that supervisor_fd reaches; nothing else is known of it */
};

/* SANDBOX may be NULL. The spec is not made yet. */
int network_place_open(const char *sandbox, const char *workspace, struct network_place *ret_place,
		       struct error *err);
/* Plans anew, with the request as it is now. */
int network_place_plan(struct network_place *place, struct error *err);
void network_place_done(struct network_place *place);

/* Connects to the run that NAME means, where there is one; ERROR_CONFLICT for a run that has no gateway. */
int network_run_reach(const char *name, struct network_place *place, struct error *err);

/* The supervisor's answer. */
struct network_words {
	struct strv allow, deny;
	struct attach_denied *denied;
	size_t denied_count;
	struct attach_network counts;
};

int network_ask(int supervisor_fd, struct network_words *ret_words, struct error *err);
void network_words_done(struct network_words *words);

#endif
