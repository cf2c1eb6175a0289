/* One run of one command through a driver: streams, deadlines, figures, result. Knows no driver by name. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/error.h"
#include "driver/driver.h"
#include "observe/result.h"
#include "spec/spec.h"

struct run_options {
	/* A sandbox that runs already, and variables to set in it; for a driver's `enter`. */
	int enter_fd;
	const struct strv *enter_env;
	const struct secrets *secrets; /* for the command, and out of its output; NULL: none */
	bool has_score;		       /* descriptor 3 of this process is the command's, too */
	bool capture;	   /* keep the streams in the result instead of passing them on */
	uint64_t asked_ns; /* CLOCK_MONOTONIC when the request came in; 0: now */
	/* Called when the task has ended and its layers are still there; may be NULL. */
	void (*inspect)(const struct task *task, struct run_result *result, void *cookie);
	void *cookie;
};

/*
 * Runs SPEC with DRIVER and waits for its end. Returns 0 when the command ran or could not be executed (127, 126), with
 * the result filled; -1 when the sandbox could not be made, with status denied or internal in the result.
 */
int run_execute(const struct driver *driver, const struct spec *spec,
		const struct run_options *options, struct run_result *result, struct error *err);

#endif
