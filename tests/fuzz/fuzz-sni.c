/* Fuzzes the reader of TLS clients' first bytes. */
#include "net/sni.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[NET_NAME_SIZE], again[NET_NAME_SIZE];

	if (sni_read(data, size, name) != SNI_NAME)
		return 0;
	/* What is compared with rules must be what a rule can say. */
	if (!net_name_canonical(name, strlen(name), again) || strcmp(name, again) != 0)
		abort();
	return 0;
}
