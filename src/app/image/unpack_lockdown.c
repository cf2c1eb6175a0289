/* SPDX-License-Identifier: Apache-2.0 */
/* What the process that unpacks can still ask of the kernel: memory, and files below one directory. */
#include "app/image/unpack.h"

#include "base/core/own.h"
#include "base/process/seccomp_list.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bits 0 to 12 are those of the first ABI; the second adds renames and links between directories. */
#define RIGHTS_FIRST ((UINT64_C(1) << 13) - 1)
#define RIGHT_REFER (UINT64_C(1) << 13)
#define RIGHT_TRUNCATE (UINT64_C(1) << 14)
#define RIGHT_EXECUTE UINT64_C(1)

#ifdef __SANITIZE_ADDRESS__
/* A sanitizer keeps freed memory and its own records, which count, too. */
#define DATA_BYTES RLIM_INFINITY
#else
/* A dictionary of xz may want 64 MiB, and every directory is remembered until the end. */
#define DATA_BYTES ((rlim_t)1 << 30)
#endif
#define CPU_SECONDS 1800

static int landlock_beneath(int dir_fd)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t handled = RIGHTS_FIRST | RIGHT_REFER | (abi >= 3 ? RIGHT_TRUNCATE : 0);
	/* Hard links between directories need the second ABI. */
	owned(fd_close) int fd =
		abi < 2 ? -1
			: (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	struct landlock_path_beneath_attr rule = { .allowed_access = handled & ~RIGHT_EXECUTE,
						   .parent_fd = dir_fd };

	if (abi < 2)
		errno = EOPNOTSUPP;
	if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -1;
	return (int)syscall(SYS_landlock_restrict_self, fd, 0);
}

static int load_filter(void)
{
	static struct sock_filter code[] = {
		LIST_BEGIN,
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_pwrite64),
		ALLOW(SYS_lseek),
		ALLOW(SYS_close),
		ALLOW(SYS_openat),
		ALLOW(SYS_openat2),
		ALLOW(SYS_fstat),
		ALLOW(SYS_newfstatat),
		ALLOW(SYS_mkdirat),
		ALLOW(SYS_symlinkat),
		ALLOW(SYS_linkat),
		ALLOW(SYS_unlinkat),
		ALLOW(SYS_ftruncate),
		ALLOW(SYS_fchmod),
		ALLOW(SYS_fchmodat),
		ALLOW(SYS_fchown),
		ALLOW(SYS_fchownat),
		ALLOW(SYS_utimensat),
		ALLOW(SYS_fsetxattr),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		ALLOW(SYS_futex),
		ALLOW(SYS_getrandom),
		ALLOW(SYS_geteuid),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigreturn),
		/* A sanitizer asks for it on the way to whatever does not return. */
		ALLOW(SYS_sigaltstack),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		/* A whiteout is a device 0:0; any other one is refused, also to root. */
		IS(SYS_mknodat, 5),
		LOOK_AT(args[3]),
		IS(0, 3),
		LOOK_AT(args[2]),
		IS(S_IFCHR, 1),
		ALLOWED,
		REFUSED,
	};
	static const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return seccomp_list_load(&program);
}

/* Lower limits of the caller's stay. */
static int lower_limit(__rlimit_resource_t resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -1;
	limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

int unpack_lockdown(int dir_fd)
{
	if (lower_limit(RLIMIT_CORE, 0) < 0 || lower_limit(RLIMIT_CPU, CPU_SECONDS) < 0 ||
	    lower_limit(RLIMIT_DATA, DATA_BYTES) < 0 ||
	    lower_limit(RLIMIT_FSIZE, UNPACK_FILE_BYTES) < 0)
		return -1;
	return landlock_beneath(dir_fd) < 0 ? -1 : load_filter();
}
