/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's keyring as a cache for the key that a passphrase gives. */
#ifndef APP_SECRET_KEYRING_H
#define APP_SECRET_KEYRING_H

#include <stdbool.h>
#include <stddef.h>

/* After so many hours the kernel forgets it. */
#define SECRET_KEYRING_HOURS 8

/* The key that was kept for SALT; false when there is none, or no keyring. */
bool secret_keyring_get(const unsigned char *salt, size_t salt_len, unsigned char *ret_key,
			size_t key_len);
/* Whether it could be kept: containers often have no keyring. */
bool secret_keyring_put(const unsigned char *salt, size_t salt_len, const unsigned char *key,
			size_t key_len);
void secret_keyring_drop(const unsigned char *salt, size_t salt_len);

#endif
