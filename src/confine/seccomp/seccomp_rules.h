/* SPDX-License-Identifier: Apache-2.0 */
/* The argument checks that syscalls.tsv names, and the variants of the filter. */
#ifndef CONFINE_SECCOMP_RULES_H
#define CONFINE_SECCOMP_RULES_H

#include "confine/seccomp/seccomp_emit.h"

#include <stdbool.h>

/*
 * Fills the answers of an entry from a class of syscalls.tsv ("allow", "args:socket"). False when
 * unknown.
 */
bool seccomp_rule_apply(const char *class_text, struct seccomp_entry *entry);

/* Sets what a variant (SECCOMP_VARIANT_ bits) answers; arch and entries stay as they are. */
void seccomp_policy_variant(struct seccomp_policy *policy, unsigned variant);

#endif
