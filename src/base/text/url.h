/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs of configuration files: which host and port one leads to, and the same URL without user name and password.
 *
 * Strict on purpose: a text in which two readers could find different hosts, or a token in an unusual place, is no URL here.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define URL_SIZE 2048
#define URL_HOST_SIZE 256

struct url {
	bool is_tls;
	uint16_t port;		  /* the scheme's own where none is given */
	char host[URL_HOST_SIZE]; /* as written, lower case; an address of IPv6 in its [ ] */
	size_t user_at, user_len; /* user info with its '@', as a part of the text */
};

/*
 * [KIND+]http[s]://[USER@]HOST[:PORT][/PATH]. False for everything else: other schemes, a query or a fragment, an '@' or a
 * backslash behind the host, blanks and control bytes.
 */
bool url_parse(const char *text, size_t len, struct url *ret_url);

/*
 * TEXT, a list of words with blanks, commas or bars between them, with no user info in the URLs among them; owned by the
 * caller. NULL when a word has "://" or '@' in it and is no URL, as it may hold anything, and when a part of a URL's path
 * may be a token: 20 characters or more, with letters and digits.
 */
char *url_list_without_users(const char *text);

#endif
