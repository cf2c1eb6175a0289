/* SPDX-License-Identifier: Apache-2.0 */
/* Short file names for places. */
#include "base/hash/path_hash.h"

#include "base/hash/sha256.h"

#include <string.h>

void path_hash(char kind, const char *path, char ret_name[static PATH_HASH_SIZE])
{
	char hex[SHA256_HEX_SIZE];

	sha256_hex(path, strlen(path), hex);
	ret_name[0] = kind;
	ret_name[1] = '-';
	memcpy(ret_name + 2, hex, PATH_HASH_SIZE - 3);
	ret_name[PATH_HASH_SIZE - 1] = '\0';
}
