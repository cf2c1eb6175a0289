/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protected write-through: what a sandbox changed in the workspace is promoted by itself, as far as it needs no consent.
 *
 * It is the overlay as ever, and a promotion as ever: journalled, undoable, never a writable mount of the host's tree. What
 * needs consent, what the host changed too, and what git ignores stays in the sandbox.
 */
#ifndef APP_CHANGE_WRITE_THROUGH_H
#define APP_CHANGE_WRITE_THROUGH_H

#include "base/core/error.h"
#include "base/core/id.h"
#include "base/core/value.h"

#include <sys/types.h>

/*
 * {waiting: [{path, path_b64, why}], promotion_id, sandbox, applied: [paths], ignored, ignored_at, undo}; promotion_id is
 * null where there was nothing to write.
 */
int write_through(const char *sandbox, struct value **ret_answer, struct error *err);

/* [{promotion_id, paths, undo}] of what was promoted from SANDBOX since the id SINCE and is in force, newest first. */
int write_promotions(const char *sandbox, const char *since, struct value **ret_list,
		     struct error *err);

/* Writes through every two seconds while a command runs, where its files are quiet. */
struct write_watch {
	pid_t pid;		 /* 0: none */
	int stop_fd;		 /* its end ends the process */
	char since[ID_RUN_SIZE]; /* promotions have greater ids */
};

int write_watch_start(const char *sandbox, struct write_watch *ret_watch, struct error *err);
/* Returns when what is being written is written. */
void write_watch_stop(struct write_watch *watch);

#endif
