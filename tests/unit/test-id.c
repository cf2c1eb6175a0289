/* SPDX-License-Identifier: Apache-2.0 */
/* Identifiers: their form, their order, and that they differ. */
#include "base/core/id.h"
#include "tests/tap.h"

static void test_form(void)
{
	static const unsigned char zeros[ID_RUN_RANDOM], ones[ID_RUN_RANDOM] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
	};
	static const unsigned char steps[ID_RUN_RANDOM] = { 0x08, 0x86, 0x42, 0x98, 0xe8,
							    0x4a, 0x96, 0xc6, 0xb9, 0xf0 };
	char id[ID_RUN_SIZE], later[ID_RUN_SIZE];

	id_run_format(0, zeros, id);
	tap_is_str(id, "00000000000000000000000000", "zero");
	id_run_format((UINT64_C(1) << 48) - 1, ones, id);
	tap_is_str(id, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "the largest");
	id_run_format(1469918176385, zeros, id);
	tap_is_str(id, "01ARYZ6S410000000000000000", "a known time");
	tap_is_int((long long)id_run_epoch_ms(id), 1469918176385, "which can be read again");
	tap_is_int((long long)id_run_epoch_ms("01ARYZ6S41000000000000000"), 0, "too short: none");
	tap_is_int((long long)id_run_epoch_ms("01ARYZ6S41000000000000000I"), 0, "a letter: none");
	id_run_format(1, steps, id);
	tap_is_str(id, "0000000001123456789ABCDEFG", "each five bits are one letter");
	id_run_format(1000, ones, id);
	id_run_format(1001, zeros, later);
	tap_ok(strcmp(id, later) < 0, "a later one sorts behind");
}

static void test_random(void)
{
	static const char letters[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	char ids[200][ID_RUN_SIZE];
	struct error err;
	bool differ = true, form = true, made = true;

	for (int i = 0; i < 200; i++) {
		made &= id_run(ids[i], &err) == 0;
		form &= strlen(ids[i]) == 26 && strspn(ids[i], letters) == 26;
		for (int j = 0; j < i; j++)
			differ &= strcmp(ids[i], ids[j]) != 0;
	}
	tap_ok(made, "ids are made");
	tap_ok(form, "26 letters of the alphabet");
	tap_ok(differ, "no two are the same");
	tap_ok(strncmp(ids[0], "01", 2) == 0, "this century begins with 01");
}

static void test_short(void)
{
	char id[ID_SHORT_SIZE], other[ID_SHORT_SIZE];
	struct error err;

	tap_ok(id_short("s", id, &err) == 0, "a short id is made");
	tap_ok(strncmp(id, "s-", 2) == 0 && strlen(id) == 8 &&
		       strspn(id + 2, "0123456789abcdef") == 6,
	       "%s has its form", id);
	tap_ok(id_short("s", other, &err) == 0 && strcmp(id, other) != 0, "the next one differs");
	tap_ok(id_short("averylongprefix", id, &err) == 0 && strlen(id) == 15, "%s is cut", id);
}

int main(void)
{
	test_form();
	test_random();
	test_short();
	return tap_done();
}
