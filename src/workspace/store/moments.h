/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a sandbox began to look at the host's files anew, and until when its changes were listed: sbx/NAME/moments.
 *
 *   fresh NS ALONE   at NS (a file's stamp) its overlays knew no name; since ALONE no process had been inside
 *   place DEV INO BTIME   the directory that the workspace is: first of all when the sandbox is made, then at each mount
 *   left NS          the last process had ended, and its overlays are gone
 *   listed NS        what was done to the top before has been recorded (origin.h)
 *
 * ALONE and the last two by CLOCK_MONOTONIC: only their order counts, and only within one boot. Lines are added by the
 * supervisor and by callers of commands, one write each. What is missing proves nothing, and costs a conflict at worst.
 */
#ifndef WORKSPACE_MOMENTS_H
#define WORKSPACE_MOMENTS_H

#include "workspace/store/sandbox.h"

/* Below DIR_FD, a sandbox's directory. Best effort. */
void moments_add_fresh(int dir_fd, uint64_t now_ns, uint64_t alone_ns);
void moments_add_left(int dir_fd, uint64_t left_ns);
void moments_add_listed(int dir_fd, uint64_t listed_ns);

/* Before the sandbox is mounted. Its lock is held. */
void moments_add_mount(const struct sandbox *sandbox);

/* When a sandbox is made that is no fork: those have changes of an unknown age. */
void moments_add_place(const struct sandbox *sandbox);

/* The last moment that was noted; 0: none. */
uint64_t moments_last_fresh(int dir_fd);

/*
 * *RET_BEFORE_NS: the last moment before everything that the sandbox did to its top and that is not recorded yet; 0:
 * unknown. *RET_IS_SAME_PLACE: the workspace's path leads to the directory that it was when the sandbox was made, and at
 * each mount since.
 */
void moments_look(const struct sandbox *sandbox, uint64_t *ret_before_ns, bool *ret_is_same_place);

#endif
