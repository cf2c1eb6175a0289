/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures by Ed25519; the one door to the library that makes them. */
#include "base/hash/ed25519.h"

#include <sodium.h>

_Static_assert(ED25519_PUBLIC == crypto_sign_PUBLICKEYBYTES &&
		       ED25519_SECRET == crypto_sign_SECRETKEYBYTES &&
		       ED25519_SIGNATURE == crypto_sign_BYTES,
	       "the sizes are the library's");

bool ed25519_make(unsigned char ret_public[static ED25519_PUBLIC],
		  unsigned char ret_secret[static ED25519_SECRET])
{
	return sodium_init() >= 0 && crypto_sign_keypair(ret_public, ret_secret) == 0;
}

void ed25519_sign(const unsigned char secret[static ED25519_SECRET], const void *bytes, size_t len,
		  unsigned char ret_signature[static ED25519_SIGNATURE])
{
	(void)crypto_sign_detached(ret_signature, NULL, bytes, len, secret);
}

bool ed25519_holds(const unsigned char public_key[static ED25519_PUBLIC], const void *bytes,
		   size_t len, const unsigned char signature[static ED25519_SIGNATURE])
{
	return crypto_sign_verify_detached(signature, bytes, len, public_key) == 0;
}

void ed25519_forget(unsigned char secret[static ED25519_SECRET])
{
	sodium_memzero(secret, ED25519_SECRET);
}
