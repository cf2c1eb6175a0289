/* SPDX-License-Identifier: Apache-2.0 */
/* A run without a name: found by its run id, or by the name that top shows, and reached while it lives. */
#include "base/file/dir.h"
#include "base/core/own.h"
#include "app/sandbox/network_parts.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Whether ENTRY is .SANDBOX.RUN_ID (driver/linux/rules_socket.h) with either of them NAME. A run id has no dot. */
static bool is_called(const char *entry, const char *name)
{
	const char *dot = strrchr(entry, '.');
	size_t len = strlen(name);

	if (entry[0] != '.' || dot == entry)
		return false;
	return strcmp(dot + 1, name) == 0 ||
	       ((size_t)(dot - entry) == len + 1 && memcmp(entry + 1, name, len) == 0);
}

/* By a descriptor: its path may be longer than an address has room for. */
static int reach(int dir_fd, const char *entry, int *ret_fd)
{
	owned(fd_close) int file_fd = openat(dir_fd, entry, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file_fd);
	if (file_fd < 0 || fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		/* No listener: left by a killed one. */
		if (errno == ECONNREFUSED)
			(void)unlinkat(dir_fd, entry, 0);
		return -1;
	}
	*ret_fd = fd_take(&fd);
	return 0;
}

int network_run_reach(const char *name, struct network_place *place, struct error *err)
{
	owned(host_done) struct host host = { 0 };
	owned(free_ptr) char *path = NULL;
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;
	bool is_there = false;

	if (host_read_caller(&host, err) < 0)
		return -1;
	path = xasprintf("%s/live", host.state_dir);
	dir = dir_open(AT_FDCWD, path);
	while (place->supervisor_fd < 0 && dir_next(dir, &entry) > 0) {
		is_there |= strcmp(entry->d_name, name) == 0;
		if (!is_called(entry->d_name, name) ||
		    reach(dirfd(dir), entry->d_name, &place->supervisor_fd) < 0)
			continue;
		place->run_id = xstrdup(strrchr(entry->d_name, '.') + 1);
	}
	if (is_there && !place->run_id)
		return error_set(
			err, ERROR_CONFLICT,
			"%s was started without a network, and runs without one to its end", name);
	return 0;
}
