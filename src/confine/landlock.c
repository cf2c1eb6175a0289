/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: the second, independent lock. */
#include "confine/landlock.h"

#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of our own: Debian 12's header ends at ABI 2. */
#define ACCESS_FS_REFER (1ULL << 13)
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* from ABI 4 on */
	uint64_t scoped;	     /* from ABI 6 on */
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static size_t ruleset_size(int abi)
{
	if (abi >= 6)
		return sizeof(struct ruleset);
	return abi >= 4 ? offsetof(struct ruleset, scoped) : sizeof(uint64_t);
}

/*
 * Renames between directories are denied to every landlocked process unless a rule grants them. Executed is what lies
 * below the sandbox's root, and nothing else: at its exec the payload's /proc/self/exe still is the host's aisbx, on the
 * host's mount, and the process that ran it could be reached through it.
 */
static int allow_inside(int ruleset_fd, uint64_t access)
{
	owned(fd_close) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = root_fd };

	if (root_fd < 0)
		return -1;
	return (int)syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule,
			    0);
}

int landlock_apply(int abi, bool executes_outside)
{
	uint64_t inside = ACCESS_FS_REFER | (executes_outside ? 0 : LANDLOCK_ACCESS_FS_EXECUTE);
	struct ruleset rules = {
		.handled_access_fs =
			LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | inside,
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};

	/* ABI 1 has no right to rename between directories at all: every build would break. */
	if (abi < 2) {
		errno = EOPNOTSUPP;
		return -1;
	}
	owned(fd_close) int fd =
		(int)syscall(SYS_landlock_create_ruleset, &rules, ruleset_size(abi), 0);

	if (fd < 0 || allow_inside(fd, inside) < 0)
		return -1;
	return (int)syscall(SYS_landlock_restrict_self, fd, 0);
}

#define ALL_FS 0xffffull
#define ALL_TCP 3ull
/* Rights that files have, too: execute, write, read, truncate, control a device. */
#define OF_FILES ((1ull << 0) | (1ull << 1) | (1ull << 2) | (1ull << 14) | (1ull << 15))

int landlock_ruleset(void)
{
	const struct ruleset rules = { .handled_access_fs = ALL_FS,
				       .handled_access_net = ALL_TCP,
				       .scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL };

	return (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
}

int landlock_allow(int ruleset_fd, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	return (int)syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule,
			    0);
}

int landlock_restrict(int ruleset_fd)
{
	return (int)syscall(SYS_landlock_restrict_self, ruleset_fd, 0);
}
