/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rules about system calls to a classic BPF program.
 *
 * The program checks the architecture, then searches the number in a balanced tree whose leaves are
 * answers or argument checks. Runs at build time for the filters compiled in and in aisbx-full for
 * filters read from a file.
 */
#ifndef CONFINE_SECCOMP_EMIT_H
#define CONFINE_SECCOMP_EMIT_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Answers whose value depends on the variant; everywhere else an answer is a SECCOMP_RET_ value.
 * The kernel knows no action of these values.
 */
#define ANSWER_DENY 0x00010000U	   /* dangerous: EPERM, reported when there is a listener */
#define ANSWER_OBSERVE 0x00010001U /* permitted, reported when there is a listener */
#define ANSWER_SPLICE 0x00010002U  /* splice and tee */
#define ANSWER_MOVE 0x00010003U	   /* a new place for a file or directory */

enum seccomp_compare {
	COMPARE_EQ,
	COMPARE_NE,
	COMPARE_LT,
	COMPARE_LE,
	COMPARE_GT,
	COMPARE_GE,
};

/* (argument & mask) compared with value, unsigned. */
struct seccomp_cond {
	uint8_t arg;
	bool is_wide; /* all 64 bits; otherwise the low 32, as the kernel itself sees an int */
	enum seccomp_compare compare;
	uint64_t mask, value;
};

#define SECCOMP_CONDS 6

/* All conditions hold: that answer. */
struct seccomp_clause {
	uint32_t answer;
	uint8_t cond_count;
	struct seccomp_cond conds[SECCOMP_CONDS];
};

/* One system call: the first clause that holds, else `otherwise`. */
struct seccomp_entry {
	uint32_t nr;
	uint32_t otherwise;
	const struct seccomp_clause *clauses;
	size_t clause_count;
};

struct seccomp_policy {
	uint32_t arch;			      /* AUDIT_ARCH_ value */
	uint32_t foreign;		      /* answer to any other architecture */
	uint32_t unknown;		      /* answer to numbers without an entry */
	uint32_t deny, observe, splice, move; /* what the ANSWER_ values stand for */
	const struct seccomp_entry *entries;  /* by rising number, each number once */
	size_t entry_count;
};

#define SECCOMP_ENTRIES_MAX 1024

/*
 * Writes the program into OUT, at most CAP instructions, and its length into ret_count. 0, or -1
 * with errno: EINVAL when the entries are not in order or too many, E2BIG when the program does not
 * fit. No heap.
 */
int seccomp_emit(const struct seccomp_policy *policy, struct sock_filter *out, size_t cap,
		 size_t *ret_count);

#endif
