/* SPDX-License-Identifier: Apache-2.0 */
/* A trust store for Java, which reads no PEM: JKS, which every Java reads whatever type it is told. */
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
