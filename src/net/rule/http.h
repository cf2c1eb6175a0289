/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of plain HTTP/1 requests, read strictly: what two readers could take for different things is refused, so that a
 * request which was judged is the one the server sees.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "net/rule/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a head, with its empty line. */
#define HTTP_HEAD_MAX 16384
#define HTTP_FIELDS_MAX 100
/* Of the value of a header that is added. */
#define HTTP_SECRET_MAX 4096
/* Room for a head and what is added to it. */
#define HTTP_OUT_MAX (HTTP_HEAD_MAX + 256 + HTTP_SECRET_MAX)

enum http_state {
	HTTP_MORE, /* so far right, but not all of it */
	HTTP_WHOLE,
	HTTP_BAD,	/* 400; `why` has the reason */
	HTTP_TOO_LARGE, /* 431 */
};

enum http_body { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

/* Pointers lead into the bytes that were read. */
struct http_head {
	size_t len; /* with the empty line */
	const char *method, *path;
	size_t method_len, path_len; /* the path with its query */
	const char *version;	     /* "HTTP/1.1", no NUL */
	char name[NET_NAME_SIZE];    /* its host, canonical; "" when that is */
	struct net_address address;
	uint16_t port; /* that the Host names; 0 when it names none */
	enum http_body body;
	uint64_t body_len;
	bool has_host; /* HTTP/1.0 may do without; name and address are then empty */
	bool upgrades; /* asks for another protocol */
	bool overrides; /* a header or parameter that servers take for another method, path or host */
	const char *why; /* with HTTP_BAD */
};

/* No heap. */
enum http_state http_read(const char *bytes, size_t len, struct http_head *ret_head);

/* A header that is put in place of any of that name. */
struct http_secret {
	const char *name, *value;
};

/*
 * The head as it is sent on: origin form, without an upgrade, with SECRET (or NULL). Its length. OUT has HTTP_OUT_MAX.
 */
size_t http_write(const char *bytes, const struct http_head *head, const struct http_secret *secret,
		  char *out);

/* A header of a head that was read. */
struct http_field {
	const char *name, *value;
	size_t name_len, value_len;
};

/* The next header; *AT is 0 for the first. False behind the last. */
bool http_next_field(const char *bytes, const struct http_head *head, size_t *at,
		     struct http_field *ret_field);

/* Whether the header says where a request goes or ends, or how the connection is used. */
bool http_header_frames(const char *name, size_t len);

/* The size in front of a chunk: a line of hexadecimal digits, nothing else. RET_LEN: with its end of line. */
enum http_state http_read_chunk(const char *bytes, size_t len, uint64_t *ret_size, size_t *ret_len);

/* Whether the first bytes of a connection are a request: HTTP_WHOLE when they are, HTTP_BAD when they are none. */
enum http_state http_begins(const char *bytes, size_t len);

/* http_path.c: a path that every reader takes for the same: no dot segments, doubled, encoded or backward slashes. Up to a '?'. */
bool http_path_is_plain(const char *path, size_t len);

enum http_reading {
	HTTP_STRICT, /* byte by byte, escapes decoded */
	HTTP_LOOSE, /* as the most forgiving server: letter case, parameters, dots and spaces behind a name do not matter */
};

/* Whether a plain path begins with PREFIX, by whole segments: /api covers /api and /api/x, not /apix. */
bool http_path_begins(const char *path, size_t len, const char *prefix, enum http_reading reading);

/* The next byte of what ends at END, its escape decoded; steps over it. */
char http_next_byte(const char **at, const char *end);

/* ASCII's lower case. */
char http_fold(char c);

/* http_override.c: whether a header, or a parameter of the query, names another method, path or host. */
bool http_header_overrides(const char *name, size_t len);
bool http_query_overrides(const char *path, size_t len);

/* Whether all of it can stand in a header's name, or its value. */
bool http_is_token(const char *text, size_t len);
bool http_is_value(const char *text, size_t len);

#endif
