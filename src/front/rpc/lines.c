/* SPDX-License-Identifier: Apache-2.0 */
/* Newline-delimited messages: found, bounded, thrown away when too long. */
#include "front/rpc/lines.h"

#include <stdint.h>
#include <string.h>

/* Memory that one large message took is given back afterwards. */
#define BUFFER_KEPT 65536

void rpc_lines_add(struct rpc_lines *lines, const char *bytes, size_t len)
{
	struct str *buffer = &lines->buffer;

	if (lines->at > 0) {
		str_drop_front(buffer, lines->at);
		lines->seen -= lines->at;
		lines->at = 0;
		if (buffer->len == 0 && buffer->cap > BUFFER_KEPT)
			str_done(buffer);
	}
	str_add_bytes(buffer, bytes, len);
}

/* Everything that is there belongs to a line that is too long. */
static enum rpc_line skip(struct rpc_lines *lines)
{
	str_done(&lines->buffer);
	lines->at = lines->seen = 0;
	lines->is_skipping = true;
	return RPC_LINE_TOO_LONG;
}

/* No end is in sight: the beginning of a line is waited for, unless it is too long already. */
static enum rpc_line wait_for_end(struct rpc_lines *lines, size_t max)
{
	const struct str *buffer = &lines->buffer;

	lines->seen = buffer->len;
	if (lines->is_skipping)
		lines->at = buffer->len;
	else if (buffer->len - lines->at > max)
		return skip(lines);
	return RPC_LINE_NONE;
}

enum rpc_line rpc_lines_next(struct rpc_lines *lines, size_t max, const char **ret_line,
			     size_t *ret_len)
{
	struct str *buffer = &lines->buffer;

	while (lines->at < buffer->len) {
		const char *start = buffer->data + lines->at;
		const char *end =
			memchr(buffer->data + lines->seen, '\n', buffer->len - lines->seen);
		bool skipped = lines->is_skipping;
		size_t len;

		if (!end)
			return wait_for_end(lines, max);
		len = (size_t)(end - start);
		lines->at += len + 1;
		lines->seen = lines->at;
		lines->is_skipping = false;
		if (!skipped && len > max)
			return RPC_LINE_TOO_LONG;
		if (len > 0 && start[len - 1] == '\r')
			len--;
		/* An empty line is ignored: it is no message, and no mistake worth an answer. */
		if (skipped || len == 0)
			continue;
		*ret_line = start;
		*ret_len = len;
		return RPC_LINE_WHOLE;
	}
	return RPC_LINE_NONE;
}

void rpc_lines_done(struct rpc_lines *lines)
{
	str_done(&lines->buffer);
	*lines = (struct rpc_lines){ .at = 0 };
}
