/* SPDX-License-Identifier: Apache-2.0 */
/* What a request is planned in: the host's facts, the workspace, the names of the run to come. */
#ifndef APP_PLAN_CONTEXT_H
#define APP_PLAN_CONTEXT_H

#include "base/core/error.h"
#include "base/core/id.h"
#include "app/prepare/home_links.h"
#include "host/host.h"
#include "plan/plan.h"
#include "plan/request.h"

/*
 * In the folder of the state: what of services that were seen to run is hidden. Each path ends with a NUL: names may hold
 * newlines.
 */
#define SERVICE_PLACES "service-places"
#define SERVICE_PLACES_MAX 256u

struct plan_context {
	struct host host;
	struct plan_paths paths;
	char run_id[ID_RUN_SIZE];
	char sandbox[ID_SHORT_SIZE];
	char *git_name, *git_email;
	char *git_authority;	     /* http.sslCAInfo as it stands there; NULL: none */
	struct strv git_authorities; /* http.ADDRESS.sslCAInfo: address and file in turn */
	bool is_view;		     /* nothing is started: no secret is asked for */
};

/* What a process that looks around again and again has seen before. */
struct plan_context_memory {
	struct host_memory host;
	struct home_memory home;
};

/* Looks around; cheap. On failure nothing has to be released, but may be. */
int plan_context_read(const struct request *request, struct plan_context *ret_around,
		      struct error *err);

/* The same in its two halves: the caller and its place; then everything else, with what MEMORY has of it unless NULL. */
int plan_context_find(const struct request *request, struct plan_context *ret_around,
		      struct error *err);
int plan_context_look(struct plan_context_memory *memory, struct plan_context *around,
		      struct error *err);

/* Refuses a store that lies in the workspace around the caller, and may have come with it. */
int plan_context_check_store(const struct host *host, struct error *err);

void plan_context_done(struct plan_context *around);

#endif
