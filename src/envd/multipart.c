/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data in pieces. */
#include "envd/multipart.h"

#include "base/core/own.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY_MAX 70
#define HEADERS_MAX 16384

bool multipart_init(struct multipart *form, const char *type)
{
	const char *at = strcasestr(type, "boundary=");

	*form = (struct multipart){ .state = MULTIPART_BEFORE };
	if (strncasecmp(type, "multipart/form-data", 19) != 0 || !at)
		return false;
	at += strlen("boundary=");
	at += *at == '"';
	size_t len = strcspn(at, "\"; \t");

	if (len == 0 || len > BOUNDARY_MAX)
		return false;
	(void)snprintf(form->mark, sizeof(form->mark), "\r\n--%.*s", (int)len, at);
	/* The first one may stand at the very beginning. */
	str_add(&form->left, "\r\n");
	return true;
}

void multipart_done(struct multipart *form)
{
	str_done(&form->left);
}

/* The file name in a part's headers, with what browsers and clients escape in it. */
static char *name_in(const char *headers)
{
	const char *at = strcasestr(headers, "filename=\"");
	struct str name = STR_INIT;

	for (at = at ? at + strlen("filename=\"") : ""; *at && *at != '"'; at++) {
		if (strncmp(at, "%22", 3) == 0) {
			str_add_char(&name, '"');
			at += 2;
		} else {
			at += *at == '\\' && (at[1] == '"' || at[1] == '\\');
			str_add_char(&name, *at);
		}
	}
	return str_detach(&name);
}

/* 1: go on, 0: more bytes are needed, -1: stop. */
static int find_mark(struct multipart *form)
{
	struct str *left = &form->left;
	size_t mark = strlen(form->mark);
	const char *at = left->len ? memmem(left->data, left->len, form->mark, mark) : NULL;
	size_t sure = at ? (size_t)(at - left->data) : left->len > mark ? left->len - mark : 0;

	if (form->state == MULTIPART_CONTENT && sure > 0 &&
	    !form->part(form->cookie, left->data, sure))
		return -1;
	if (!at) {
		str_drop_front(left, sure);
		return 0;
	}
	/* What stands behind the mark tells whether it is the last one. */
	if (left->len < sure + mark + 2) {
		str_drop_front(left, sure);
		return 0;
	}
	if (form->state == MULTIPART_CONTENT && !form->end(form->cookie))
		return -1;
	bool is_last = memcmp(at + mark, "--", 2) == 0;

	if (!is_last && memcmp(at + mark, "\r\n", 2) != 0)
		return -1;
	str_drop_front(left, sure + mark + (is_last ? 2 : 0));
	form->state = is_last ? MULTIPART_OVER : MULTIPART_HEADERS;
	return 1;
}

static int read_headers(struct multipart *form)
{
	struct str *left = &form->left;
	const char *end = memmem(left->data, left->len, "\r\n\r\n", 4);

	if (!end)
		return left->len > HEADERS_MAX ? -1 : 0;
	owned(free_ptr) char *headers = xstrndup(left->data, (size_t)(end - left->data));
	owned(free_ptr) char *name = name_in(headers);

	str_drop_front(left, (size_t)(end - left->data) + 4);
	form->state = MULTIPART_CONTENT;
	return form->begin(form->cookie, name) ? 1 : -1;
}

bool multipart_take(struct multipart *form, const char *bytes, size_t len)
{
	int more = 1;

	if (form->state == MULTIPART_OVER)
		return true;
	str_add_bytes(&form->left, bytes, len);
	while (more > 0 && form->state != MULTIPART_OVER)
		more = form->state == MULTIPART_HEADERS ? read_headers(form) : find_mark(form);
	return more >= 0;
}
