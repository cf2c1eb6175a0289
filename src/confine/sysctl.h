/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel quotas of the sandbox's own namespaces: no further namespaces, few inotify instances.
 *
 * Written by the payload process through its own proc instance while init assembles the mounts (a tenth of the price
 * of doing it in line). The bound on mount namespaces comes last: it also counts detached mounts, so every later
 * fsmount in this user namespace would fail.
 */
#ifndef CONFINE_SYSCTL_H
#define CONFINE_SYSCTL_H

#include "base/core/error.h"

#include <stdbool.h>

/* All but the bound on mount namespaces. PROC_FD: root of a proc instance; HAS_IPC: shared memory is its own. No heap. */
int sysctl_apply_early(int proc_fd, bool has_ipc, struct error *err);

/* Opens the bound on mount namespaces for writing, while it can be: /proc/sys becomes read-only. -1 with errno. */
int sysctl_open_last(int proc_fd);

/* Writes it; after the last mount call in this user namespace. */
int sysctl_apply_last(int fd, struct error *err);

#endif
