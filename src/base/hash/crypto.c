/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures by Ed25519 and encryption by XChaCha20-Poly1305; the one door to the library that makes them. */
#include "base/hash/crypto.h"

#include <sodium.h>
#include <string.h>

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES

_Static_assert(ED25519_PUBLIC == crypto_sign_PUBLICKEYBYTES &&
		       ED25519_SECRET == crypto_sign_SECRETKEYBYTES &&
		       ED25519_SIGNATURE == crypto_sign_BYTES &&
		       CRYPTO_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES &&
		       CRYPTO_SALT == crypto_pwhash_SALTBYTES && CRYPTO_MORE == NONCE + TAG,
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

bool crypto_random(void *ret_bytes, size_t len)
{
	if (sodium_init() < 0)
		return false;
	randombytes_buf(ret_bytes, len);
	return true;
}

bool crypto_derive(const char *passphrase, const unsigned char salt[static CRYPTO_SALT],
		   unsigned char ret_key[static CRYPTO_KEY])
{
	return sodium_init() >= 0 &&
	       crypto_pwhash(ret_key, CRYPTO_KEY, passphrase, strlen(passphrase), salt,
			     crypto_pwhash_OPSLIMIT_MODERATE, crypto_pwhash_MEMLIMIT_MODERATE,
			     crypto_pwhash_ALG_ARGON2ID13) == 0;
}

void crypto_encrypt(const unsigned char key[static CRYPTO_KEY], const void *head, size_t head_len,
		    const void *bytes, size_t len, unsigned char *ret_sealed)
{
	randombytes_buf(ret_sealed, NONCE);
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt(ret_sealed + NONCE, NULL, bytes, len, head,
							 head_len, NULL, ret_sealed, key);
}

bool crypto_decrypt(const unsigned char key[static CRYPTO_KEY], const void *head, size_t head_len,
		    const unsigned char *sealed, size_t len, void *ret_bytes)
{
	return crypto_aead_xchacha20poly1305_ietf_decrypt(ret_bytes, NULL, NULL, sealed + NONCE,
							  len - NONCE, head, head_len, sealed,
							  key) == 0;
}
