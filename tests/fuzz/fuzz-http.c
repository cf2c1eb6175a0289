/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes heads of HTTP requests: what was accepted and is sent on must be read alike again, with one Host and one end. */
#include "net/rule/http.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static void check(const char *bytes, const struct http_head *head, const struct http_secret *secret)
{
	static char out[HTTP_OUT_MAX];
	size_t len = http_write(bytes, head, secret, out);
	struct http_head again;

	/* Near the limit the added header is the one too many. */
	if (len > sizeof(out))
		abort();
	if (len > HTTP_HEAD_MAX || secret)
		return;
	if (http_read(out, len, &again) != HTTP_WHOLE || again.len != len)
		abort();
	if (!same_text(again.method, again.method_len, head->method, head->method_len) ||
	    !same_text(again.path, again.path_len, head->path, head->path_len) ||
	    strcmp(again.name, head->name) != 0 || again.body != head->body ||
	    again.body_len != head->body_len || again.upgrades)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct http_secret secret = { "Authorization", "s3cret" };
	const char *bytes = (const char *)data;
	struct http_head head;
	enum http_state state = http_read(bytes, size, &head);
	uint64_t chunk;
	size_t len;

	if (state == HTTP_WHOLE && head.len > size)
		abort();
	if (state == HTTP_BAD && !head.why)
		abort();
	if (state == HTTP_WHOLE) {
		check(bytes, &head, NULL);
		check(bytes, &head, &secret);
	}
	if (http_read_chunk(bytes, size, &chunk, &len) == HTTP_WHOLE && len > size)
		abort();
	(void)http_path_is_plain(bytes, size);
	return 0;
}
