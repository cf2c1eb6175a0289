/* SPDX-License-Identifier: Apache-2.0 */
/* One run of one command through a driver: streams, deadlines, figures, result. Knows no driver by name. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/core/error.h"
#include "driver/driver.h"
#include "observe/result.h"
#include "spec/spec.h"

/* How far a run is, for its attendant. */
struct run_news {
	bool is_ready;		     /* the control socket's descriptor */
	bool has_started;	     /* the command was executed */
	uint64_t kept_out, kept_err; /* bytes of each stream in the log */
};

/* For a run in the background: its streams go to the log alone, and it can be talked to while it lasts. */
struct run_control {
	int input_fd; /* the command's standard input; taken */
	int fd;	      /* readable when there is something to attend to */
	/* After every turn. Gives the signal to send to the command, or 0. */
	int (*attend)(const struct run_news *news, void *cookie);
	void *cookie;
};

struct run_options {
	struct run_control *control; /* NULL: the streams are the caller's */
	/* A sandbox that runs already, and variables to set in it; for a driver's `enter`. */
	int enter_fd;
	const struct strv *enter_env;
	const char *enter_user;	       /* who it runs as there; NULL: the sandbox's own user */
	const struct secrets *secrets; /* for the command, and out of its output; NULL: none */
	const struct secrets *hidden;  /* only out of its output; NULL: none */
	struct launch_prestart *
		*prestart;  /* begun for this run, which takes it (driver's begin); NULL: nothing */
	int zygote_pool_fd; /* of a pool of zygotes (driver/driver.h); 0: none */
	struct seccomp_set *seen; /* what the command calls is noted here; NULL: not */
	bool has_score;		  /* descriptor 3 of this process is the command's, too */
	bool capture;		  /* keep the streams in the result instead of passing them on */
	bool is_exact;	   /* with capture: stdout is not searched for secrets, and not logged */
	uint64_t asked_ns; /* CLOCK_MONOTONIC when the request came in; 0: now */
	/* Called when the task has ended and its layers are still there; may be NULL. */
	void (*inspect)(const struct task *task, struct run_result *result, void *cookie);
	void *cookie;
	/* Called for the first few denials when they happen; NULL: all wait for the result. */
	void (*denied)(const struct denial *denial, void *cookie);
	void *denied_cookie;
};

/* So many distinct denials are shown at once. */
#define RUN_DENIALS_TOLD 3

/*
 * Runs SPEC with DRIVER and waits for its end. Returns 0 when the command ran or could not be executed (127, 126), with
 * the result filled; -1 when the sandbox could not be made, with status denied or internal in the result.
 */
int run_execute(const struct driver *driver, const struct spec *spec,
		const struct run_options *options, struct run_result *result, struct error *err);

#endif
