/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts, as far as a transaction must distinguish them. */
#ifndef WORKSPACE_TXN_MOUNT_H
#define WORKSPACE_TXN_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* The id of the mount NAME ("" for DIR_FD itself) is on; the device where the kernel has no ids. 0, or -1 with errno. */
int mount_of(int dir_fd, const char *name, uint64_t *ret_mount);
/* The path of the top of the mount that PATH is on, owned; NULL with errno. */
char *mount_root_of(const char *path);
/* The absolute path of an open directory, owned; NULL with errno, ENOENT when it has none. */
char *mount_path_of(int fd);

#endif
