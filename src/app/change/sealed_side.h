/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sides of a change, for a bundle: the version it was made from and the sandbox's own. Contents are kept in the store.
 *
 * The old side is never today's file of the host: a merge that starts there takes what others changed since for undone.
 */
#ifndef APP_SEALED_SIDE_H
#define APP_SEALED_SIDE_H

#include "decide/stage/bundle.h"
#include "workspace/delta/delta.h"
#include "workspace/store/sandbox.h"
#include "workspace/store/store.h"

struct origin_index;

struct sealed_sides {
	const struct view_stack *stack;
	const struct store *store; /* where contents are kept */
	struct origin_index *origins;
};

int sealed_sides_open(struct sealed_sides *sides, const struct sandbox *sandbox,
		      const struct view_stack *stack, const struct store *store, struct error *err);
void sealed_sides_done(struct sealed_sides *sides);

/* A version that is not known any more gets a digest that no content has: wherever it is compared, it differs. */
int sealed_base(const struct sealed_sides *sides, const struct delta_entry *entry,
		struct bundle_side *ret_side, struct error *err);

/* A device, socket or pipe, of which no bundle has a side. */
bool sealed_is_special(const struct delta_side *side);

/* Not of what is special. */
int sealed_new(const struct sealed_sides *sides, const struct delta_entry *entry,
	       struct bundle_side *ret_side, struct error *err);

#endif
