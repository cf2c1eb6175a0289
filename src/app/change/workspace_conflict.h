/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts with the host as events, the same for programs, people and logs. */
#ifndef APP_WORKSPACE_CONFLICT_H
#define APP_WORKSPACE_CONFLICT_H

#include "base/core/value.h"
#include "workspace/promote/promote.h"

/* What may be done about a conflict of that kind: strategies, "into-sandbox", "approx-base", "refresh", "retry". */
struct value *workspace_choices(const char *kind);

/*
 * {event, id, sandbox, snapshot, path, path_b64, kind, base, ours, theirs, hunks, names, resolution, loser, choices};
 * `ours` is the host, `theirs` the sandbox.
 */
struct value *workspace_conflict_event(const struct conflict *conflict,
				       const struct promote_request *request,
				       const char *workspace);

#endif
