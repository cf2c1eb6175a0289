/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a living sandbox: what a client must know before it speaks to the supervisor. Written once a start. */
#ifndef APP_SANDBOX_STATE_H
#define APP_SANDBOX_STATE_H

#include "base/core/error.h"
#include "spec/spec.h"

/* How the sandbox wants code to be vetted; grows with what it refuses. */
enum state_scan { STATE_SCAN_OFF, STATE_SCAN_WARN, STATE_SCAN_ENFORCE };

struct sandbox_state {
	struct spec_limits limits;
	struct spec_ids ids;
	enum root_mode root;
	bool time_said; /* the wall limit was asked for and is no default */
	enum state_scan scan;
	bool signed_only;
	bool aliases_cut;
	bool has_services; /* commands wait until they answer */ /* as in a spec */
	char *workspace;
	struct strv secrets;	 /* as in a spec */
	uint64_t secrets_set_ms; /* when the newest that is injected was set */
	struct strv env;	 /* what the sandbox sets for each command: NAME=VALUE */
};

int sandbox_state_write(int dir_fd, const struct sandbox_state *state, struct error *err);
int sandbox_state_read(int dir_fd, struct sandbox_state *ret_state, struct error *err);
/* By its word (NULL: off), and the word again (NULL for off). */
enum state_scan state_scan_named(const char *word);
const char *state_scan_name(enum state_scan scan);

void sandbox_state_done(struct sandbox_state *state);

#endif
