/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for telling whether a file is still the one that was trusted. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX_SIZE 65
#define SHA256_BLOCK 64

/* A digest under way, for what comes in pieces. */
struct sha256 {
	uint32_t state[8];
	uint64_t len;
	uint8_t block[SHA256_BLOCK]; /* what does not fill one yet */
};

void sha256_start(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *bytes, size_t len);
void sha256_end(struct sha256 *sum, char ret_hex[static SHA256_HEX_SIZE]);

/* The digest of LEN bytes as 64 lower-case hex digits and a NUL. No heap. */
void sha256_hex(const void *bytes, size_t len, char ret_hex[static SHA256_HEX_SIZE]);

/* Whether TEXT looks like one. */
bool sha256_is_hex(const char *text);

/* HMAC (RFC 2104) of LEN bytes with KEY, of at most SHA256_BLOCK bytes; hex digits as above. No heap. */
void sha256_hmac(const uint8_t *key, size_t key_len, const void *bytes, size_t len,
		 char ret_hex[static SHA256_HEX_SIZE]);

/* The digest of what the file FD holds from its start; its position stays. 0, or -1 with errno. */
int sha256_fd(int fd, char ret_hex[static SHA256_HEX_SIZE]);

#endif
