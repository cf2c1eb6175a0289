/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures by Ed25519; the one door to the library that makes them. */
#ifndef BASE_ED25519_H
#define BASE_ED25519_H

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
/* Overwrites a secret, also where a compiler would leave it. */
void ed25519_forget(unsigned char secret[static ED25519_SECRET]);

#endif
