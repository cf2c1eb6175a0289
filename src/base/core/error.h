/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as plain values: filled by the failing call, wrapped on the way up, shown once by a front end. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

enum error_code {
	ERROR_NONE = 0,
	ERROR_USAGE,	      /* the caller's words are wrong: flag, size, name */
	ERROR_INPUT,	      /* a file or message given to us is malformed */
	ERROR_NOT_FOUND,      /* a named thing does not exist */
	ERROR_EXEC_NOT_FOUND, /* the command does not exist inside: exit 127 */
	ERROR_EXEC_REFUSED,   /* the command cannot be executed inside: exit 126 */
	ERROR_DENIED,	      /* policy or a missing layer refuses the request */
	ERROR_CONFLICT,	      /* the host moved */
	ERROR_CONSENT,	      /* a person must agree first */
	ERROR_BUSY,	      /* too many run and wait already */
	ERROR_HOST,	      /* a kernel call failed */
	ERROR_INTERNAL,	      /* our own mistake */
	ERROR_LIBRARIES,      /* only the program with libraries can do this; never shown */
};

/* Plain bytes below PIPE_BUF, so that a child can send one up a pipe in one atomic write. */
#define ERROR_TEXT_SIZE 500

struct error {
	enum error_code code;
	int errnum;
	unsigned hint_at; /* where in text the way out begins, behind "; "; 0: none is known */
	char text[ERROR_TEXT_SIZE];
};

/* Fills *err and returns -1, so that callers can write `return error_set(...)`. */
int error_set(struct error *err, enum error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the way out: HINT is a command or a change to make, written by us: names from outside must not be in it. */
int error_advise(struct error *err, enum error_code code, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds the way out to what is set already; returns -1. */
int error_add_hint(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The way out, in ERR; NULL when none is known. */
const char *error_hint(const struct error *err);

/* How much of the text comes before the way out. */
int error_said(const struct error *err);

/* The C library's text of an error number, whatever the locale; never NULL. No heap: safe between clone and exec. */
const char *error_words(int errnum);

/* As error_set, appending error_words(errno) and keeping errno in errnum. */
int error_errno(struct error *err, enum error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " in front of the text already there; returns -1. */
int error_context(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether the bytes of ERR, which another process sent, are an error: a known code, a text that ends, a hint in it. */
bool error_is_sane(const struct error *err);

/* Stable lower-case name of a code ("usage", "not_found"), for JSON. */
const char *error_code_name(enum error_code code);

/* Exit status of verbs other than run, exec and try. */
int error_exit_status(enum error_code code);

/* Exit status of run, exec and try: every failure of our own is 125. */
int error_run_exit_status(enum error_code code);

#endif
