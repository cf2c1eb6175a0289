/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What musl lacks, or lacked until lately, of the C library's face that this code is written against. Included before
 * every file of the hot program when that is linked with musl (meson.build says why it is), and nowhere else.
 */
#ifndef BASE_MUSL_H
#define BASE_MUSL_H

/* Later ones have structs of these names, without what came since: the kernel's own count. */
#define statx musl_statx
#define statx_timestamp musl_statx_timestamp
#include <sys/stat.h>
#undef statx
#undef statx_timestamp

#include <asm/unistd.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd __NR_quotactl_fd
#endif

int close_range(unsigned int first, unsigned int last, int flags);
int fsconfig(int fd, unsigned int command, const char *key, const void *value, int more);
int fsmount(int fd, unsigned int flags, unsigned int attributes);
int fsopen(const char *name, unsigned int flags);
int mount_setattr(int dir_fd, const char *path, unsigned int flags, struct mount_attr *attributes,
		  size_t size);
int move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags);
int open_tree(int dir_fd, const char *path, unsigned int flags);
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags);
int statx(int dir_fd, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict ret_status);
const char *strerrordesc_np(int number);

/* Where the kernel, or a filter, lacks faccessat2, musl's own reports every link and file as missing. */
int musl_faccessat(int dir_fd, const char *path, int mode, int flags);
#define faccessat musl_faccessat

/* The machine's own C library's texts of errors, by number: both programs have the same. */
#define MUSL_WORDS 134
extern const char *const musl_words[MUSL_WORDS];

#endif
