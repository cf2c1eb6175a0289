/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a spec, and from a spec to a recorded run: what run and the verbs of named sandboxes share. */
#ifndef APP_EXECUTE_H
#define APP_EXECUTE_H

#include "app/pool/pool.h"
#include "app/run/run_request.h"
#include "app/prepare/plan_context.h"
#include "run/run.h"

/* Plans; *ret_settings (unless NULL) is the profile with the request's flags laid over it, the caller's to free. */
int execute_plan(const struct request *request, const struct plan_context *around,
		 struct spec *ret_spec, struct settings *ret_settings, struct error *err);

/* Whether the stored secrets of SPEC exist, and are for its workspace (NULL: not asked) and for the profile of REQUEST. */
int execute_check_secrets(const struct request *request, const struct spec *spec,
			  struct error *err);

/*
 * A place among those that the daemon lets run, where there is one and OPTIONS want that. Before anything is planned or locked: it may
 * take a while.
 */
int execute_enter(const struct request *request, const struct app_run_options *options,
		  struct pool_slot *ret_slot, struct run_result *result, struct error *err);

/* A run that goes on without its caller. */
struct execute_apart {
	struct run_control control;
	/* Once its start is recorded: where it can be found. Fills the control socket. */
	int (*announce)(const struct spec *spec, void *cookie, struct error *err);
	void *cookie;
};

struct execute {
	const struct app_run_options *options;
	struct execute_apart *apart;	   /* NULL: the caller waits */
	struct launch_prestart **prestart; /* begun for it, which takes it; NULL: nothing */
	const char *owner;		   /* its owner, as in a request */
	uint64_t asked_ns;
	const struct secrets
		*hidden; /* out of its output, though it is not given them; NULL: none */
	int enter_fd;	 /* to the supervisor of a sandbox to enter; 0: start one */
	const struct strv *enter_env; /* variables to set there */
	const char *enter_user;	      /* as in a request */
	const struct strv
		*vet_env; /* those, and the sandbox's own: what a signature is checked with */
	int upper_fd; /* the top of a named sandbox: changes are counted there; -1: in the run's own */
	uint64_t *ret_newest_ns; /* with a top: when something in it last changed; may be NULL */
	uint64_t *ret_ended_ns;	 /* when the command ended (CLOCK_MONOTONIC); may be NULL */
	bool *ret_is_shared; /* whether other processes were alive in the sandbox when it began; may be NULL */
};

/* Vets what the spec would run, where it asks for that, and runs it with its records. As app_run. */
int execute_spec(struct spec *spec, const struct execute *how, struct run_result *result,
		 struct error *err);

#endif
