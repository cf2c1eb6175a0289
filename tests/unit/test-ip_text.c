/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text: as the machine's C library writes them, and as they can be read again. */
#include "tests/tap.h"

#include "base/text/ip_text.h"

#include <arpa/inet.h>
#include <stdint.h>

static void check_v6(const char *text)
{
	uint8_t bytes[16];
	char out[IP_TEXT_SIZE];

	if (inet_pton(AF_INET6, text, bytes) != 1)
		tap_bail(text);
	ip_text_v6(bytes, out);
	tap_is_str(out, text, "%s", text);
}

static void test_known(void)
{
	static const char *const texts[] = {
		"::",
		"::1",
		"1::",
		"::1.2.3.4",
		"::20.77.0.0",
		"::ffff:1.2.3.4",
		"::fffe:102:304",
		"::1:ffff:102:304",
		"2001:db8::1",
		"1:0:2:3:4:5:6:7",
		"0:1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:0",
		"::1:0:0:1:1:1",
		"1::1:0:0:1:1",
		"0:1::1:0:1:1",
		"1:0:0:1::1",
		"1:2:3:4:5:6::",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	};
	static const uint8_t v4[4] = { 255, 0, 10, 255 };
	char out[IP_TEXT_SIZE];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_v6(texts[i]);
	ip_text_v4(v4, out);
	tap_is_str(out, "255.0.10.255", "IPv4");
}

static void test_random(void)
{
	unsigned seed = 20261117, wrong = 0;
	char out[IP_TEXT_SIZE];

	printf("# seed %u\n", seed);
	srandom(seed);
	for (int i = 0; i < 20000; i++) {
		uint8_t bytes[16] = { 0 }, again[16] = { 0 };

		for (size_t at = 0; at < 16; at++) {
			if (random() % 3 == 0)
				bytes[at] = bytes[at ^ 1] = (uint8_t)random();
		}
		ip_text_v6(bytes, out);
		wrong += inet_pton(AF_INET6, out, again) != 1 || memcmp(bytes, again, 16) != 0;
#ifdef __GLIBC__
		char theirs[INET6_ADDRSTRLEN];

		wrong += strcmp(inet_ntop(AF_INET6, bytes, theirs, sizeof(theirs)), out) != 0;
#endif
	}
	tap_is_int(wrong, 0, "what is written is read again, and is as it was written before");
}

int main(void)
{
	test_known();
	test_random();
	return tap_done();
}
