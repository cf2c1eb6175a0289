/* SPDX-License-Identifier: Apache-2.0 */
/* Names for places: stable, distinct, fit for a directory. */
#include "base/hash/path_hash.h"

#include "tests/tap.h"

#include <string.h>

static void test_is_stable(void)
{
	char name[PATH_HASH_SIZE], other[PATH_HASH_SIZE];

	path_hash('u', "/", name);
	tap_is_str(name, "u-8a5edab282632443", "the root's name is what layers on disk have");
	path_hash('w', "/", other);
	tap_ok(strcmp(other + 1, name + 1) == 0 && other[0] == 'w', "the kind comes first");
	path_hash('u', "/home", other);
	tap_ok(strcmp(other, name) != 0, "another path has another name");
}

int main(void)
{
	test_is_stable();
	return tap_done();
}
