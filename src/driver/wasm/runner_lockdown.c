/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runner gives up before it touches a module: it never executes a program, opens a socket or looks into another
 * process, so code that takes it over through a hole in the engine finds these shut, too. The sandbox's own filter
 * stands beside this one and checks the architecture.
 */
#include "driver/wasm/runner.h"

#include "base/core/own.h"
#include "base/process/seccomp_list.h"

#include <linux/landlock.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

int runner_lockdown(void)
{
	static struct sock_filter code[] = {
		LIST_BEGIN_BESIDE,
		REFUSE(SYS_execve),
		REFUSE(SYS_execveat),
		REFUSE(SYS_socket),
		REFUSE(SYS_ptrace),
		REFUSE(SYS_process_vm_readv),
		REFUSE(SYS_process_vm_writev),
		ALLOWED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return seccomp_list_load(&program);
}

/* The engine may want a thread (to wait for input); a process it never wants. */
int runner_lockdown_run(void)
{
	static struct sock_filter code[] = {
		LIST_BEGIN_BESIDE,
		/* Its flags are in memory, where a filter cannot look: libraries then use the older call. */
		REFUSE_WITH(SYS_clone3, ENOSYS),
#ifdef SYS_fork
		REFUSE(SYS_fork),
		REFUSE(SYS_vfork),
#endif
		REFUSE(SYS_kill),
		REFUSE(SYS_pidfd_send_signal),
		REFUSE(SYS_pidfd_getfd),
		REFUSE(SYS_prlimit64),
		REFUSE(SYS_setpriority),
		REFUSE(SYS_ioprio_set),
		REFUSE(SYS_sched_setaffinity),
		REFUSE(SYS_sched_setscheduler),
		REFUSE(SYS_sched_setparam),
		REFUSE(SYS_sched_setattr),
		REFUSE(SYS_shmget),
		REFUSE(SYS_msgget),
		REFUSE(SYS_semget),
		REFUSE(SYS_mq_open),
		IS(SYS_clone, 4),
		LOOK_AT(args[0]),
		HAS_ANY(CLONE_THREAD, 1),
		ALLOWED,
		REFUSED,
		ALLOWED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return seccomp_list_load(&program);
}

/* Of our own: Debian 12's header ends at ABI 2. */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* from ABI 4 on */
	uint64_t scoped;	     /* from ABI 6 on */
};

#define SCOPE_ALL 3u

static size_t ruleset_size(long abi)
{
	if (abi >= 6)
		return sizeof(struct ruleset);
	return abi >= 4 ? offsetof(struct ruleset, scoped) : sizeof(uint64_t);
}

/* Every right to files that this kernel knows. */
static uint64_t all_rights(long abi)
{
	if (abi >= 5)
		return (1u << 16) - 1;
	return abi >= 3 ? (1u << 15) - 1 : (1u << 14) - 1;
}

static int allow(int rules_fd, int fd, uint64_t rights)
{
	const struct landlock_path_beneath_attr rule = { .allowed_access = rights,
							 .parent_fd = fd };

	return (int)syscall(SYS_landlock_add_rule, rules_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

int runner_lock_files(int workspace_fd, int library_fd)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	const struct ruleset rules = { .handled_access_fs = all_rights(abi), .scoped = SCOPE_ALL };
	const uint64_t devices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
	owned(fd_close) int fd = -1;

	/* Then the result already names this layer as missing. */
	if (abi < 2)
		return 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, ruleset_size(abi), 0);
	if (fd < 0 || allow(fd, workspace_fd, all_rights(abi) & ~devices) < 0)
		return -1;
	if (library_fd >= 0 &&
	    allow(fd, library_fd, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR) < 0)
		return -1;
	return (int)syscall(SYS_landlock_restrict_self, fd, 0);
}
