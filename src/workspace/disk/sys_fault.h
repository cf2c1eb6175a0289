/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on demand, for the crash suites. Without -Dfaults=true these are empty and the compiler drops them.
 *
 * AISBX_FAULT is a list with commas:
 *   N:KILL               the process kills itself before call N
 *   N:ENOSPC EIO EDQUOT EMFILE EINTR EPERM   call N fails so (the others succeed)
 *   N:SHORT              call N, if it is a write, writes half
 *   N:SHUTDOWN           the filesystem of AISBX_FAULT_TARGET stops before call N, its log dropped; then KILL
 *   N:SHUTDOWN_FLUSHED   the same with the log flushed
 *   N:PAUSE              the process stops itself (SIGSTOP) before call N, for a second actor
 *   nosync               syncs do nothing: the negative control
 *   noexchange           no flag of renameat2 is known, as on old network filesystems
 *   exdev                nothing can be renamed into or out of a directory called slot, as between project quotas
 * AISBX_FAULT_COUNT names a file that the number of calls made is written to at the end. AISBX_FAULT_LOG names one that every
 * rename ("rename FLAGS, FROM, TO", with tabs) and every sync that took place ("sync SIZE, PATH"; "syncfs 0, PATH") is written to.
 */
#ifndef WORKSPACE_SYS_FAULT_H
#define WORKSPACE_SYS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef AISBX_FAULTS
/* Counts a call. 0: make it; -1 with errno: it failed. */
int sys_fault(void);
/* How much of LEN bytes the write just counted may write. */
size_t sys_fault_len(size_t len);
bool sys_fault_nosync(void);
bool sys_fault_noexchange(void);
bool sys_fault_exdev(int from_fd, int to_fd);
/* That it was done. */
void sys_fault_note_rename(int from_fd, const char *from, int to_fd, const char *to,
			   unsigned flags);
void sys_fault_note_sync(const char *what, int fd);
#else
static inline int sys_fault(void)
{
	return 0;
}

static inline size_t sys_fault_len(size_t len)
{
	return len;
}

static inline bool sys_fault_nosync(void)
{
	return false;
}

static inline bool sys_fault_noexchange(void)
{
	return false;
}

static inline bool sys_fault_exdev(int from_fd, int to_fd)
{
	(void)from_fd;
	(void)to_fd;
	return false;
}

static inline void sys_fault_note_rename(int from_fd, const char *from, int to_fd, const char *to,
					 unsigned flags)
{
	(void)from_fd;
	(void)from;
	(void)to_fd;
	(void)to;
	(void)flags;
}

static inline void sys_fault_note_sync(const char *what, int fd)
{
	(void)what;
	(void)fd;
}
#endif

#endif
