/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an expression means, as far as that is known without running it: a dotted path of names, a constant text, a number,
 * a list. A name may mean several things; all of them are kept.
 */
#ifndef SCAN_MEANING_H
#define SCAN_MEANING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum meaning_kind { MEANS_PATH, MEANS_TEXT, MEANS_NUMBER, MEANS_LIST };

struct meaning {
	enum meaning_kind kind;
	bool is_built;	  /* made from pieces, decoded, or reached by a text: disguised */
	bool has_more;	  /* it may also be what there was no room for, which was less grave */
	uint8_t weight;	  /* one more than its weight; 0: not computed yet */
	const char *text; /* path or text; NUL-terminated as well */
	uint32_t len;
	uint32_t node; /* of lists */
	int64_t number;
	const struct meaning *also; /* what else it may mean */
};

/* All meanings of one text, freed at once. */
struct meanings {
	struct meaning_block *blocks;
	struct name_slot *slots; /* hash of names */
	uint32_t slot_count, name_count;
	size_t bytes;
	/* How grave it is to mean this; may be NULL. Where there is no room for all, the gravest stay. */
	unsigned (*weigh)(const struct meaning *meaning);
	bool is_full; /* nothing more is remembered: the text is not analysable */
};

#define MEANING_TEXT_MAX 16384u
#define MEANING_PATH_MAX 200u
#define MEANING_BYTES_MAX ((size_t)8 << 20)
#define MEANING_ALSO_MAX 8u
/* The path of a function that is written there and then. */
#define MEANING_FUNCTION "(function)"

void meanings_init(struct meanings *all);
void meanings_done(struct meanings *all);

/* A copy; NULL when it is too long. */
struct meaning *meaning_new(struct meanings *all, enum meaning_kind kind, const char *text,
			    size_t len);
struct meaning *meaning_number(struct meanings *all, int64_t number);
struct meaning *meaning_list(struct meanings *all, uint32_t node);
/* "a.b" from "a" and "b"; either may be long. */
struct meaning *meaning_member(struct meanings *all, const struct meaning *of, const char *name,
			       size_t len);
/*
 * One chain of both, at most MEANING_ALSO_MAX long; paths are kept rather than others, and of one kind the graver ones.
 */
const struct meaning *meaning_both(struct meanings *all, const struct meaning *one,
				   const struct meaning *other);

/* The first of a kind, or NULL; the one of the same kind behind ONE. */
const struct meaning *meaning_of_kind(const struct meaning *meaning, enum meaning_kind kind);
const struct meaning *meaning_next(const struct meaning *one);
/* Whether it may be something else, too, that is not kept. */
bool meaning_has_more(const struct meaning *meaning);
bool meaning_is_text(const struct meaning *meaning, const char *text);

/* Adds a meaning to a name; NULL: only that the name is one of the program's own. */
void meanings_define(struct meanings *all, const char *name, size_t len,
		     const struct meaning *meaning);
/* Puts MEANING in the place of what the name meant; NULL leaves that as it is. */
void meanings_replace(struct meanings *all, const char *name, size_t len,
		      const struct meaning *meaning);
/* False when the program never defines the name. */
bool meanings_look_up(const struct meanings *all, const char *name, size_t len,
		      const struct meaning **ret_meaning);

#endif
