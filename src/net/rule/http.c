/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of plain HTTP/1 requests, read strictly. */
#include "net/rule/http.h"

#include <string.h>
#include <strings.h>

#define VERSION_LEN 8
#define CHUNK_LINE_MAX 18
#define LENGTH_DIGITS 18

/* One line without its end. */
struct line {
	const char *text;
	size_t len;
};

struct field {
	struct line name, value;
};

bool http_is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    (!c || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return len > 0;
}

bool http_is_value(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool is(const struct line *line, const char *word)
{
	return line->len == strlen(word) && strncasecmp(line->text, word, line->len) == 0;
}

/* Takes the next line off. Ends are CRLF; a lone CR or LF is none, and no part of a line either. */
static enum http_state next_line(const char *bytes, size_t len, size_t *at, struct line *ret_line)
{
	const char *start = bytes + *at;
	size_t left = len - *at, i;

	for (i = 0; i < left && start[i] != '\r' && start[i] != '\n'; i++)
		;
	if (i == left || (i + 1 == left && start[i] == '\r'))
		return HTTP_MORE;
	if (start[i] != '\r' || start[i + 1] != '\n')
		return HTTP_BAD;
	*ret_line = (struct line){ start, i };
	*at += i + 2;
	return HTTP_WHOLE;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* The first line is whole: does it end as a request line of HTTP does, in however odd a spelling? */
static bool names_version(const struct line *line)
{
	static const char word[] = "HTTP/";

	for (size_t i = 1; i + sizeof(word) - 1 <= line->len; i++) {
		if (is_space(line->text[i - 1]) &&
		    strncasecmp(line->text + i, word, sizeof(word) - 1) == 0)
			return true;
	}
	return false;
}

enum http_state http_begins(const char *bytes, size_t len)
{
	struct line line;
	bool is_word = true;
	size_t i = 0;

	/* Servers skip empty lines in front of a request. */
	while (i < len && (bytes[i] == '\r' || bytes[i] == '\n'))
		i++;
	line = (struct line){ bytes + i, 0 };
	for (; i < len && bytes[i] != '\n'; i++) {
		unsigned char c = (unsigned char)bytes[i];

		/* A method is a word. No server takes a NUL behind it, and git's own protocol has one. */
		is_word = is_word && !is_space(bytes[i]);
		if (c == '\0' || (is_word && c < ' ' && c != '\r') ||
		    (line.len == 0 && !http_is_token(bytes + i, 1)))
			return HTTP_BAD;
		line.len++;
	}
	if (i == len)
		return len >= HTTP_HEAD_MAX ? HTTP_TOO_LARGE : HTTP_MORE;
	return names_version(&line) ? HTTP_WHOLE : HTTP_BAD;
}

static int bad(struct http_head *head, const char *why)
{
	head->why = why;
	return -1;
}

/* NAME, NAME:PORT, [V6]:PORT. */
static bool read_place(const char *text, size_t len, struct http_head *head)
{
	char copy[NET_NAME_SIZE + 16], *host = copy, *colon;
	unsigned port = 0;
	int used = 0;

	if (len == 0 || len >= sizeof(copy) || memchr(text, '\0', len))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	colon = strchr(copy[0] == '[' ? strchrnul(copy, ']') : copy, ':');
	if (colon) {
		if (strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 ||
		    sscanf(colon + 1, "%u%n", &port, &used) != 1 || port == 0 || port > 65535)
			return false;
		*colon = '\0';
	}
	head->port = (uint16_t)port;
	len = strlen(host);
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		host++;
	}
	head->name[0] = '\0';
	return net_address_parse(host, &head->address) ||
	       (host == copy && net_name_canonical(host, strlen(host), head->name));
}

static bool same_place(const struct http_head *a, const struct http_head *b)
{
	if (a->port != b->port || strcmp(a->name, b->name) != 0)
		return false;
	return a->name[0] || net_address_equal(&a->address, &b->address);
}

/* The host in the request line itself, where there is one. */
struct absolute {
	bool is_given;
	struct http_head place;
};

static int read_target(const struct line *target, struct http_head *head, struct absolute *absolute)
{
	static const char scheme[] = "http://";
	size_t skip = sizeof(scheme) - 1;
	const char *path = target->text;

	for (size_t i = 0; i < target->len; i++) {
		if ((unsigned char)path[i] <= ' ' || (unsigned char)path[i] >= 0x7f ||
		    path[i] == '#')
			return bad(head, "a byte in the path that belongs in none");
	}
	head->path = path;
	head->path_len = target->len;
	head->overrides = http_query_overrides(path, target->len);
	if (target->len > skip && strncasecmp(path, scheme, skip) == 0) {
		const char *slash = memchr(path + skip, '/', target->len - skip);

		if (!slash ||
		    !read_place(path + skip, (size_t)(slash - path) - skip, &absolute->place))
			return bad(head, "an address in the request line that is none");
		absolute->is_given = true;
		head->path = slash;
		head->path_len = target->len - (size_t)(slash - path);
	}
	/* OPTIONS * is about the server as a whole; CONNECT's target is judged as any other that is no path. */
	if (head->path_len == 0 ||
	    (head->path[0] != '/' && !is(target, "*") &&
	     !(head->method_len == 7 && memcmp(head->method, "CONNECT", 7) == 0)))
		return bad(head, "a request line without a path");
	return 0;
}

static int read_request_line(const struct line *line, struct http_head *head,
			     struct absolute *absolute)
{
	const char *first = memchr(line->text, ' ', line->len);
	const char *last = memrchr(line->text, ' ', line->len);
	struct line target;

	if (!first || first == last)
		return bad(head, "no request line");
	head->method = line->text;
	head->method_len = (size_t)(first - line->text);
	head->version = last + 1;
	target = (struct line){ first + 1, (size_t)(last - first - 1) };
	if (!http_is_token(head->method, head->method_len) || head->method_len > 32)
		return bad(head, "a method that is none");
	if (line->text + line->len - head->version != VERSION_LEN ||
	    (memcmp(head->version, "HTTP/1.1", VERSION_LEN) != 0 &&
	     memcmp(head->version, "HTTP/1.0", VERSION_LEN) != 0))
		return bad(head, "not HTTP/1.0 or HTTP/1.1");
	return read_target(&target, head, absolute);
}

static int read_field(const struct line *line, struct http_head *head, struct field *ret_field)
{
	const char *colon = memchr(line->text, ':', line->len), *end = line->text + line->len;
	const char *value;

	if (line->text[0] == ' ' || line->text[0] == '\t')
		return bad(head, "a header folded over lines");
	if (!colon || !http_is_token(line->text, (size_t)(colon - line->text)))
		return bad(head, "a header without a name");
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
		;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	ret_field->name = (struct line){ line->text, (size_t)(colon - line->text) };
	ret_field->value = (struct line){ value, (size_t)(end - value) };
	if (!http_is_value(value, (size_t)(end - value)))
		return bad(head, "a control byte in a header");
	return 0;
}

static int read_length(const struct line *value, struct http_head *head)
{
	if (head->body != HTTP_NO_BODY)
		return bad(head, "more than one length of the body");
	if (value->len == 0 || value->len > LENGTH_DIGITS)
		return bad(head, "a length that is no number");
	for (size_t i = 0; i < value->len; i++) {
		if (value->text[i] < '0' || value->text[i] > '9')
			return bad(head, "a length that is no number");
		head->body_len = head->body_len * 10 + (uint64_t)(value->text[i] - '0');
	}
	head->body = HTTP_LENGTH;
	return 0;
}

static int read_coding(const struct line *value, struct http_head *head)
{
	if (head->body != HTTP_NO_BODY)
		return bad(head, "more than one length of the body");
	if (!is(value, "chunked") || memcmp(head->version, "HTTP/1.1", VERSION_LEN) != 0)
		return bad(head, "a transfer coding other than chunked, or in HTTP/1.0");
	head->body = HTTP_CHUNKED;
	return 0;
}

static int take_field(const struct field *field, bool *has_host, struct http_head *head)
{
	if (is(&field->name, "Host")) {
		if (*has_host)
			return bad(head, "more than one Host");
		*has_host = true;
		return read_place(field->value.text, field->value.len, head)
			       ? 0
			       : bad(head, "a Host that is none");
	}
	if (is(&field->name, "Content-Length"))
		return read_length(&field->value, head);
	if (is(&field->name, "Transfer-Encoding"))
		return read_coding(&field->value, head);
	if (http_header_overrides(field->name.text, field->name.len))
		head->overrides = true;
	if (is(&field->name, "Upgrade") || is(&field->name, "HTTP2-Settings"))
		head->upgrades = true;
	return 0;
}

/* What has been read is whole; does it make sense? */
static enum http_state conclude(struct http_head *head, bool has_host,
				const struct absolute *absolute)
{
	head->has_host = has_host;
	if (!has_host &&
	    (absolute->is_given || memcmp(head->version, "HTTP/1.0", VERSION_LEN) != 0))
		head->why = "no Host";
	else if (has_host && absolute->is_given && !same_place(head, &absolute->place))
		head->why = "a Host other than the request line's";
	return head->why ? HTTP_BAD : HTTP_WHOLE;
}

/* The next line of a head, with the reason where there is none. */
static enum http_state next_head_line(const char *bytes, size_t len, struct http_head *head,
				      struct line *ret_line)
{
	enum http_state state = next_line(bytes, len, &head->len, ret_line);

	if (state == HTTP_MORE && len >= HTTP_HEAD_MAX)
		return HTTP_TOO_LARGE;
	if (state == HTTP_WHOLE && head->len > HTTP_HEAD_MAX)
		return HTTP_TOO_LARGE;
	if (state == HTTP_BAD)
		head->why = "a line that does not end in CR LF";
	return state;
}

enum http_state http_read(const char *bytes, size_t len, struct http_head *ret_head)
{
	struct absolute absolute = { .is_given = false };
	struct http_head *head = ret_head;
	bool has_host = false;
	struct line line = { 0 };
	enum http_state state;

	memset(head, 0, sizeof(*head));
	state = next_head_line(bytes, len, head, &line);
	if (state == HTTP_WHOLE && read_request_line(&line, head, &absolute) < 0)
		return HTTP_BAD;
	for (unsigned i = 0; state == HTTP_WHOLE && i <= HTTP_FIELDS_MAX; i++) {
		struct field field;

		state = next_head_line(bytes, len, head, &line);
		if (state != HTTP_WHOLE)
			return state;
		if (line.len == 0)
			return conclude(head, has_host, &absolute);
		if (read_field(&line, head, &field) < 0 || take_field(&field, &has_host, head) < 0)
			return HTTP_BAD;
	}
	return state == HTTP_WHOLE ? HTTP_TOO_LARGE : state;
}

static void put(char *out, size_t *at, const char *text, size_t len)
{
	memcpy(out + *at, text, len);
	*at += len;
}

static void put_words(char *out, size_t *at, const char *words)
{
	put(out, at, words, strlen(words));
}

static bool is_left_out(const struct field *field, const struct http_head *head,
			const struct http_secret *secret)
{
	if (secret && is(&field->name, secret->name))
		return true;
	return head->upgrades &&
	       (is(&field->name, "Upgrade") || is(&field->name, "HTTP2-Settings") ||
		is(&field->name, "Connection"));
}

bool http_next_field(const char *bytes, const struct http_head *head, size_t *at,
		     struct http_field *ret_field)
{
	struct http_head ignored = { 0 };
	struct line line;
	struct field field;

	if (*at == 0)
		(void)next_line(bytes, head->len, at, &line);
	if (next_line(bytes, head->len, at, &line) != HTTP_WHOLE || line.len == 0 ||
	    read_field(&line, &ignored, &field) < 0)
		return false;
	*ret_field = (struct http_field){ field.name.text, field.value.text, field.name.len,
					  field.value.len };
	return true;
}

bool http_header_frames(const char *name, size_t len)
{
	static const char *const names[] = { "Host",	   "Content-Length", "Transfer-Encoding",
					     "Connection", "Upgrade",	     "TE",
					     "Trailer",	   "Expect",	     NULL };
	const struct line given = { name, len };

	for (const char *const *at = names; *at; at++) {
		if (is(&given, *at))
			return true;
	}
	return false;
}

size_t http_write(const char *bytes, const struct http_head *head, const struct http_secret *secret,
		  char *out)
{
	struct http_head ignored = { 0 };
	struct line line;
	struct field field;
	size_t from = 0, at = 0;

	put(out, &at, head->method, head->method_len);
	put_words(out, &at, " ");
	put(out, &at, head->path, head->path_len);
	put_words(out, &at, " ");
	put(out, &at, head->version, VERSION_LEN);
	put_words(out, &at, "\r\n");
	(void)next_line(bytes, head->len, &from, &line);
	while (next_line(bytes, head->len, &from, &line) == HTTP_WHOLE && line.len > 0) {
		if (read_field(&line, &ignored, &field) < 0 || is_left_out(&field, head, secret))
			continue;
		put(out, &at, line.text, line.len);
		put_words(out, &at, "\r\n");
	}
	if (secret) {
		put_words(out, &at, secret->name);
		put_words(out, &at, ": ");
		put_words(out, &at, secret->value);
		put_words(out, &at, "\r\n");
	}
	put_words(out, &at, "\r\n");
	return at;
}

enum http_state http_read_chunk(const char *bytes, size_t len, uint64_t *ret_size, size_t *ret_len)
{
	uint64_t size = 0;
	size_t at = 0;

	for (; at < len && at <= CHUNK_LINE_MAX - 2 && bytes[at] != '\r'; at++) {
		const char *digits = "0123456789abcdef";
		char c =
			bytes[at] >= 'A' && bytes[at] <= 'F' ? (char)(bytes[at] | 0x20) : bytes[at];
		const char *digit = c ? strchr(digits, c) : NULL;

		if (!digit || at >= 15)
			return HTTP_BAD;
		size = size << 4 | (uint64_t)(digit - digits);
	}
	if (at + 2 > len)
		return HTTP_MORE;
	if (at == 0 || bytes[at] != '\r' || bytes[at + 1] != '\n')
		return HTTP_BAD;
	*ret_size = size;
	*ret_len = at + 2;
	return HTTP_WHOLE;
}
