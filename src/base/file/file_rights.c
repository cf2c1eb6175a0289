/* SPDX-License-Identifier: Apache-2.0 */
/* Reading as a program without privileges reads. */
#include "base/file/file_rights.h"

#include "base/core/die.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OVER_FILES (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH)

/* Of the effective capabilities those in KEEP stay, and those in ADD come. */
static int set_effective(uint32_t keep, uint32_t add, uint32_t *ret_before)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	if (syscall(SYS_capget, &header, sets) < 0)
		return -1;
	if (ret_before)
		*ret_before = sets[0].effective;
	sets[0].effective = (sets[0].effective & keep) | add;
	return (int)syscall(SYS_capset, &header, sets);
}

int file_rights_lessen(struct file_rights *ret_rights)
{
	ret_rights->is_less = false;
	if (geteuid() != 0)
		return 0;
	ret_rights->group_count =
		(int)syscall(SYS_getgroups, FILE_RIGHTS_GROUPS, ret_rights->groups);
	if (ret_rights->group_count < 0)
		return -1;
	if (ret_rights->group_count > 0 && syscall(SYS_setgroups, 0, NULL) < 0) {
		/* Root of a user namespace that may not change groups: its sandboxes have the same ones. */
		if (errno != EPERM)
			return -1;
		ret_rights->group_count = 0;
	}
	ret_rights->is_less = true;
	return set_effective(~OVER_FILES, 0, &ret_rights->effective);
}

void file_rights_restore(struct file_rights *rights)
{
	int before = errno;

	if (!rights->is_less)
		return;
	rights->is_less = false;
	if (set_effective(0, rights->effective, NULL) < 0 ||
	    (rights->group_count > 0 &&
	     syscall(SYS_setgroups, rights->group_count, rights->groups) < 0))
		die("cannot take back the rights to files");
	errno = before;
}
