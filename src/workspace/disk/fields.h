/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files of the store as text: a line with its type, "key value" lines, "end".
 *
 * A file without its last line was cut short. Backslash and newline in values are written as \\ and \n; keys may come
 * again (lists). Readers ignore keys they do not know.
 */
#ifndef WORKSPACE_FIELDS_H
#define WORKSPACE_FIELDS_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIELDS_BYTES_MAX (256u << 10)
#define FIELDS_COUNT_MAX 8192u

struct fields {
	char *text; /* owned; what keys and values point into */
	struct field {
		const char *key, *value;
	} * items;
	size_t count;
};

void fields_begin(struct str *text, const char *kind);
void fields_put(struct str *text, const char *key, const char *value);
void fields_put_number(struct str *text, const char *key, uint64_t number);
void fields_end(struct str *text);

/* KIND is what the first line must say. ERROR_INPUT for anything that was not written whole by the above. */
int fields_parse(const char *bytes, size_t len, const char *kind, struct fields *ret_fields,
		 struct error *err);
void fields_done(struct fields *fields);

/* The first value of KEY, "" when there is none. */
const char *fields_get(const struct fields *fields, const char *key);
/* As a number; 0 when there is none or it is not one. */
uint64_t fields_number(const struct fields *fields, const char *key);
/* Into a buffer; false when it does not fit. */
bool fields_copy(const struct fields *fields, const char *key, char *buffer, size_t size);

/* Reads regular file NAME below DIR_FD, never following, never waiting; ERROR_NOT_FOUND when it is not there. */
int fields_read(int dir_fd, const char *name, const char *kind, struct fields *ret_fields,
		struct error *err);
/* The same without parsing: any small file of the store. */
int fields_read_bytes(int dir_fd, const char *name, size_t max, struct str *ret_text,
		      struct error *err);

#endif
