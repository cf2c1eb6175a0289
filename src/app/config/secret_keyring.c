/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's keyring as a cache for the key that a passphrase gives. */
#include "app/config/secret_keyring.h"

#include "base/core/str.h"

#include <linux/keyctl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The possessor may do all; other processes of the user may see, read and find it. */
#define RIGHTS 0x3f0b0000u

#define NAME_SIZE 96

/* A store that is made anew has another salt: no key is ever taken for another store's. */
static void name_of(const unsigned char *salt, size_t salt_len, char ret_name[static NAME_SIZE])
{
	int len = snprintf(ret_name, NAME_SIZE, "aisbx:secrets:");

	for (size_t i = 0; i < salt_len && len < NAME_SIZE - 3; i++)
		len += snprintf(ret_name + len, NAME_SIZE - (size_t)len, "%02x", salt[i]);
}

static long find(const unsigned char *salt, size_t salt_len)
{
	char name[NAME_SIZE];

	name_of(salt, salt_len, name);
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0);
}

bool secret_keyring_get(const unsigned char *salt, size_t salt_len, unsigned char *ret_key,
			size_t key_len)
{
	long key = find(salt, salt_len);

	return key > 0 && syscall(SYS_keyctl, KEYCTL_READ, key, ret_key, key_len) == (long)key_len;
}

bool secret_keyring_put(const unsigned char *salt, size_t salt_len, const unsigned char *key,
			size_t key_len)
{
	char name[NAME_SIZE];

	name_of(salt, salt_len, name);
	long kept = syscall(SYS_add_key, "user", name, key, key_len, KEY_SPEC_USER_KEYRING);

	if (kept < 0)
		return false;
	(void)syscall(SYS_keyctl, KEYCTL_SETPERM, kept, RIGHTS);
	if (syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, kept, SECRET_KEYRING_HOURS * 3600) == 0)
		return true;
	/* One that stays for ever was not agreed to. */
	(void)syscall(SYS_keyctl, KEYCTL_INVALIDATE, kept);
	return false;
}

void secret_keyring_drop(const unsigned char *salt, size_t salt_len)
{
	long key = find(salt, salt_len);

	if (key > 0)
		(void)syscall(SYS_keyctl, KEYCTL_INVALIDATE, key);
}
