/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a process that serves: as text, as JSON, or by the journal's own socket. */
#include "base/process/service_log.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define JOURNAL "/run/systemd/journal/socket"

static const char *const level_names[] = { [SERVICE_ERROR] = "error",
					   [SERVICE_WARNING] = "warning",
					   [SERVICE_NOTICE] = "notice",
					   [SERVICE_INFO] = "info",
					   [SERVICE_DEBUG] = "debug" };

static struct {
	enum service_level level;
	bool is_json;
} chosen = { .level = SERVICE_NOTICE };

int service_log_open(const char *format, const char *level, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	unsigned found = SERVICE_ERROR;

	if (format && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
		return error_set(err, ERROR_USAGE, "--log-format: '%s' is none of text and json",
				 str_shown(format, shown));
	while (level && found <= SERVICE_DEBUG && strcmp(level_names[found], level) != 0)
		found++;
	if (found > SERVICE_DEBUG)
		return error_set(err, ERROR_USAGE,
				 "--log-level: '%s' is none of error, warning, notice, info and "
				 "debug",
				 str_shown(level, shown));
	chosen.level = level ? (enum service_level)found : SERVICE_NOTICE;
	chosen.is_json = format && strcmp(format, "json") == 0;
	return 0;
}

/* JOURNAL_STREAM is inherited beyond a redirection: only the numbers of the file show whether it is still about stderr. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	(void)snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev,
		       (unsigned long long)st.st_ino);
	return strcmp(stream, own) == 0;
}

bool service_log_is_structured(void)
{
	return chosen.is_json || is_journal();
}

/* With its length ahead, so that no newline in a value begins another field. */
static void add_entry(struct str *out, const char *key, const char *text)
{
	uint64_t len = strlen(text);
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(len >> (8 * i));
	for (; *key; key++)
		str_add_char(out, (char)toupper((unsigned char)*key));
	str_add_char(out, '\n');
	str_add_bytes(out, bytes, sizeof(bytes));
	str_add_bytes(out, text, len);
	str_add_char(out, '\n');
}

static const char *text_of(const struct service_field *field, char number[static 24])
{
	(void)snprintf(number, 24, "%lld", (long long)field->number);
	return field->text ? field->text : number;
}

/* Whether the journal has taken it. It is never waited for. */
static bool send_entries(enum service_level level, const char *message,
			 const struct service_field *fields)
{
	const struct sockaddr_un place = { .sun_family = AF_UNIX, .sun_path = JOURNAL };
	owned(fd_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	owned(str_done) struct str out = STR_INIT;
	char number[24];

	(void)snprintf(number, sizeof(number), "%d", (int)level);
	add_entry(&out, "message", message);
	add_entry(&out, "priority", number);
	add_entry(&out, "syslog_identifier", "aisbx");
	for (; fields && fields->key; fields++) {
		owned(free_ptr) char *key = xasprintf("aisbx_%s", fields->key);

		add_entry(&out, key, text_of(fields, number));
	}
	return fd >= 0 &&
	       sendto(fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&place, sizeof(place)) == (ssize_t)out.len;
}

static void write_json(struct str *out, enum service_level level, const char *message,
		       const struct service_field *fields)
{
	struct json json;
	char now[32];

	time_format_utc(clock_epoch_ms(), now);
	json_init(&json, out);
	json_open(&json, '{');
	json_key(&json, "time");
	json_text(&json, now);
	json_key(&json, "level");
	json_text(&json, level_names[level]);
	json_key(&json, "message");
	json_text(&json, message);
	for (; fields && fields->key; fields++) {
		json_key(&json, fields->key);
		if (fields->text)
			json_text(&json, fields->text);
		else
			json_int(&json, fields->number);
	}
	json_close(&json, '}');
}

static void write_text(struct str *out, const char *message, const struct service_field *fields)
{
	char number[24];

	str_addf(out, "aisbx: %s", message);
	for (; fields && fields->key; fields++)
		str_addf(out, " %s=%s", fields->key, text_of(fields, number));
	/* One line, and nothing that a terminal obeys. */
	for (size_t i = 0; i < out->len; i++) {
		if ((unsigned char)out->data[i] < 0x20 || out->data[i] == 0x7f)
			out->data[i] = '?';
	}
}

void service_log(enum service_level level, const char *message, const struct service_field *fields)
{
	owned(str_done) struct str line = STR_INIT;

	if (level > chosen.level || (is_journal() && send_entries(level, message, fields)))
		return;
	if (chosen.is_json)
		write_json(&line, level, message, fields);
	else
		write_text(&line, message, fields);
	str_add_char(&line, '\n');
	(void)fd_write_all(STDERR_FILENO, line.data, line.len);
}
