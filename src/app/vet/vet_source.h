/* SPDX-License-Identifier: Apache-2.0 */
/* The script of a command, as the sandbox would see it. Private to vetting. */
#ifndef APP_VET_SOURCE_H
#define APP_VET_SOURCE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <sys/types.h>

/* Scripts are small; what is larger is a program, or nothing anybody reads. */
#define VET_MAX_BYTES ((size_t)64 << 20)

/* What the command would see. */
struct vet_view {
	const struct spec *spec;
	bool has_layers; /* a named sandbox: its own changes come first */
	bool has_caches; /* there are warm caches: what is in those directories is not known */
};

struct vet_source {
	char *path; /* absolute, as the command names it */
	struct str bytes;
	mode_t mode;
	uid_t owner;
	bool is_own;   /* the sandbox's own, or put there by a mount: not the machine's */
	bool is_plain; /* the path leads to it without a link: it can be laid over */
	char *real;    /* where the links on its path lead */
};

/* LIVES: the command enters a named sandbox, of whose plan SPEC has next to nothing. SPEC is borrowed. */
void vet_view_init(const struct spec *spec, bool lives, struct vet_view *ret_view);

/* 1, or 0 when there is no such file; -1. A program is looked up on the spec's PATH. */
int vet_source_read(const struct vet_view *view, const char *name, bool is_program,
		    struct vet_source *ret_source, struct error *err);
/* Whether the program NAME is the machine's own: root's, in a place only root writes to, not changed in the sandbox. */
bool vet_program_is_system(const struct vet_view *view, const char *name);

/* Whether there is anything at the absolute PATH, which has no link in it. Also true when the lookup fails. */
bool vet_view_has(const struct vet_view *view, const char *path);

void vet_source_done(struct vet_source *source);

#endif
