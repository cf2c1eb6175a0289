/*
 * Guard: whether a command is safe enough to run directly, belongs into a sandbox, or needs a person.
 *
 * direct   only what is on the list of commands that read and tell, with options that are listed too, found first in a
 *          directory of the system that only root can write to. Not git: a repository's configuration makes it run
 *          programs. Nothing that reads whole trees, or tells the environment.
 * deny     what touches block devices, our own store, or credentials
 * ask      what needs the network, or writes outside the workspace
 * sandbox  everything else
 *
 * It only decides. Load of the machine turns direct into sandbox, never the reverse.
 */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include "base/str.h"

#include <stdbool.h>

enum guard_decision { GUARD_DIRECT, GUARD_SANDBOX, GUARD_ASK, GUARD_DENY };
enum guard_risk { RISK_NONE, RISK_LOW, RISK_MEDIUM, RISK_HIGH, RISK_CRITICAL };

const char *guard_decision_name(enum guard_decision decision);
const char *guard_risk_name(enum guard_risk risk);

struct guard_request {
	const struct strv *command;
	const char *path;      /* PATH of the caller; NULL: none */
	const char *cwd;       /* absolute */
	const char *workspace; /* absolute */
	/* Whether the real path PATH is a credential or ours; the caller knows the lists. */
	bool (*is_secret)(const char *path, void *cookie);
	bool (*is_ours)(const char *path, void *cookie);
	void *cookie;
	bool is_busy; /* the machine has more to do than processors */
};

struct guard_verdict {
	enum guard_decision decision;
	enum guard_risk risk;
	struct strv reasons; /* words for people */
};

/* Looks at files (links are resolved, the program is looked up), changes nothing. */
void guard_decide(const struct guard_request *request, struct guard_verdict *ret_verdict);
void guard_verdict_done(struct guard_verdict *verdict);

#endif
