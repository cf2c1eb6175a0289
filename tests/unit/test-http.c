/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of HTTP requests: which are whole, which are refused, and what is sent on of them. */
#include "base/core/own.h"
#include "net/rule/http.h"
#include "tests/tap.h"

#include <string.h>

static enum http_state read_text(const char *text, struct http_head *head)
{
	return http_read(text, strlen(text), head);
}

#define HEAD(line, fields) line "\r\nHost: a.example\r\n" fields "\r\n"

static const char *const good[] = {
	HEAD("GET / HTTP/1.1", ""),
	HEAD("HEAD /x HTTP/1.0", ""),
	HEAD("POST /x?y=%2e%2e HTTP/1.1", "Content-Length: 5\r\n"),
	HEAD("PUT /x HTTP/1.1", "Transfer-Encoding: Chunked\r\n"),
	HEAD("GET http://a.example/x HTTP/1.1", ""),
	HEAD("GET HTTP://A.Example./x HTTP/1.1", ""),
	HEAD("OPTIONS * HTTP/1.1", ""),
	HEAD("GET / HTTP/1.1", "X-Empty:\r\nX-Tab:\ta\tb \r\n"),
	"GET / HTTP/1.1\r\nHost: 192.0.2.1:8080\r\n\r\n",
	"GET / HTTP/1.1\r\nhost: [2001:db8::1]:80\r\n\r\n",
	HEAD("CONNECT a.example:80 HTTP/1.1", ""),
	"GET / HTTP/1.0\r\n\r\n",
};

/* What two readers could take for different things. */
static const char *const bad[] = {
	"GET / HTTP/1.1\r\n\r\n",
	"GET http://a.example/ HTTP/1.0\r\n\r\n",
	"GET / HTTP/1.1\nHost: a.example\n\n",
	"GET / HTTP/1.1\r\nHost: a.example\n\r\n",
	"GET / HTTP/1.1\r\nHost: a.example\rX: y\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: user@a.example\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: 2130706433\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a.example:80:80\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a.example:099999\r\n\r\n",
	"GET / HTTP/1.1\r\nHost:\r\n\r\n",
	HEAD("GET http://b.example/x HTTP/1.1", ""),
	HEAD("GET http://a.example:81/x HTTP/1.1", ""),
	HEAD("GET https://a.example/x HTTP/1.1", ""),
	HEAD("GET http://a.example HTTP/1.1", ""),
	HEAD("GET a.example/x HTTP/1.1", ""),
	HEAD("GET  / HTTP/1.1", ""),
	HEAD("GET / x HTTP/1.1", ""),
	HEAD("GET /\tx HTTP/1.1", ""),
	HEAD("GET /\x01 HTTP/1.1", ""),
	HEAD("GET /\x80 HTTP/1.1", ""),
	HEAD("GET /x#y HTTP/1.1", ""),
	HEAD("GET / HTTP/2.0", ""),
	HEAD("PRI * HTTP/2.0", ""),
	HEAD("GET / http/1.1", ""),
	HEAD("GE(T / HTTP/1.1", ""),
	HEAD("/ HTTP/1.1", ""),
	HEAD("GET / HTTP/1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
	HEAD("GET / HTTP/1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
	HEAD("GET / HTTP/1.1", "Content-Length: 5\r\nContent-Length: 5\r\n"),
	HEAD("GET / HTTP/1.1", "Content-Length: 5, 5\r\n"),
	HEAD("GET / HTTP/1.1", "Content-Length: +5\r\n"),
	HEAD("GET / HTTP/1.1", "Content-Length: 0x5\r\n"),
	HEAD("GET / HTTP/1.1", "Content-Length:\r\n"),
	HEAD("GET / HTTP/1.1", "Content-Length: 9999999999999999999\r\n"),
	HEAD("GET / HTTP/1.1", "Transfer-Encoding: gzip, chunked\r\n"),
	HEAD("GET / HTTP/1.1", "Transfer-Encoding: \x0b"
			       "chunked\r\n"),
	HEAD("GET / HTTP/1.1", "Transfer-Encoding : chunked\r\n"),
	HEAD("GET / HTTP/1.0", "Transfer-Encoding: chunked\r\n"),
	HEAD("GET / HTTP/1.1", " folded: x\r\n"),
	HEAD("GET / HTTP/1.1", "X: a\r\n\tfolded\r\n"),
	HEAD("GET / HTTP/1.1", "X\r\n"),
	HEAD("GET / HTTP/1.1", ": x\r\n"),
	HEAD("GET / HTTP/1.1", "X: a\x7f\r\n"),
	HEAD("GET / HTTP/1.1", "X: a\x1b[2J\r\n"),
	"\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
	"\x16\x03\x01\x02\x01\r\n\r\n",
};

static void test_read(void)
{
	struct http_head head;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		tap_ok(read_text(good[i], &head) == HTTP_WHOLE && head.len == strlen(good[i]),
		       "a head: case %zu", i);
		bool waits = true;

		for (size_t len = 0; len < strlen(good[i]); len++)
			waits &= http_read(good[i], len, &head) == HTTP_MORE;
		tap_ok(waits, "and every beginning of it waits for more");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(read_text(bad[i], &head) == HTTP_BAD && head.why, "refused: case %zu", i);
}

/* Spellings of one header or parameter that frameworks take for another request line. */
static void test_overrides(void)
{
	static const char *const headers[] = {
		"X-HTTP-Method-Override",
		"x-http-method-override",
		"X_HTTP_METHOD_OVERRIDE",
		"X-HTTP-Method",
		"X-Method-Override",
		"X-Method",
		"X-Original-Method",
		"X-Forwarded-Method",
		"X-Original-URL",
		"X-Rewrite-URL",
		"X-Original-URI",
		"X-Forwarded-Uri",
		"X-Forwarded-Path",
		"X-Forwarded-Prefix",
		"X-Forwarded-Host",
		"X-Original-Host",
		"X-Host",
		"Forwarded",
		"X-Envoy-Original-Path",
		"HTTP_METHOD",
	};
	static const char *const harmless[] = { "Accept",	"Access-Control-Request-Method",
						"X-Request-Id", "Referer",
						"Cookie",	"X-Forwarded-For" };
	static const char *const queries[] = {
		"/?_method=DELETE",
		"/?a=b&_method=x",
		"/?a;_Method=x",
		"/?%5fmethod=x",
		"/?_METHOD",
		"/?X-HTTP-Method-Override=PUT",
		"/?$httpMethod=DELETE",
		"/?%24httpMethod=DELETE",
		"/x?=&_method=PUT",
	};
	static const char *const plain[] = { "/", "/_method=x", "/?method=list", "/?x=_method",
					     "/?a_method_b=1" };
	struct http_head head;
	char text[256];

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		(void)snprintf(text, sizeof(text), HEAD("GET / HTTP/1.1", "%s: x\r\n"), headers[i]);
		tap_ok(read_text(text, &head) == HTTP_WHOLE && head.overrides, "%s overrides",
		       headers[i]);
	}
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		tap_ok(!http_header_overrides(harmless[i], strlen(harmless[i])), "%s does not",
		       harmless[i]);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		(void)snprintf(text, sizeof(text), HEAD("POST %s HTTP/1.1", ""), queries[i]);
		tap_ok(read_text(text, &head) == HTTP_WHOLE && head.overrides, "%s overrides",
		       queries[i]);
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		tap_ok(!http_query_overrides(plain[i], strlen(plain[i])), "%s does not", plain[i]);
}

/* Which first bytes are those of a request: at every cut it waits, or says what the whole says. */
static void test_begins(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum http_state wanted;
	} rows[] = {
#define ROW(text, state) { text, sizeof(text) - 1, state }
		ROW("GET / HTTP/1.1\r\n", HTTP_WHOLE),
		ROW("\r\n\n\r\nGET / HTTP/1.0\n", HTTP_WHOLE),
		ROW("get\t/\tHTTP/1.1\r\n", HTTP_WHOLE),
		ROW("GET / http/1.1 \r\n", HTTP_WHOLE),
		ROW("PRI * HTTP/2.0\r\n", HTTP_WHOLE),
		ROW("M-SEARCH /\xc3\xa4 HTTP/1.1\n", HTTP_WHOLE),
		ROW("GET /\x01 HTTP/1.1\n", HTTP_WHOLE),
		ROW("GET /\n", HTTP_BAD),
		ROW("SSH-2.0-OpenSSH_9.2\r\n", HTTP_BAD),
		ROW("EHLO a.example\r\n", HTTP_BAD),
		ROW("*1\r\n$4\r\nPING\r\n", HTTP_BAD),
		ROW("OPTIONS rtsp://a.example RTSP/1.0\r\n", HTTP_BAD),
		ROW("0032git-upload-pack /x HTTP/\0host=a.example", HTTP_BAD),
		ROW("AMQP\0\0\t\1", HTTP_BAD),
		ROW("\x10\x20", HTTP_BAD),
		ROW("{\"a\": 1}", HTTP_BAD),
		ROW("JDWP-Handshake", HTTP_MORE),
		ROW("GET / HTTP/1.1", HTTP_MORE),
		ROW("\r\n", HTTP_MORE),
		ROW("", HTTP_MORE),
#undef ROW
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_steady = true;

		for (size_t len = 0; len < rows[i].len; len++) {
			enum http_state state = http_begins(rows[i].bytes, len);

			is_steady &= state == HTTP_MORE || state == rows[i].wanted;
		}
		tap_ok(http_begins(rows[i].bytes, rows[i].len) == rows[i].wanted && is_steady,
		       "first bytes: case %zu", i);
	}
}

static void test_parts(void)
{
	struct http_head head;

	(void)read_text(HEAD("POST http://a.example/x?q HTTP/1.1", "Content-Length: 17\r\n"),
			&head);
	tap_ok(head.path_len == 4 && memcmp(head.path, "/x?q", 4) == 0,
	       "the path, without the host");
	tap_ok(head.body == HTTP_LENGTH && head.body_len == 17, "how long the body is");
	tap_is_str(head.name, "a.example", "whom it is for");
	(void)read_text("GET / HTTP/1.1\r\nHost: A.EXAMPLE.:8080\r\n\r\n", &head);
	tap_is_str(head.name, "a.example", "in canonical form");
	tap_is_int(head.port, 8080, "and its port");
}

static void test_limits(void)
{
	struct http_head head;
	owned(str_done) struct str text = STR_INIT;

	str_add(&text, "GET / HTTP/1.1\r\nHost: a.example\r\n");
	for (int i = 0; i < HTTP_FIELDS_MAX + 1; i++)
		str_add(&text, "X: y\r\n");
	str_add(&text, "\r\n");
	tap_ok(read_text(str_cstr(&text), &head) == HTTP_TOO_LARGE, "too many headers");
	str_clear(&text);
	str_add(&text, "GET /");
	while (text.len < HTTP_HEAD_MAX)
		str_add_char(&text, 'a');
	tap_ok(read_text(str_cstr(&text), &head) == HTTP_TOO_LARGE, "too long a line");
}

static const char *written(const char *text, const struct http_secret *secret)
{
	static char out[HTTP_OUT_MAX + 1];
	struct http_head head;

	if (read_text(text, &head) != HTTP_WHOLE)
		return "none";
	out[http_write(text, &head, secret, out)] = '\0';
	return out;
}

static void test_write(void)
{
	const struct http_secret secret = { "Authorization", "Bearer s3cret" };

	tap_is_str(written(HEAD("GET http://a.example/x HTTP/1.1", "X: y\r\n"), NULL),
		   HEAD("GET /x HTTP/1.1", "X: y\r\n"), "origin form");
	tap_is_str(written(HEAD("GET / HTTP/1.1", "authorization: mine\r\nX: y\r\n"), &secret),
		   HEAD("GET / HTTP/1.1", "X: y\r\nAuthorization: Bearer s3cret\r\n"),
		   "a secret replaces what the client sent");
	tap_is_str(written(HEAD("GET / HTTP/1.1",
				"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
				"HTTP2-Settings: x\r\nX: y\r\n"),
			   NULL),
		   HEAD("GET / HTTP/1.1", "X: y\r\n"), "no other protocol");
}

static void test_chunks(void)
{
	uint64_t size = 0;
	size_t len = 0;

	tap_ok(http_read_chunk("1aF\r\nx", 6, &size, &len) == HTTP_WHOLE && size == 0x1af &&
		       len == 5,
	       "a chunk's size");
	tap_ok(http_read_chunk("1a", 2, &size, &len) == HTTP_MORE, "not all of it");
	tap_ok(http_read_chunk("1a\r", 3, &size, &len) == HTTP_MORE, "nor its end");
	tap_ok(http_read_chunk("5;x=y\r\n", 7, &size, &len) == HTTP_BAD, "no extensions");
	tap_ok(http_read_chunk("\r\n", 2, &size, &len) == HTTP_BAD, "no empty size");
	tap_ok(http_read_chunk("0x5\r\n", 5, &size, &len) == HTTP_BAD, "no prefix");
	tap_ok(http_read_chunk(" 5\r\n", 4, &size, &len) == HTTP_BAD, "no blank");
	tap_ok(http_read_chunk("5\n", 2, &size, &len) == HTTP_BAD, "no bare line feed");
	tap_ok(http_read_chunk("00000000000000005\r\n", 19, &size, &len) == HTTP_BAD,
	       "not too long");
}

static void test_paths(void)
{
	static const char *const plain[] = { "/",	  "/api/",	"/api/v1.2/x..y",
					     "/a?b=../c", "/.git",	"/...x",
					     "/a%20b",	  "/%e4%bd%a0", "/a?b=%252e" };
	static const char *const odd[] = { "",
					   "a",
					   "/../x",
					   "/a/..",
					   "/...",
					   "/;a/b",
					   "/%3Ba/b",
					   "/%20/b",
					   "/a/.",
					   "/a/./b",
					   "//a",
					   "/a//b",
					   "/a%2fb",
					   "/%2E%2e/x",
					   "/a\\b",
					   "/a%5cb",
					   "/a%00",
					   "/..;/x",
					   "/%252e%252e/x",
					   "/%c0%ae%c0%ae/x",
					   "/..%C0%AFx",
					   "/..%09/x",
					   "/a%0d%0ab",
					   "/%u002e%u002e/x",
					   "/..%20/x",
					   "/a%",
					   "/a%4",
					   "/%e0%80%ae",
					   "/%f0%80%80%ae",
					   "/..%ef%bc%8fx",
					   "/a%7f" };

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		tap_ok(http_path_is_plain(plain[i], strlen(plain[i])), "plain: %s", plain[i]);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		tap_ok(!http_path_is_plain(odd[i], strlen(odd[i])), "not plain: %s", odd[i]);
}

int main(void)
{
	test_read();
	test_overrides();
	test_begins();
	test_parts();
	test_limits();
	test_write();
	test_chunks();
	test_paths();
	return tap_done();
}
