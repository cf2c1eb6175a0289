/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the kept output of a run. */
#include "observe/kept_log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "o 31536000.000 67108864": longer ones were not written by us. */
#define HEAD_MAX 64
#define FRAME_MAX ((size_t)1 << 30)

static int parse_head(const char *head, size_t head_len, struct kept_frame *frame)
{
	char text[HEAD_MAX + 1], *end;
	unsigned long long len;

	memcpy(text, head, head_len);
	text[head_len] = '\0';
	if ((text[0] != 'o' && text[0] != 'e') || text[1] != ' ' || text[2] < '0' || text[2] > '9')
		return -1;
	frame->stream = text[0];
	frame->at_s = strtod(text + 2, &end);
	if (*end != ' ' || end[1] < '0' || end[1] > '9')
		return -1;
	len = strtoull(end + 1, &end, 10);
	if (*end || len > FRAME_MAX)
		return -1;
	frame->len = (size_t)len;
	return 0;
}

int kept_log_head(const char *buffer, size_t len, struct kept_frame *ret_frame,
		  size_t *ret_head_len)
{
	const char *newline = memchr(buffer, '\n', len < HEAD_MAX ? len : HEAD_MAX);

	if (!newline)
		return len < HEAD_MAX ? 0 : -1;
	*ret_head_len = (size_t)(newline + 1 - buffer);
	ret_frame->bytes = newline + 1;
	return parse_head(buffer, *ret_head_len - 1, ret_frame) < 0 ? -1 : 1;
}

int kept_log_next(const char *buffer, size_t len, size_t *offset, struct kept_frame *ret_frame)
{
	size_t head_len, left = len - *offset;
	int got = kept_log_head(buffer + *offset, left, ret_frame, &head_len);

	if (got <= 0)
		return got;
	if (left - head_len < ret_frame->len + 1)
		return 0;
	if (ret_frame->bytes[ret_frame->len] != '\n')
		return -1;
	*offset = (size_t)(ret_frame->bytes + ret_frame->len + 1 - buffer);
	return 1;
}
