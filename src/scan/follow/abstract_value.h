/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an expression means, as far as that is known without running it: a dotted path of names, a constant text, a number,
 * a list. A name may mean several things; all of them are kept.
 */
#ifndef SCAN_ABSTRACT_VALUE_H
#define SCAN_ABSTRACT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum abstract_kind { ABSTRACT_PATH, ABSTRACT_TEXT, ABSTRACT_NUMBER, ABSTRACT_LIST };

struct abstract_value {
	enum abstract_kind kind;
	bool is_built;	  /* made from pieces, decoded, or reached by a text: disguised */
	bool has_more;	  /* it may also be what there was no room for, which was less grave */
	uint8_t weight;	  /* one more than its weight; 0: not computed yet */
	const char *text; /* path or text; NUL-terminated as well */
	uint32_t len;
	uint32_t node; /* of lists */
	int64_t number;
	const struct abstract_value *also; /* what else it may mean */
};

/* All meanings of one text, freed at once. */
struct abstract_values {
	struct abstract_value_block *blocks;
	struct name_slot *slots; /* hash of names */
	uint32_t slot_count, name_count;
	size_t bytes;
	/* How grave it is to mean this; may be NULL. Where there is no room for all, the gravest stay. */
	unsigned (*severity)(const struct abstract_value *value);
	bool is_full; /* nothing more is remembered: the text is not analysable */
};

#define ABSTRACT_TEXT_MAX 16384u
#define ABSTRACT_PATH_MAX 200u
#define ABSTRACT_BYTES_MAX ((size_t)8 << 20)
#define ABSTRACT_ALSO_MAX 8u
/* The path of a function that is written there and then. */
#define ABSTRACT_FUNCTION "(function)"

void abstract_values_init(struct abstract_values *all);
void abstract_values_done(struct abstract_values *all);

/* A copy; NULL when it is too long. */
struct abstract_value *abstract_new(struct abstract_values *all, enum abstract_kind kind,
				    const char *text, size_t len);
struct abstract_value *abstract_number(struct abstract_values *all, int64_t number);
struct abstract_value *abstract_list(struct abstract_values *all, uint32_t node);
/* "a.b" from "a" and "b"; either may be long. */
struct abstract_value *abstract_member(struct abstract_values *all, const struct abstract_value *of,
				       const char *name, size_t len);
/*
 * One chain of both, at most ABSTRACT_ALSO_MAX long; paths are kept rather than others, and of one kind the graver ones.
 */
const struct abstract_value *abstract_both(struct abstract_values *all,
					   const struct abstract_value *one,
					   const struct abstract_value *other);

/* The first of a kind, or NULL; the one of the same kind behind ONE. */
const struct abstract_value *abstract_of_kind(const struct abstract_value *value,
					      enum abstract_kind kind);
const struct abstract_value *abstract_next(const struct abstract_value *one);
/* Whether it may be something else, too, that is not kept. */
bool abstract_has_more(const struct abstract_value *value);
bool abstract_is_text(const struct abstract_value *value, const char *text);

/* Adds a meaning to a name; NULL: only that the name is one of the program's own. */
void abstract_values_define(struct abstract_values *all, const char *name, size_t len,
			    const struct abstract_value *value);
/* Puts MEANING in the place of what the name meant; NULL leaves that as it is. */
void abstract_values_replace(struct abstract_values *all, const char *name, size_t len,
			     const struct abstract_value *value);
/* False when the program never defines the name. */
bool abstract_values_look_up(const struct abstract_values *all, const char *name, size_t len,
			     const struct abstract_value **ret_meaning);

#endif
