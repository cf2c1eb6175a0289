/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures by Ed25519 and encryption by XChaCha20-Poly1305; the one door to the library that makes them. */
#ifndef BASE_CRYPTO_H
#define BASE_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

#define ED25519_PUBLIC 32
#define ED25519_SECRET 64
#define ED25519_SIGNATURE 64

/* A new pair from the kernel's randomness. False when the library cannot be used here. */
bool ed25519_make(unsigned char ret_public[static ED25519_PUBLIC],
		  unsigned char ret_secret[static ED25519_SECRET]);
void ed25519_sign(const unsigned char secret[static ED25519_SECRET], const void *bytes, size_t len,
		  unsigned char ret_signature[static ED25519_SIGNATURE]);
bool ed25519_holds(const unsigned char public_key[static ED25519_PUBLIC], const void *bytes,
		   size_t len, const unsigned char signature[static ED25519_SIGNATURE]);

#define CRYPTO_KEY 32
#define CRYPTO_SALT 16
/* By so much the encrypted bytes are longer: a random nonce in front, a tag behind. */
#define CRYPTO_MORE 40

/* The kernel's randomness. False when the library cannot be used here; it must be asked before the functions below. */
bool crypto_random(void *ret_bytes, size_t len);

/* A key from a passphrase, by Argon2id: takes about a second and 256 MiB. False when there is no such memory. */
bool crypto_derive(const char *passphrase, const unsigned char salt[static CRYPTO_SALT],
		   unsigned char ret_key[static CRYPTO_KEY]);

/* Encrypts LEN bytes into LEN + CRYPTO_MORE; HEAD is protected against changes as well, but not encrypted. */
void crypto_encrypt(const unsigned char key[static CRYPTO_KEY], const void *head, size_t head_len,
		    const void *bytes, size_t len, unsigned char *ret_sealed);
/* The other way; LEN is that of SEALED, at least CRYPTO_MORE. False when one bit of it, of HEAD or of the key is another. */
bool crypto_decrypt(const unsigned char key[static CRYPTO_KEY], const void *head, size_t head_len,
		    const unsigned char *sealed, size_t len, void *ret_bytes);

#endif
