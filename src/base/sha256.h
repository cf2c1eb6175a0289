/* SHA-256 (FIPS 180-4), for telling whether a file is still the one that was trusted. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

#define SHA256_HEX_SIZE 65

/* The digest of LEN bytes as 64 lower-case hex digits and a NUL. No heap. */
void sha256_hex(const void *bytes, size_t len, char ret_hex[static SHA256_HEX_SIZE]);

#endif
