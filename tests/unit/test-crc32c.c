/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: known values, and that instruction and table agree on every length and offset. */
#include "base/hash/crc32c.h"
#include "tests/tap.h"

int main(void)
{
	unsigned char bytes[300];
	bool agree = true, parts = true;

	tap_is_int(crc32c(0, "", 0), 0, "nothing has none");
	tap_is_int(crc32c(0, "123456789", 9), 0xe3069283, "the check value");
	memset(bytes, 0, sizeof(bytes));
	tap_is_int(crc32c(0, bytes, 32), 0x8a9136aa, "32 zeros");
	memset(bytes, 0xff, sizeof(bytes));
	tap_is_int(crc32c(0, bytes, 32), 0x62a8ab43, "32 ones");
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 37 + i / 7);
	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; len < sizeof(bytes) - from; len++)
			agree &= crc32c(1, bytes + from, len) ==
				 crc32c_portable(1, bytes + from, len);
	}
	tap_ok(agree, "instruction and table agree");
	for (size_t at = 0; at < sizeof(bytes); at++)
		parts &= crc32c(crc32c(0, bytes, at), bytes + at, sizeof(bytes) - at) ==
			 crc32c(0, bytes, sizeof(bytes));
	tap_ok(parts, "it can be continued anywhere");
	return tap_done();
}
