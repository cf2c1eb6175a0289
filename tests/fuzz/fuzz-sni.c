/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of TLS clients' first bytes. */
#include "net/rule/sni.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char again[NET_NAME_SIZE];
	struct sni_hello hello;

	if (sni_read(data, size, &hello) != SNI_NAME)
		return 0;
	/* What is compared with rules must be what a rule can say; what goes on must have come. */
	if (!net_name_canonical(hello.name, strlen(hello.name), again) ||
	    strcmp(hello.name, again) != 0 || hello.len > size)
		abort();
	return 0;
}
