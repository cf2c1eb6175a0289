/* SPDX-License-Identifier: Apache-2.0 */
/* What a promotion left on the host: noted after it was applied, compared before it is taken back. */
#ifndef WORKSPACE_PROMOTION_APPLIED_H
#define WORKSPACE_PROMOTION_APPLIED_H

#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"

struct promotion_check {
	const struct store *store;
	const struct promotion_entry *entry;
};

/* By the process that applied it, at once. What cannot be noted is compared by content later. */
void promotion_note_applied(const struct store *store, const struct promotion_entry *entry);

/* Paths whose content or attributes are no longer what was promoted; COOKIE is a struct promotion_check. For txn_undo. */
int promotion_check_applied(void *cookie, struct strv *ret_changed, struct error *err);

#endif
