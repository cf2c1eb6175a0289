/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a process that serves: one line for each message on stderr, or one record in the journal when stderr is that.
 *
 *   text     aisbx: MESSAGE KEY=VALUE ...
 *   json     {"time":"2026-11-15T00:00:00.000Z","level":"info","message":"MESSAGE","KEY":"VALUE",...}
 *   journal  MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, and AISBX_KEY for each field
 *
 * Messages and fields hold words and numbers of ours and names of tools, helpers and sandboxes: no argument, no path, no secret.
 */
#ifndef BASE_SERVICE_LOG_H
#define BASE_SERVICE_LOG_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The journal's numbers. */
enum service_level {
	SERVICE_ERROR = 3,
	SERVICE_WARNING,
	SERVICE_NOTICE,
	SERVICE_INFO,
	SERVICE_DEBUG
};

struct service_field {
	const char *key;  /* small letters and _ */
	const char *text; /* NULL: it is the number */
	int64_t number;
};

/* For service_log: SERVICE_FIELDS(SERVICE_TEXT("tool", name), SERVICE_NUMBER("ms", 12)). */
#define SERVICE_TEXT(name, word)              \
	{                                     \
		.key = (name), .text = (word) \
	}
#define SERVICE_NUMBER(name, count)                       \
	{                                                 \
		.key = (name), .number = (int64_t)(count) \
	}
#define SERVICE_FIELDS(...) ((const struct service_field[]){ __VA_ARGS__, { 0 } })

/* By the words of --log-format and --log-level, either of which may be NULL: text, and notice. ERROR_USAGE for any other word. */
int service_log_open(const char *format, const char *level, struct error *err);

/* Whether lines that other programs write to stderr have to be made records: they are lines of text. */
bool service_log_is_structured(void);

/* FIELDS end with one without a key; NULL: none. What is below the level is left out. There is nowhere to report a failure. */
void service_log(enum service_level level, const char *message, const struct service_field *fields);

#endif
