/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as a text that a person keeps: something is put in or taken out, every other byte stays. Comments and a comma behind
 * the last member are understood. Bytes in, places out; no I/O.
 */
#ifndef APP_AGENT_JSON_TEXT_H
#define APP_AGENT_JSON_TEXT_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>

#define JSON_TEXT_DEPTH 64

/* A value, and where the member that holds it begins: at its key, or where the value does. */
struct json_place {
	size_t member, start, end;
};

/*
 * The value at KEYS, counted from the top: 1. 0 when there is none: *ret_place is then the deepest one on the way, *ret_depth
 * how many keys led there. -1 for what is no JSON, or where a key leads into something that is no object.
 */
int json_text_find(const struct str *text, const struct strv *keys, struct json_place *ret_place,
		   size_t *ret_depth, struct error *err);

/* Whether nothing but blanks lies in the object or list. */
bool json_text_is_empty(const struct str *text, const struct json_place *place);

/*
 * CORE becomes the first in the object or list at PLACE, indented for DEPTH. *ret_full is what was inserted; CORE lies in
 * it behind *ret_lead bytes.
 */
void json_text_insert(struct str *text, const struct json_place *place, const char *core,
		      size_t depth, struct str *ret_full, size_t *ret_lead);

/* Takes out the member from START to END, with the comma and the blanks that belong to it. */
void json_text_remove(struct str *text, size_t start, size_t end);

/* Bytes FROM to TO of TEXT become MORE. */
void json_text_splice(struct str *text, size_t from, size_t to, const char *more);

#endif
