/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the store as text: written, read back, and never believed to be whole without their last line. */
#include "workspace/disk/fields.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define LAST_LINE "end\n"

void fields_begin(struct str *text, const char *kind)
{
	str_addf(text, "%s\n", kind);
}

void fields_put(struct str *text, const char *key, const char *value)
{
	str_addf(text, "%s ", key);
	for (const char *at = value; *at; at++) {
		if (*at == '\n')
			str_add(text, "\\n");
		else if (*at == '\\')
			str_add(text, "\\\\");
		else
			str_add_char(text, *at);
	}
	str_add_char(text, '\n');
}

void fields_put_number(struct str *text, const char *key, uint64_t number)
{
	str_addf(text, "%s %" PRIu64 "\n", key, number);
}

void fields_end(struct str *text)
{
	str_add(text, LAST_LINE);
}

/* Takes the escapes out in place; false when there is one that is never written. */
static bool unescape(char *value)
{
	char *to = value;

	for (const char *at = value; *at; at++) {
		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		at++;
		if (*at != 'n' && *at != '\\')
			return false;
		*to++ = *at == 'n' ? '\n' : '\\';
	}
	*to = '\0';
	return true;
}

/* One line, its end already cut off. */
static bool add_line(struct fields *fields, char *line)
{
	char *blank = strchr(line, ' ');

	if (!blank || blank == line || fields->count == FIELDS_COUNT_MAX)
		return false;
	*blank = '\0';
	if (!unescape(blank + 1))
		return false;
	/* Grown by doubling: powers of two are when there is no room left. */
	if ((fields->count & (fields->count - 1)) == 0)
		fields->items = xrealloc(fields->items, fields->count ? fields->count * 2 : 1,
					 sizeof(fields->items[0]));
	fields->items[fields->count++] = (struct field){ line, blank + 1 };
	return true;
}

static bool parse_lines(struct fields *fields, const char *kind)
{
	char *line = fields->text;

	for (bool is_first = true;; is_first = false) {
		char *end = strchr(line, '\n');

		if (!end)
			return false;
		*end = '\0';
		if (is_first && strcmp(line, kind) != 0)
			return false;
		if (!is_first && strcmp(line, "end") == 0)
			return end[1] == '\0';
		if (!is_first && !add_line(fields, line))
			return false;
		line = end + 1;
	}
}

int fields_parse(const char *bytes, size_t len, const char *kind, struct fields *ret_fields,
		 struct error *err)
{
	struct fields fields = { 0 };

	if (len > FIELDS_BYTES_MAX || (len > 0 && memchr(bytes, '\0', len)))
		return error_set(err, ERROR_INPUT, "damaged: not a record of '%s'", kind);
	fields.text = xstrndup(len > 0 ? bytes : "", len);
	if (!parse_lines(&fields, kind)) {
		fields_done(&fields);
		return error_set(err, ERROR_INPUT, "damaged: not a whole record of '%s'", kind);
	}
	*ret_fields = fields;
	return 0;
}

void fields_done(struct fields *fields)
{
	free(fields->items);
	free(fields->text);
	*fields = (struct fields){ 0 };
}

const char *fields_get(const struct fields *fields, const char *key)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (strcmp(fields->items[i].key, key) == 0)
			return fields->items[i].value;
	}
	return "";
}

uint64_t fields_number(const struct fields *fields, const char *key)
{
	const char *text = fields_get(fields, key);
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);

	return errno == 0 && *end == '\0' ? number : 0;
}

bool fields_copy(const struct fields *fields, const char *key, char *buffer, size_t size)
{
	const char *value = fields_get(fields, key);
	size_t len = strlen(value);

	if (len >= size)
		return false;
	memcpy(buffer, value, len + 1);
	return true;
}

int fields_read_bytes(int dir_fd, const char *name, size_t max, struct str *ret_text,
		      struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	/* What cannot be opened at all without following or waiting: a link, a socket. */
	if (fd < 0 && (errno == ELOOP || errno == ENXIO))
		return error_set(err, ERROR_INPUT, "%s: not a regular file", name);
	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", name);
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_INPUT, "%s: not a regular file", name);
	if (st.st_size > (off_t)max)
		return error_set(err, ERROR_INPUT, "%s: larger than %zu bytes", name, max);
	if (fd_read_all(fd, max, ret_text) < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	return 0;
}

int fields_read(int dir_fd, const char *name, const char *kind, struct fields *ret_fields,
		struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (fields_read_bytes(dir_fd, name, FIELDS_BYTES_MAX, &text, err) < 0)
		return -1;
	if (fields_parse(str_cstr(&text), text.len, kind, ret_fields, err) < 0)
		return error_context(err, "%s", name);
	return 0;
}
