/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of the promotion engine that change something or wait for the disk: one door, so that a test can stop,
 * fail or kill at each of them.
 *
 * Every function is the call of its name, tried again when a signal interrupts it. In a test build (-Dfaults=true) each
 * call is counted and AISBX_FAULT decides what happens at call N (sys_fault.h).
 */
#ifndef WORKSPACE_SYS_H
#define WORKSPACE_SYS_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

int sys_openat(int dir_fd, const char *path, int flags, mode_t mode);
/* openat2 that neither leaves DIR_FD nor follows a link; paths longer than PATH_MAX are walked in parts. */
int sys_open_beneath(int dir_fd, const char *path, int flags);
ssize_t sys_write(int fd, const void *bytes, size_t len);
/* All of it, over short writes. 0, or -1 with errno. */
int sys_write_all(int fd, const void *bytes, size_t len);
ssize_t sys_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t len);
int sys_clone_range(int to, int from); /* FICLONE */
int sys_ftruncate(int fd, off_t len);
int sys_mkdirat(int dir_fd, const char *path, mode_t mode);
int sys_symlinkat(const char *target, int dir_fd, const char *path);
int sys_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int sys_mknodat(int dir_fd, const char *path, mode_t mode, dev_t dev);
int sys_unlinkat(int dir_fd, const char *path, int flags);
int sys_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int sys_fchmod(int fd, mode_t mode);
int sys_fchmodat(int dir_fd, const char *path, mode_t mode);
int sys_fchownat(int dir_fd, const char *path, uid_t uid, gid_t gid, int flags);
int sys_utimensat(int dir_fd, const char *path, const struct timespec times[2], int flags);
int sys_fsetxattr(int fd, const char *name, const void *value, size_t len);
int sys_fremovexattr(int fd, const char *name);
int sys_lsetxattr(const char *path, const char *name, const void *value, size_t len);
int sys_fsync(int fd);
int sys_fdatasync(int fd);
int sys_syncfs(int fd);
/* Starts writing a file out without waiting, so that many fsyncs share one wait. Ignores failure. */
void sys_start_writing(int fd);
/* A whole tree (base/file/tree.h); ENOENT is no error. */
int sys_remove_tree(int dir_fd, const char *name);

#endif
