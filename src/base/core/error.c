/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: setting, wrapping, and the one table of exit statuses. */
#include "base/core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Between what happened and the way out. */
#define HINT_MARK "; "

struct code_row {
	const char *name;
	int exit_status;
	int run_exit_status;
};

static const struct code_row code_rows[] = {
	[ERROR_NONE] = { "none", 0, 0 },
	[ERROR_USAGE] = { "usage", 2, 125 },
	[ERROR_INPUT] = { "input", 2, 125 },
	[ERROR_NOT_FOUND] = { "not_found", 5, 125 },
	[ERROR_EXEC_NOT_FOUND] = { "command_not_found", 127, 127 },
	[ERROR_EXEC_REFUSED] = { "command_not_executable", 126, 126 },
	[ERROR_DENIED] = { "denied", 4, 125 },
	[ERROR_CONFLICT] = { "conflict", 3, 125 },
	[ERROR_CONSENT] = { "consent", 4, 125 },
	[ERROR_BUSY] = { "busy", 70, 125 },
	[ERROR_HOST] = { "host", 70, 125 },
	[ERROR_INTERNAL] = { "internal", 70, 125 },
	[ERROR_LIBRARIES] = { "libraries", 70, 125 },
};

__attribute__((format(printf, 2, 0))) static void format_text(struct error *err, const char *format,
							      va_list args)
{
	if (vsnprintf(err->text, sizeof(err->text), format, args) < 0)
		err->text[0] = '\0';
}

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
	va_list args;

	err->code = code;
	err->errnum = 0;
	err->hint_at = 0;
	va_start(args, format);
	format_text(err, format, args);
	va_end(args);
	return -1;
}

int error_add_hint(struct error *err, const char *format, ...)
{
	size_t used = strlen(err->text), at = used + strlen(HINT_MARK);
	va_list args;
	int len;

	/* Half a way out is none. */
	if (at >= sizeof(err->text))
		return -1;
	memcpy(err->text + used, HINT_MARK, sizeof(HINT_MARK));
	va_start(args, format);
	len = vsnprintf(err->text + at, sizeof(err->text) - at, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(err->text) - at)
		err->text[used] = '\0';
	else
		err->hint_at = (unsigned)at;
	return -1;
}

int error_advise(struct error *err, enum error_code code, const char *hint, const char *format, ...)
{
	va_list args;

	err->code = code;
	err->errnum = 0;
	err->hint_at = 0;
	va_start(args, format);
	format_text(err, format, args);
	va_end(args);
	return error_add_hint(err, "%s", hint);
}

const char *error_hint(const struct error *err)
{
	return err->hint_at ? err->text + err->hint_at : NULL;
}

int error_said(const struct error *err)
{
	return (int)(err->hint_at ? err->hint_at - strlen(HINT_MARK) : strlen(err->text));
}

const char *error_words(int errnum)
{
	const char *words = strerrordesc_np(errnum);

	return words ? words : "unknown error";
}

int error_errno(struct error *err, enum error_code code, const char *format, ...)
{
	int errnum = errno;
	size_t used;
	va_list args;

	err->code = code;
	err->errnum = errnum;
	err->hint_at = 0;
	va_start(args, format);
	format_text(err, format, args);
	va_end(args);
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", error_words(errnum));
	/* The caller's own limits say no, and only the caller can do something about it. */
	if (errnum == EMFILE || errnum == ETOOMANYREFS)
		(void)error_add_hint(err, "raise ulimit -n, or hand fewer of them down");
	return -1;
}

int error_context(struct error *err, const char *format, ...)
{
	char before[sizeof(err->text)];
	size_t used;
	va_list args;

	memcpy(before, err->text, sizeof(before));
	va_start(args, format);
	format_text(err, format, args);
	va_end(args);
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %.*s",
		       (int)(sizeof(err->text) - 3 - (used < 480 ? used : 480)), before);
	/* A way out that was cut off is none. */
	if (used + 2 + strlen(before) >= sizeof(err->text))
		err->hint_at = 0;
	if (err->hint_at)
		err->hint_at += (unsigned)used + 2;
	return -1;
}

bool error_is_sane(const struct error *err)
{
	size_t len = strnlen(err->text, sizeof(err->text));
	unsigned code = (unsigned)err->code;

	return code > ERROR_NONE && code < sizeof(code_rows) / sizeof(code_rows[0]) &&
	       len < sizeof(err->text) &&
	       (err->hint_at == 0 || (err->hint_at >= strlen(HINT_MARK) && err->hint_at < len));
}

const char *error_code_name(enum error_code code)
{
	return code_rows[code].name;
}

int error_exit_status(enum error_code code)
{
	return code_rows[code].exit_status;
}

int error_run_exit_status(enum error_code code)
{
	return code_rows[code].run_exit_status;
}
