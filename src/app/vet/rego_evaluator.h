/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator of policies, a program of its own: started for one question, or kept by a process that has many to ask, which
 * its children ask as well.
 *
 *   keeper ──starts──> aisbx-policy keep <──one end of a stream for each question── asker, a child of the keeper
 *
 * Nothing of a kept one is trusted beyond its answer: each question names the digest of files that were read for it, and what
 * was parsed before is used where it came under that digest. A kept one that is gone is done without; one that hangs refuses.
 */
#ifndef APP_VET_REGO_EVALUATOR_H
#define APP_VET_REGO_EVALUATOR_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <sys/types.h>

#define POLICY_ANSWER_MAX ((size_t)1 << 20)

struct policy_keeper {
	pid_t pid;  /* 0: none */
	int ask_fd; /* for those who ask (request.h); 0: none */
};

/* Starts one where there is a policy and none that can be asked; ends one that cannot. Without a policy: two lookups. */
void policy_keeper_look(struct policy_keeper *keeper);
void policy_keeper_close(struct policy_keeper *keeper);

enum evaluator_said { EVALUATOR_ANSWERED, EVALUATOR_GONE, EVALUATOR_HANGS };

/* One line there, one line back, of one that ends then. -1 with an error where it cannot be started. */
int evaluator_ask_new(const struct str *question, struct str *ret_line,
		      enum evaluator_said *ret_said, struct error *err);

/* The same of a kept one. After EVALUATOR_HANGS no asker gets an answer of it any more. */
enum evaluator_said evaluator_ask_kept(int kept_fd, const struct str *question,
				       struct str *ret_line);

#endif
