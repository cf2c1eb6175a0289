/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, moments and sizes as words for people: what several verbs show alike. */
#ifndef OPS_WORDS_H
#define OPS_WORDS_H

#include "base/core/str.h"
#include "base/core/value.h"

#include <stdint.h>

/* As git prints a path: quoted, with escapes, when it holds anything that could deceive. */
void words_add_path(struct str *out, const char *path);

/* A path as words_add_path printed it, or as it is. Owned by the caller; NULL when the quoting is broken. */
char *words_read_path(const char *word);

/* A path as a word for a shell, such as `promote` takes: quoted where it must be, "./" in front of a dash. */
void words_add_shell(struct str *out, const char *path);

/* TEXT on one line: control bytes become \xHH. */
void words_add_line(struct str *out, const char *text);

/*
 * Foreign text in a message of ours: in quotes, on one line, at most MAX characters; invisible characters and those that
 * reorder text become \u{HEX}.
 */
void words_add_quoted(struct str *out, const char *text, size_t max);

/* A command from a list of its words, on one line of at most MAX bytes; "..." ends what is cut. */
void words_add_command(struct str *out, const struct value *words, size_t max);

/* How long ago, roughly: "just now", "15 min ago", "3 h ago", "2 days ago". THEN in ms since the epoch; 0: "unknown". */
void words_add_age(struct str *out, uint64_t then_ms);

/* How long until then: "30 s left", "5 h left", "7 d left"; "due" once that is past. */
void words_add_left(struct str *out, uint64_t until_ms);

/* The moment that value_get_text(row, KEY) names ("2026-11-15T00:00:00.000Z"), in ms since the epoch; 0 for none. */
uint64_t words_moment(const struct value *row, const char *key);

/* "4 KiB", "1.5 MiB". */
void words_add_size(struct str *out, int64_t bytes);

/* Rows of COLUMNS cells each, the first one the titles, aligned; nothing at the end of a line. */
void words_add_table(struct str *out, const struct strv *cells, size_t columns);

#endif
