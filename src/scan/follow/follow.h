/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows names and texts through a Python or JavaScript program without running it.
 *
 * Every node gets its meaning when it ends, so that its parts have theirs. Twice over the text: what is defined below
 * its use is known the second time. Where a name could mean several things, it means all of them.
 */
#ifndef SCAN_FOLLOW_H
#define SCAN_FOLLOW_H

#include "base/core/str.h"
#include "scan/follow/abstract_value.h"
#include "scan/syntax/syntax.h"

struct follow {
	const struct syntax *syntax;
	enum scan_language language;
	struct abstract_values all;
	const struct abstract_value **of; /* by node */
	struct strv wildcards;		  /* modules whose names are all there: from os import * */
	uint32_t handed;		  /* values given to parameters and loops, so far */
	/* Called the second time for each node that has ended; may be NULL. */
	void (*visit)(struct follow *follow, uint32_t node);
	void *cookie; /* of visit */
};

void follow_init(struct follow *follow, const struct syntax *syntax, enum scan_language language);
void follow_done(struct follow *follow);
/* Over the whole text, twice. */
void follow_run(struct follow *follow);

/* Counts what is given to parameters and loops; false when that is more than is followed: the text is not analysable. */
bool follow_spend(struct follow *follow, uint32_t count);

/* The argument at POSITION (keywords do not count), or SYNTAX_NONE. */
uint32_t follow_argument(const struct follow *follow, uint32_t call, unsigned position);
/* The value of the keyword argument NAME, or SYNTAX_NONE. */
uint32_t follow_keyword(const struct follow *follow, uint32_t call, const char *name);
/* The constant text a node means, or NULL. */
const struct abstract_value *follow_text(const struct follow *follow, uint32_t node);
/* The items of a list a node means, from SYNTAX_NONE if it is none. */
uint32_t follow_list(const struct follow *follow, uint32_t node);

/* Whether modules of Python show the module NAME because they import it: pathlib.os is os. */
bool follow_is_module_everywhere(const char *name, size_t len);
/* What NAME means where it stands alone. Private to follow's files, as is the next one. */
const struct abstract_value *follow_name(struct follow *follow, const char *name, size_t len);
const struct abstract_value *follow_call(struct follow *follow, uint32_t call);
const struct abstract_value *follow_string(struct follow *follow, uint32_t node);
const struct abstract_value *follow_binary(struct follow *follow, uint32_t node);
/* Of what a text may be, the one at WHICH, or the first; how many there are. */
const struct abstract_value *follow_alternative(const struct abstract_value *text, unsigned which);
unsigned follow_alternatives(const struct abstract_value *text);
/*
 * What READ makes of NODE, in each way its parts may be: of each part it takes the alternative WHICH, and *ROUNDS becomes
 * how many there are. What is made of the first comes first.
 */
const struct abstract_value *follow_each_way(
	struct follow *follow, uint32_t node,
	const struct abstract_value *(*read)(struct follow *follow, uint32_t node, unsigned which,
					     unsigned *rounds));
/* Of PART the alternative WHICH, and *ROUNDS is at least as many as it has. */
const struct abstract_value *follow_part(const struct abstract_value *part, unsigned which,
					 unsigned *rounds);
/* Both in a row, in each way they may be: each of what either may be comes up once. */
const struct abstract_value *follow_join(struct follow *follow, const struct abstract_value *one,
					 const struct abstract_value *other);
/* What the text NAME picks out of all that OBJECT may be: os.__dict__["system"], globalThis["eval"]. */
const struct abstract_value *follow_pick(struct follow *follow, uint32_t object,
					 const struct abstract_value *name);
/* A member of some object of the program: known by its name alone, whatever object it is asked of. */
void follow_set_member(struct follow *follow, const char *name, size_t len,
		       const struct abstract_value *value);
const struct abstract_value *follow_get_member(const struct follow *follow, const char *name,
					       size_t len);
/* What a function gives back is kept: at a return, at the end of () => value, and asked for where it is called. */
void follow_returned(struct follow *follow, uint32_t node);
void follow_body(struct follow *follow, uint32_t node);
const struct abstract_value *follow_own_function(struct follow *follow, uint32_t callee);
/* Whether the name CALLEE is that of a function of the program. */
bool follow_is_function(const struct follow *follow, uint32_t callee);
/* Whether the item at POSITION of a list is worth a name's memory: what comes late in a long one counts by its weight. */
bool follow_may_matter(const struct follow *follow, uint32_t item, uint32_t position);
/* Where a function stands, by its name; what a call hands to one's parameters. */
void follow_place(struct follow *follow, uint32_t function);
void follow_handed(struct follow *follow, uint32_t call);
/* All names of MODULE are there: from MODULE import *. */
void follow_wildcard(struct follow *follow, const char *module);
/* The names in PATTERN, from what is taken apart. */
void follow_destructure(struct follow *follow, uint32_t pattern,
			const struct abstract_value *right);
/* Imports, assignments, parameters: what gives names their meaning. */
void follow_define(struct follow *follow, uint32_t node);

#endif
