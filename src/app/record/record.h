/* SPDX-License-Identifier: Apache-2.0 */
/* The two appends a run leaves in the spool, and the one of anything else worth keeping. */
#ifndef APP_RECORD_H
#define APP_RECORD_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "observe/result.h"
#include "spec/spec.h"

/* START, before the command, with its owner (NULL: a person); the caller owns *ret_fd and passes it to record_end. */
int record_start(const struct spec *spec, const char *owner, int *ret_fd, struct error *err);

/* END, after it. */
int record_end(const struct run_result *result, int fd, struct error *err);

/* Something that is no run. */
struct record_event {
	const char *kind;	  /* "guard", "race", "promote" */
	const char *sandbox;	  /* it is about; NULL: none */
	const char *id;		  /* of the thing itself; NULL: none */
	const struct value *body; /* what else there is to say; NULL: nothing */
};

/* The same for what needs no more than its names. */
void record_named(const char *kind, const char *sandbox, const char *id);

/* Keeps it for the caller. One that is too large, or a spool that cannot be written, is no reason to fail. */
void record_event(const struct record_event *event);

#endif
