/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a bundle on its way: where it came from, and how far it is in every stage. */
#ifndef STAGE_RECORD_H
#define STAGE_RECORD_H

#include "base/core/error.h"
#include "base/hash/sha256.h"
#include "base/core/value.h"
#include "decide/stage/state.h"

#include <stddef.h>
#include <stdint.h>

struct stage_entry {
	char *name, *target; /* target: absolute */
	enum stage_state state;
	char *promotion;  /* what put it there; NULL: nothing had to be done, or not yet */
	char *digest;	  /* of what is being, or was, promoted (promote.h); NULL: not yet */
	char *clone;	  /* the sandbox its checks run in; NULL: none */
	char *reason;	  /* of a refusal or an undo; NULL: none */
	uint64_t ignored; /* changes of the bundle that git ignores and that were left out */
	uint64_t changed_ms;
};

struct stage_record {
	char bundle[SHA256_HEX_SIZE];
	char *sandbox, *sandbox_id, *snapshot, *workspace, *pipeline;
	uint64_t made_ms;
	struct stage_entry *entries; /* in the order in which they were entered */
	size_t count;
};

void stage_record_init(struct stage_record *record);
void stage_record_done(struct stage_record *record);

/* The entry NAME; NULL when there is none. */
struct stage_entry *stage_record_find(const struct stage_record *record, const char *name);
struct stage_entry *stage_record_add(struct stage_record *record, const char *name,
				     const char *target);

/* Takes a step; one that the picture in state.h does not have is our own mistake: ERROR_INTERNAL. */
int stage_entry_move(struct stage_entry *entry, enum stage_state state, const char *reason,
		     struct error *err);

/* As JSON, and back. */
struct value *stage_record_write(const struct stage_record *record);
int stage_record_read(const char *bytes, size_t len, struct stage_record *record,
		      struct error *err);

#endif
