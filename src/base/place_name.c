/* Short file names for places. */
#include "base/place_name.h"

#include "base/sha256.h"

#include <string.h>

void place_name(char kind, const char *path, char ret_name[static PLACE_NAME_SIZE])
{
	char hex[SHA256_HEX_SIZE];

	sha256_hex(path, strlen(path), hex);
	ret_name[0] = kind;
	ret_name[1] = '-';
	memcpy(ret_name + 2, hex, PLACE_NAME_SIZE - 3);
	ret_name[PLACE_NAME_SIZE - 1] = '\0';
}
