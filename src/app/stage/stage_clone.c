/* SPDX-License-Identifier: Apache-2.0 */
/* The clone of a target with a bundle on top: what the target would be. */
#include "app/stage/stage_parts.h"

#include "base/core/own.h"
#include "app/change/workspace_parts.h"
#include "app/stage/fill.h"

#define CLONE_TTL_MS (UINT64_C(2) * 3600 * 1000)

int stage_clone(const struct stage_run *run, const char *name, const char *target,
		struct error *err)
{
	const struct app_create create = { .name = name, .ttl_ms = CLONE_TTL_MS };
	owned(opened_close) struct opened opened;
	owned(request_done) struct request request;

	opened_init(&opened);
	request_init(&request);
	if (opened_open(&opened, run->place->record.sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    app_sandbox_request(&opened.sandbox, &request, err) < 0)
		return -1;
	free(request.workspace);
	request.workspace = xstrdup(target);
	request.environ = run->wish->environ;
	return app_create(&request, &create, err);
}

int stage_clone_fill(const struct stage_run *run, const char *clone, const char *target,
		     const char *strategy, struct error *err)
{
	const struct fill fill = { .bundle = &run->place->bundle,
				   .store = &run->place->store,
				   .dir_fd = run->place->dir_fd,
				   .sandbox = clone,
				   .target = target,
				   .strategy = strategy,
				   .environ = run->wish->environ,
				   .owner = run->wish->owner,
				   .owner_bytes = run->wish->owner_bytes,
				   .leaves_git = run->wish->commits };

	return bundle_fill(&fill, err);
}
