/* Request + profile + host facts -> complete spec: every default made explicit, nothing touched. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/error.h"
#include "host/host.h"
#include "plan/request.h"
#include "spec/spec.h"

/*
 * What plan needs to know about paths; engine fills it by looking, tests by saying. All absolute, resolved,
 * owned by the caller.
 */
struct plan_paths {
	char *workspace;      /* resolved -C, or the default of rules 16; NULL: an empty one is made */
	bool workspace_given; /* by -C */
};

/*
 * PROFILE is the merged profile (built in, user's, narrowed by the workspace's); the request's flags are
 * laid over it here. A pure function: no file is opened, no process started.
 */
int plan_make(const struct request *request, const struct settings *profile, const struct host *host,
	      const struct plan_paths *paths, struct spec *ret_spec, struct error *err);

#endif
