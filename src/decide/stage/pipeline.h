/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines: the stages a change goes through, read from a file. Reading only; app/stage runs them.
 *
 *   stages:
 *     - {name: dev, target: ., mode: in-place, pre: ["tests==pass"], post: ["cmd:make test"]}
 *     - {name: staging, after: dev, target: /srv/staging, mode: swap, post: ["cmd:./smoke"], timeout: 120s}
 *     - {name: production, target: /srv/app, mode: swap, approvals: 1}
 *
 * `after` is the entry before unless it is given: stages form a tree, and a bundle enters one only when it is
 * live in the one that comes before.
 */
#ifndef STAGE_PIPELINE_H
#define STAGE_PIPELINE_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIPELINE_STAGES_MAX 64
#define PIPELINE_NAME_MAX 40
#define PIPELINE_KEEP_MAX 20
#define PIPELINE_TIMEOUT_MS (UINT64_C(600) * 1000) /* where none is given: no check runs for ever */
#define PIPELINE_NONE SIZE_MAX

#define PIPELINE_APPROVALS_MAX 64

struct pipeline_stage {
	char *name;
	char *after_name;      /* as written; NULL: the entry before */
	size_t after;	       /* index of the stage that comes before; PIPELINE_NONE: none */
	char *target;	       /* as written, without slashes at the end */
	bool swap;	       /* exchange the directory itself; else in place */
	struct strv pre, post; /* gates (gate.h) */
	uint64_t timeout_ms;   /* for all checks before, and again for all checks after */
	unsigned approvals;    /* by as many accounts */
	char *strategy;	       /* NULL: fail */
	unsigned keep; /* promotions to the target that can be taken back; 0: as many as ever */
	bool on_host;  /* checks after it run on the host itself */
	unsigned line;
};

struct pipeline {
	struct pipeline_stage *stages; /* in the order of the file */
	size_t count;
	size_t *order; /* indices: each behind the one it comes after */
};

void pipeline_init(struct pipeline *pipeline);
void pipeline_done(struct pipeline *pipeline);

/*
 * Reads a whole file into an empty pipeline. Errors begin with ORIGIN:LINE and say what to write instead; what does not
 * hold between stages (unknown `after`, a circle, one target twice) is refused here, what needs the disk is not.
 */
int pipeline_read(const char *bytes, size_t len, const char *origin, struct pipeline *pipeline,
		  struct error *err);

/* Index of the stage NAME; PIPELINE_NONE with ERROR_NOT_FOUND and the nearest name. */
size_t pipeline_find(const struct pipeline *pipeline, const char *name, struct error *err);

/* Resolves `after` and finds the order; part of pipeline_read. */
int pipeline_arrange(struct pipeline *pipeline, const char *origin, struct error *err);

#endif
