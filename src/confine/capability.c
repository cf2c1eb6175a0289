/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: all five sets emptied, and the door locked behind. */
#include "confine/capability.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECURE_BITS                                                      \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |   \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

#define IDS (1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL)

int capability_lock(void)
{
	if (prctl(PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0) < 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -1;
	/* EINVAL ends the list: this kernel knows no further capability. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	return errno == EINVAL ? 0 : -1;
}

static int set_capabilities(uint32_t first)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	memset(data, 0, sizeof(data));
	data[0].effective = data[0].permitted = first;
	if (syscall(SYS_capset, &header, data) < 0)
		return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int capability_drop(void)
{
	return set_capabilities(0);
}

int capability_keep_ids(void)
{
	return set_capabilities(IDS);
}

/* Whether no set has a capability that is not in ALLOWED, one of the first 32. */
static bool has_at_most(uint32_t allowed)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0 || data[0].inheritable)
		return false;
	return ((data[0].effective | data[0].permitted) & ~allowed) == 0 &&
	       (data[1].effective | data[1].permitted | data[1].inheritable) == 0;
}

bool capability_sets_are_empty(void)
{
	return has_at_most(0);
}

static int assert_at_most(uint32_t allowed)
{
	if (!has_at_most(allowed))
		return -1;
	for (unsigned long cap = 0;; cap++) {
		int bounded = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (bounded < 0)
			break;
		if (bounded || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
			return -1;
	}
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -1;
}

int capability_assert_none(void)
{
	return assert_at_most(0);
}

int capability_assert_ids(void)
{
	return assert_at_most(IDS);
}
