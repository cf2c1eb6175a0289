/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a sandbox's changes may go on the host without a question, when it was made with rules about writing.
 *
 * The rules are kept with its settings, in pairs, from the moment it is made: the file they came from may have been
 * changed since by the very program they confine.
 */
#ifndef WORKSPACE_WRITE_RULE_H
#define WORKSPACE_WRITE_RULE_H

#include "base/core/str.h"

/* There are rules, if only that nothing may be written. */
#define WRITE_RULES "--write-rules"
/* Below a path, or one that matches a pattern. Deny beats allow. */
#define WRITE_ALLOW "--write-allow"
#define WRITE_DENY "--write-deny"

/* Whether the rules among WORDS (if any) keep PATH, absolute and clean, from being written. */
bool write_rules_forbid(const struct strv *words, const char *path);

/* Whether WORD begins such a pair. */
bool write_rule_is_word(const char *word);

#endif
