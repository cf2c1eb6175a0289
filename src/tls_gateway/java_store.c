/* SPDX-License-Identifier: Apache-2.0 */
/* Big-endian numbers, entries, a digest: sun.security.provider.JavaKeyStore. */
#include "tls_gateway/java_store.h"

#include "base/core/own.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#define MAGIC 0xfeedfeedu
#define VERSION 2u
#define TRUSTED_CERTIFICATE 2u

static void add_number(struct str *out, uint64_t number, unsigned bytes)
{
	while (bytes-- > 0)
		str_add_char(out, (char)(number >> 8 * bytes & 0xff));
}

static void add_text(struct str *out, const char *text)
{
	add_number(out, strlen(text), 2);
	str_add(out, text);
}

bool java_store_add(struct java_store *store, X509 *certificate)
{
	owned(free_ptr) char *alias = xasprintf("%u", store->count);
	unsigned char *der = NULL;
	int len = i2d_X509(certificate, &der);

	if (len < 0)
		return false;
	add_number(&store->entries, TRUSTED_CERTIFICATE, 4);
	add_text(&store->entries, alias);
	/* When it was added. */
	add_number(&store->entries, 0, 8);
	add_text(&store->entries, "X.509");
	add_number(&store->entries, (uint64_t)len, 4);
	str_add_bytes(&store->entries, (const char *)der, (size_t)len);
	store->count++;
	OPENSSL_free(der);
	return true;
}

bool java_store_write(const struct java_store *store, struct str *out)
{
	/* The password in UTF-16, and a constant of the format. */
	static const char before[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	unsigned char digest[SHA_DIGEST_LENGTH];
	owned(str_done) struct str sealed = STR_INIT;
	size_t begin = sizeof(before) - 1;
	bool is_sealed;

	str_add_bytes(&sealed, before, begin);
	add_number(&sealed, MAGIC, 4);
	add_number(&sealed, VERSION, 4);
	add_number(&sealed, store->count, 4);
	str_add_bytes(&sealed, store->entries.data, store->entries.len);
	is_sealed = EVP_Digest(sealed.data, sealed.len, digest, NULL, EVP_sha1(), NULL) == 1;
	str_add_bytes(out, sealed.data + begin, sealed.len - begin);
	str_add_bytes(out, (const char *)digest, sizeof(digest));
	return is_sealed;
}

void java_store_done(struct java_store *store)
{
	str_done(&store->entries);
	*store = (struct java_store){ 0 };
}
