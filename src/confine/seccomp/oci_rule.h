/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a Docker or OCI seccomp profile, read from JSON one by one. */
#ifndef CONFINE_OCI_RULE_H
#define CONFINE_OCI_RULE_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "confine/seccomp/seccomp_emit.h"

#include <stdbool.h>

/* One object of `syscalls`; the value it was read from must outlive it. */
struct oci_rule {
	size_t index; /* in the list, for messages; set by the caller */
	bool applies; /* to this architecture, kernel and a process without capabilities */
	uint32_t answer;
	const char *name;	   /* old form, or NULL */
	const struct value *names; /* list, when name is NULL */
	struct seccomp_clause clauses[SECCOMP_CONDS];
	size_t clause_count;
};

int oci_rule_read(const struct value *value, struct oci_rule *rule, struct error *err);

/* The answer that the texts under these two keys stand for. */
int oci_action_read(const struct value *map, const char *action_key, const char *errno_key,
		    uint32_t *ret_answer, struct error *err);

/*
 * Refuses a key not in the list, with the nearest one. WHERE stands in front of it: "syscalls[3]."
 */
int oci_check_keys(const struct value *map, const char *where, const char *const *keys,
		   struct error *err);

/* Refuses a profile that is not meant for this architecture. */
int oci_check_arch(const struct value *root, struct error *err);

#endif
