/* SPDX-License-Identifier: Apache-2.0 */
/* The only place where the parts meet: what operations call. */
#ifndef APP_ENGINE_H
#define APP_ENGINE_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "observe/result.h"
#include "plan/request.h"
#include "spec/spec.h"

/* What would be launched. ERROR_LIBRARIES: nothing was done, the program with libraries has to do it. */
int app_plan(const struct request *request, struct spec *ret_spec, struct error *err);

struct app_run_options {
	bool capture; /* keep the streams in the result instead of passing them on (--json) */
	/* With capture: the result's stdout is what the command wrote, secrets as well, and is in no log. Never shown. */
	bool is_exact;
	bool has_score; /* descriptor 3 of this process is the command's, too: checks of a race */
	struct seccomp_set
		*seen;	    /* what the command calls is noted here (`profile learn`); NULL: not */
	bool list_changes;  /* fill the result's `changed` (--name-status) */
	int zygote_pool_fd; /* of a pool of zygotes (driver/driver.h); 0: none */
	bool uses_daemon;   /* a ready sandbox is taken where there is one that fits */
	bool is_own;	    /* aisbx runs something for itself: no policy is asked */
	bool insists;	    /* is never refused for the many that wait (pool.h) */
	bool compiles;	    /* this run is there to compile a language of the wasm driver */
	struct plan_context_memory
		*memory; /* facts that this process has read before; NULL: none */
	/* Called for the first few denials when they happen; NULL: all wait for the result. */
	void (*denied)(const struct denial *denial, void *cookie);
	void *denied_cookie;
	bool *ret_is_unused; /* this process is as fit for another run as before; may be NULL */
};

/*
 * Runs and waits. Returns 0 when the command ran, whatever came of it; -1 when it was refused or aisbx failed: then the
 * result is filled as far as known (status denied or internal) and ERR has the reason.
 */
int app_run(const struct request *request, const struct app_run_options *options,
	    struct run_result *ret_result, struct error *err);

/*
 * Tries every layer: {fit, user, layers: [{layer, state, mandatory, detail, remedy}], warnings: [{setting, value,
 * detail, remedy}], extras: [{name, state, detail, remedy}], fixes: [{name, why, steps}] (doctor/fix_steps.h)}; state is
 * works, degraded or missing. The caller owns the answer.
 */
int app_doctor(struct value **ret_answer, struct error *err);

/*
 * Removes what dead supervisors left behind: list of {kind, path, detail}, one per thing removed. Never touches
 * what belongs to a living one.
 */
int app_gc(struct value **ret_answer, struct error *err);

#endif
