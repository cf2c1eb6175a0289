/* SPDX-License-Identifier: Apache-2.0 */
/* The certificates to trust as a Java keystore (JKS): Java reads no PEM files, and every version of it reads this format. */
#ifndef TLS_GATEWAY_JAVA_STORE_H
#define TLS_GATEWAY_JAVA_STORE_H

#include "base/core/str.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

struct java_store {
	struct str entries;
	uint32_t count;
};

bool java_store_add(struct java_store *store, X509 *certificate);
/* Appends the file. The password that seals it is the one that Java's own store has; without one it is read as well. */
bool java_store_write(const struct java_store *store, struct str *out);
void java_store_done(struct java_store *store);

#endif
