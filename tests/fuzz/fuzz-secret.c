/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the decrypted content of the store of secrets: what is read has sound names and scopes, and is written as it was. */
#include "app/config/secret_store.h"
#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(secret_store_close) struct secret_store store = { 0 };
	owned(free_ptr) unsigned char *again = NULL;
	struct error err;

	if (secret_store_parse(data, size, &store, &err) < 0)
		return 0;
	for (size_t i = 0; i < store.values.count; i++) {
		must(secret_name_is_valid(store.values.items[i].name));
		must(secret_store_find(&store, store.values.items[i].name) == i);
		must(store.notes[i].scopes.count <= SECRET_SCOPES_MAX);
	}
	must(secret_store_format(&store, NULL) == size);
	again = xmalloc(size);
	(void)secret_store_format(&store, again);
	must(size == 0 || memcmp(again, data, size) == 0);
	if (store.values.count > 0)
		secret_store_remove(&store, 0);
	return 0;
}
