/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the spec by name, kind and place: the table that writing and reading share. */
#ifndef SPEC_CODEC_FIELD_H
#define SPEC_CODEC_FIELD_H

#include <stddef.h>

enum field_kind {
	FIELD_TEXT,  /* char *, NULL is null */
	FIELD_TEXTS, /* struct strv */
	FIELD_BOOL,
	FIELD_U32,
	FIELD_U64,
	FIELD_ENUM,    /* an int-sized enumeration, by its names */
	FIELD_LAYERS,  /* uint32_t, a bit per layer, as a list of names */
	FIELD_RECORD,  /* a struct inside */
	FIELD_RECORDS, /* pointer to structs; the count follows at `count_offset` */
};

struct record;

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset;
	const char *const *names;    /* FIELD_ENUM: ended by NULL, in the order of the values */
	const struct record *record; /* FIELD_RECORD, FIELD_RECORDS */
	size_t count_offset;
};

struct record {
	const struct field *fields; /* ended by a row without a name */
	size_t size;
};

extern const struct record spec_record;

#endif
