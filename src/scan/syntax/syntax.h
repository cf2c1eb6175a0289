/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source text as a flat list of nodes, in the order in which they begin: the one door to tree-sitter.
 *
 * The list holds the tree (each node knows its parent and where its own end) and needs no recursion to be walked. Names of
 * the three grammars that mean the same thing have one kind here.
 */
#ifndef SCAN_SYNTAX_H
#define SCAN_SYNTAX_H

#include "base/core/error.h"
#include "scan/syntax/language.h"
#include "scan/syntax/syntax_kind.h"

#include <stdbool.h>
#include <stdint.h>

/* Larger texts, slower parses and larger trees are not analysable. */
#define SYNTAX_MAX_BYTES ((size_t)1 << 20)
#define SYNTAX_MAX_NODES ((size_t)500000)
#define SYNTAX_MAX_DEPTH 2000u
#define SYNTAX_MAX_MEMORY ((size_t)40 << 20)
#define SYNTAX_MAX_MICROSECONDS 2000000u

#define SYNTAX_NONE UINT32_MAX

struct syntax_node {
	uint16_t kind; /* enum syntax_kind */
	uint8_t field; /* enum syntax_field, of its parent */
	bool is_code; /* stands in the tree under this very name; false: a token such as an operator */
	uint32_t start, end; /* bytes */
	uint32_t parent;
	uint32_t after; /* the first node that is not below this one */
};

struct syntax {
	const char *text; /* borrowed */
	size_t len;
	struct syntax_node *nodes;
	uint32_t count;
	bool is_broken; /* there is a place that is not of the language */
	uint32_t broken_at;
};

/* Whether this build has the grammars. */
extern const bool syntax_is_built;

/*
 * TEXT must outlive *ret_syntax. ERROR_INPUT: why it cannot be analysed (too large, too deep, too slow); ERROR_DENIED when
 * this build has no grammars.
 */
int syntax_parse(enum scan_language language, const char *text, size_t len,
		 struct syntax *ret_syntax, struct error *err);
void syntax_done(struct syntax *syntax);

/* The child of NODE that is FIELD of it, or SYNTAX_NONE. */
uint32_t syntax_child(const struct syntax *syntax, uint32_t node, enum syntax_field field);
/* The first child, or the one after CHILD; SYNTAX_NONE at the end. Comments are passed over. */
uint32_t syntax_first(const struct syntax *syntax, uint32_t node);
uint32_t syntax_next(const struct syntax *syntax, uint32_t child);
/* The bytes of NODE; they do not end in NUL. */
const char *syntax_source(const struct syntax *syntax, uint32_t node, size_t *ret_len);
/* Whether the bytes of NODE are exactly WORD. */
bool syntax_is(const struct syntax *syntax, uint32_t node, const char *word);

#endif
