/* SPDX-License-Identifier: Apache-2.0 */
/* What a front end asks for: flags as given, nothing looked up yet. */
#ifndef PLAN_REQUEST_H
#define PLAN_REQUEST_H

#include "spec/settings.h"

struct request {
	struct settings flags;
	char *profile; /* name or file of --profile; NULL for the default */
	char *kept_profile; /* of a named sandbox: what that was when it was made (profile_load.h); NULL: to be found */
	char *workspace;     /* -C; NULL for the enclosing git root or the current directory */
	char *trace_id;	     /* NULL when none */
	char *settings_file; /* --settings: of another sandbox's kind; NULL when none */
	bool only_flags;     /* the flags say all that may be reached: they were such a file's */
	struct strv command; /* empty: the profile's entrypoint */
	const char *const *environ; /* the caller's; borrowed */
	bool interactive;	    /* stdin and stdout are a terminal: no wall limit by default */
	const char *
		owner; /* whose sandboxes this makes: an MCP server's; NULL: a person's; borrowed */
	uint64_t owner_bytes; /* what all of the owner's may use of memory; 0: the usual share */
	bool owner_caches;    /* the owner's may have warm caches, where the profile has them */
	unsigned owner_max;   /* how many sandboxes the owner may have; 0: the usual number */
	bool only_narrows;    /* a program asks: flags that widen the profile are refused */
	const char *
		action; /* the verb that a policy is asked about; NULL: that of the function called; borrowed */
	struct strv allow, deny; /* network rules the user keeps for the sandbox this is about */
	struct strv
		services; /* names of running services to clone; borrowed from the flags, which then have none */
	bool services_agreed;	    /* the user says so for this call; else each must be trusted */
	bool services_with_network; /* and that their data may leave by the network's rules */
	bool services_schema_only;  /* without what their tables hold */
	bool services_together;	    /* all as of one instant */
	uint64_t services_max_age_ms; /* a kept copy is taken when it is no older; 0: none is */
	bool time_is_default; /* the flags' time is no wish of the caller's: a policy lowers it */
	const char *
		user; /* who the command runs as (base/text/account.h); NULL: the sandbox's own; borrowed */
	int policy_fd;	 /* of a kept evaluator of policies (app/vet/rego_evaluator.h); 0: none */
	bool is_service; /* the command is a service: it has no deadline and waits for no other */
};

void request_init(struct request *request);
void request_done(struct request *request);

#endif
