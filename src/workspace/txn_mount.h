/* Mounts, as far as a transaction must tell them apart. */
#ifndef WORKSPACE_TXN_MOUNT_H
#define WORKSPACE_TXN_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* The id of the mount NAME ("" for DIR_FD itself) is on; the device where the kernel has no ids; 0 when it is not there. */
uint64_t mount_of(int dir_fd, const char *name);
/* The path of the top of the mount that PATH is on. Owned. */
char *mount_root_of(const char *path);
/* The absolute path of an open directory; NULL when it has none. Owned. */
char *mount_path_of(int fd);

#endif
