/* SPDX-License-Identifier: Apache-2.0 */
/* Growable text and allocation that aborts when memory is out. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct str {
	char *data; /* always NUL-terminated once anything was added; NULL when empty and new */
	size_t len;
	size_t cap;
};

#define STR_INIT           \
	{                  \
		NULL, 0, 0 \
	}

/* Frees the text; the struct can be used again. */
void str_done(struct str *text);
/* Forgets the text, keeps the memory. */
void str_clear(struct str *text);
void str_add_bytes(struct str *text, const void *bytes, size_t len);
void str_add(struct str *text, const char *more);
void str_add_char(struct str *text, char c);
void str_addf(struct str *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Removes everything beyond len. */
void str_truncate(struct str *text, size_t len);
/* Removes the first LEN bytes; what is behind them moves up. */
void str_drop_front(struct str *text, size_t len);
/*
 * A consumer that takes the text from its front has used LEN more bytes behind *AT. Used bytes are dropped once they are
 * the larger part, so that a consumer that never catches up does not make us keep all; with nothing left, a large buffer is
 * freed.
 */
void str_pass(struct str *text, size_t *at, size_t len);
/* The text as a C string, "" when nothing was added. Owned by the struct. */
const char *str_cstr(const struct str *text);
/* Hands the heap text to the caller and leaves the struct empty. Never NULL. */
char *str_detach(struct str *text);

/* malloc, realloc, strdup, asprintf that abort with a message when memory is out. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t len);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* NULL-terminated vectors of owned strings (argv, environ). */
struct strv {
	char **items; /* NULL-terminated, or NULL when empty and new */
	size_t count;
	size_t room; /* for so many, the NULL included */
};

#define STRV_INIT          \
	{                  \
		NULL, 0, 0 \
	}

void strv_done(struct strv *list);
void strv_add(struct strv *list, const char *item);
/* Adds an owned heap string. */
void strv_take(struct strv *list, char *item);
void strv_addf(struct strv *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the command that runs SCRIPT by a shell. */
void strv_add_script(struct strv *list, const char *script);
void strv_copy(struct strv *to, const struct strv *from);
bool strv_has(const struct strv *list, const char *item);
/* By their bytes. */
void strv_sort(struct strv *list);
/* As strv_has, of a sorted list. */
bool strv_has_sorted(const struct strv *list, const char *item);

#define STR_SHOWN_SIZE 72

/*
 * The start of a foreign word, fit for a message: control bytes become '?', what is too long ends in "...".
 * Returns BUFFER. No heap.
 */
const char *str_shown(const char *text, char buffer[static STR_SHOWN_SIZE]);

/* Whether they are the same text; NULL is the same as NULL only. */
bool str_same(const char *one, const char *other);
bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

#endif
