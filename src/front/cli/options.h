/* SPDX-License-Identifier: Apache-2.0 */
/* argv into a call: the row's parameters and, where it takes them, every setting. */
#ifndef FRONT_CLI_OPTIONS_H
#define FRONT_CLI_OPTIONS_H

#include "base/core/error.h"
#include "ops/op.h"

/*
 * Reads WORDS (what follows the verb, ended by NULL) into CALL. Flags may stand in any order and
 * mix with positional words; `--` ends them. The switches every verb has (--json, --help) end up
 * among the call's arguments like any other; call->json is set. One sentence on failure.
 */
int options_parse(struct op_call *call, char *const *words, struct error *err);

/* Whether --json stands among WORDS before any `--` and before OP's command: known even when the rest is nonsense. OP may be NULL. */
bool options_want_json(const struct op *op, char *const *words);

#endif
