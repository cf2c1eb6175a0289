/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: framed as the server framed them, without the secrets that requests were given. */
#include "tls_gateway/head.h"

#include "base/core/own.h"

#include <string.h>
#include <strings.h>

#define HEAD_MAX (64u << 10)
#define LINE_MAX_BYTES 4096

/* What a head says about the body behind it. */
struct answer {
	unsigned status;
	bool is_chunked, has_length, is_coded;
	uint64_t length;
};

static int refuse(struct exchange *exchange, const char *why)
{
	exchange->status = "502 Bad Gateway";
	exchange->why = why;
	return -1;
}

/* By itself: what one head ends with and the next begins with is no secret. */
static void add_text(const struct exchange *exchange, const char *bytes, size_t len,
		     struct str *out)
{
	struct scrub scrub;

	scrub_init(&scrub, &exchange->conf->words);
	scrub_add(&scrub, bytes, len, out);
	scrub_end(&scrub, out);
	scrub_done(&scrub);
}

static void begin_body(struct exchange *exchange)
{
	if (exchange->has_scrub)
		scrub_done(&exchange->scrub);
	scrub_init(&exchange->scrub, &exchange->conf->words);
	exchange->has_scrub = true;
}

/* Adds what is known of the body; in chunks of its own where it came in chunks. BYTES NULL: it has ended. */
static void add_body(struct exchange *exchange, const char *bytes, size_t len, struct str *out)
{
	bool is_chunked = exchange->down >= DOWN_CHUNK && exchange->down <= DOWN_TRAILER;
	owned(str_done) struct str text = STR_INIT;

	if (bytes)
		scrub_add(&exchange->scrub, bytes, len, is_chunked ? &text : out);
	else
		scrub_end(&exchange->scrub, is_chunked ? &text : out);
	if (text.len == 0)
		return;
	str_addf(out, "%zx\r\n", text.len);
	str_add_bytes(out, text.data, text.len);
	str_add(out, "\r\n");
}

static void end_body(struct exchange *exchange, struct str *out)
{
	if (exchange->has_scrub)
		add_body(exchange, NULL, 0, out);
	if (exchange->has_scrub)
		scrub_done(&exchange->scrub);
	exchange->has_scrub = false;
	exchange->down = DOWN_IDLE;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

static int read_length(struct exchange *exchange, const char *value, size_t len,
		       struct answer *answer)
{
	uint64_t length = 0;

	if (len == 0 || len > 18)
		return refuse(exchange, "an answer with a length that is no number");
	for (size_t i = 0; i < len; i++) {
		if (value[i] < '0' || value[i] > '9')
			return refuse(exchange, "an answer with a length that is no number");
		length = length * 10 + (uint64_t)(value[i] - '0');
	}
	if (answer->has_length && answer->length != length)
		return refuse(exchange, "an answer with two lengths");
	answer->has_length = true;
	answer->length = length;
	return 0;
}

static int read_field(struct exchange *exchange, const char *line, size_t len,
		      struct answer *answer)
{
	const char *colon = memchr(line, ':', len), *end = line + len, *value;
	size_t name_len;

	if (!colon || !http_is_token(line, (size_t)(colon - line)))
		return refuse(exchange, "an answer with a header that is none");
	name_len = (size_t)(colon - line);
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
		;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	len = (size_t)(end - value);
	if (memchr(value, '\r', len) || memchr(value, '\n', len) || memchr(value, '\0', len))
		return refuse(exchange, "an answer with a header that is none");
	if (is_word(line, name_len, "Content-Length"))
		return read_length(exchange, value, len, answer);
	if (is_word(line, name_len, "Content-Encoding") && !is_word(value, len, "identity"))
		answer->is_coded |= len > 0;
	if (!is_word(line, name_len, "Transfer-Encoding"))
		return 0;
	if (answer->is_chunked || !is_word(value, len, "chunked"))
		return refuse(exchange, "an answer in a transfer coding other than chunked");
	answer->is_chunked = true;
	return 0;
}

/* BYTES is a whole head, with its empty line. */
static int read_head(struct exchange *exchange, const char *bytes, size_t len,
		     struct answer *answer)
{
	const char *at = bytes, *end = bytes + len, *stop;

	if (len < 15 || memcmp(bytes, "HTTP/1.", 7) != 0 || bytes[8] != ' ' || bytes[9] < '1' ||
	    bytes[9] > '9' || bytes[10] < '0' || bytes[10] > '9' || bytes[11] < '0' ||
	    bytes[11] > '9')
		return refuse(exchange, "an answer that is no HTTP/1");
	answer->status =
		(unsigned)((bytes[9] - '0') * 100 + (bytes[10] - '0') * 10 + (bytes[11] - '0'));
	at = (const char *)memchr(at, '\n', len) + 1;
	for (; at < end; at = stop + 2) {
		stop = memmem(at, (size_t)(end - at), "\r\n", 2);
		if (stop == at)
			break;
		if (!stop || read_field(exchange, at, (size_t)(stop - at), answer) < 0)
			return stop ? -1 : refuse(exchange, "an answer with a line that is none");
	}
	if (answer->is_chunked && answer->has_length)
		return refuse(exchange, "an answer with both a length and a transfer coding");
	if (answer->is_coded && head_gets_secret(exchange))
		return refuse(exchange, "an answer that is compressed although that was not asked "
					"for: a secret in it could not be found");
	return 0;
}

static int begin_answer(struct exchange *exchange, const struct answer *answer)
{
	if (answer->status == 101) {
		if (!exchange->asks_upgrade)
			return refuse(exchange, "an answer in a protocol that was not asked for");
		exchange->up = UP_TUNNEL;
		exchange->down = DOWN_TUNNEL;
	} else if (answer->status < 200) {
		return 0;
	} else if (exchange->is_headless || answer->status == 204 || answer->status == 304) {
		exchange->down = DOWN_IDLE;
		return 0;
	} else if (answer->is_chunked) {
		exchange->down = DOWN_CHUNK;
	} else if (answer->has_length) {
		exchange->down = answer->length ? DOWN_LENGTH : DOWN_IDLE;
	} else {
		exchange->down = DOWN_TO_END;
	}
	exchange->down_left = answer->is_chunked ? 0 : answer->length;
	begin_body(exchange);
	return 0;
}

static int step_head(struct exchange *exchange, const char *bytes, size_t len, size_t *used,
		     struct str *out)
{
	const char *end = memmem(bytes, len, "\r\n\r\n", 4);
	struct answer answer = { 0 };
	size_t head_len;

	if (!end)
		return len > HEAD_MAX ? refuse(exchange, "an answer with too large a head") : 0;
	head_len = (size_t)(end - bytes) + 4;
	if (read_head(exchange, bytes, head_len, &answer) < 0 ||
	    begin_answer(exchange, &answer) < 0)
		return -1;
	add_text(exchange, bytes, head_len, out);
	exchange->has_answered = true;
	*used += head_len;
	return 1;
}

/* The size of a chunk, its extensions left out; the end of one; trailers, left out as well. */
static int step_line(struct exchange *exchange, const char *bytes, size_t len, size_t *used,
		     struct str *out)
{
	const char *end = memmem(bytes, len, "\r\n", 2);
	char line[24] = "";
	size_t digits, ignored;

	if (!end)
		return len > LINE_MAX_BYTES ? refuse(exchange, "an answer with a line too long")
					    : 0;
	*used += (size_t)(end - bytes) + 2;
	if (exchange->down != DOWN_CHUNK) {
		bool is_empty = end == bytes;

		if (exchange->down == DOWN_CHUNK_END && !is_empty)
			return refuse(exchange, "an answer with a chunk that is none");
		if (exchange->down == DOWN_CHUNK_END)
			exchange->down = DOWN_CHUNK;
		else if (is_empty) {
			end_body(exchange, out);
			str_add(out, "0\r\n\r\n");
		}
		return 1;
	}
	digits = strspn(bytes, "0123456789abcdefABCDEF");
	if (digits == 0 || digits > 15 ||
	    (digits < (size_t)(end - bytes) && !strchr("; \t", bytes[digits])))
		return refuse(exchange, "an answer with a chunk that is none");
	memcpy(line, bytes, digits);
	memcpy(line + digits, "\r\n", 2);
	(void)http_read_chunk(line, digits + 2, &exchange->down_left, &ignored);
	exchange->down = exchange->down_left ? DOWN_CHUNK_DATA : DOWN_TRAILER;
	return 1;
}

static int step(struct exchange *exchange, const struct str *in, size_t *used, struct str *out)
{
	const char *bytes = in->data + *used;
	size_t len = in->len - *used, most = len;

	if (len == 0)
		return 0;
	switch (exchange->down) {
	case DOWN_IDLE:
		return refuse(exchange, "an answer that nothing was asked for");
	case DOWN_HEAD:
		return step_head(exchange, bytes, len, used, out);
	case DOWN_CHUNK:
	case DOWN_CHUNK_END:
	case DOWN_TRAILER:
		return step_line(exchange, bytes, len, used, out);
	case DOWN_LENGTH:
	case DOWN_CHUNK_DATA:
		most = exchange->down_left < len ? (size_t)exchange->down_left : len;
		exchange->down_left -= most;
		break;
	case DOWN_TO_END:
	case DOWN_TUNNEL:
		break;
	}
	add_body(exchange, bytes, most, out);
	*used += most;
	if (exchange->down == DOWN_LENGTH && exchange->down_left == 0)
		end_body(exchange, out);
	if (exchange->down == DOWN_CHUNK_DATA && exchange->down_left == 0)
		exchange->down = DOWN_CHUNK_END;
	return 1;
}

int exchange_response(struct exchange *exchange, struct str *in, bool is_end, struct str *out)
{
	size_t used = 0;
	int status;

	do
		status = step(exchange, in, &used, out);
	while (status > 0);
	str_drop_front(in, used);
	if (status < 0 || !is_end)
		return status;
	if (exchange->down == DOWN_TO_END || exchange->down == DOWN_TUNNEL)
		end_body(exchange, out);
	return exchange->down == DOWN_IDLE ? 0 : refuse(exchange, "an answer that ends too early");
}
