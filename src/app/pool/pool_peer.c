/* SPDX-License-Identifier: Apache-2.0 */
/* The process at the other end of the daemon's socket, as the kernel shows it. */
#include "app/pool/pool_peer.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's headers have none. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define STATUS_MAX 8192
#define GROUPS_TEXT_MAX 8192

/* A descriptor of the process that connected; before 6.5 of the one that has its number now. */
static int open_peer(int fd, pid_t pid)
{
	socklen_t size = sizeof(int);
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
		return pidfd;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool has_ended(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, 0) != 0;
}

static bool is_same_file(int peer_fd, int own_fd, const char *name)
{
	struct stat peer, own;

	return fstatat(peer_fd, name, &peer, 0) == 0 && fstatat(own_fd, name, &own, 0) == 0 &&
	       peer.st_dev == own.st_dev && peer.st_ino == own.st_ino;
}

/* A number of /proc/PID/status; -1 where there is none. */
static long status_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static bool is_no_more_confined(int peer_fd, int own_fd)
{
	static const char *const keys[] = { "\nNoNewPrivs:", "\nSeccomp:", "\nSeccomp_filters:" };
	char peer[STATUS_MAX], own[STATUS_MAX];

	if (file_read_small(peer_fd, "status", peer, sizeof(peer)) <= 0 ||
	    file_read_small(own_fd, "status", own, sizeof(own)) <= 0)
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (status_number(peer, keys[i]) > status_number(own, keys[i]))
			return false;
	}
	return true;
}

static int open_proc(pid_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool pool_peer_is_equal(int fd, pid_t *ret_pid)
{
	static const char *const places[] = { "ns/user", "ns/mnt",    "ns/pid", "ns/net",
					      "ns/time", "ns/cgroup", "root" };
	socklen_t size = sizeof(struct ucred);
	struct ucred peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0 ||
	    peer.uid != geteuid() || peer.gid != getegid())
		return false;
	owned(fd_close) int pidfd = open_peer(fd, peer.pid);
	owned(fd_close) int peer_fd = open_proc(peer.pid), own_fd = open_proc(getpid());
	uint64_t began = process_began(peer.pid);

	if (pidfd < 0 || peer_fd < 0 || own_fd < 0)
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!is_same_file(peer_fd, own_fd, places[i]))
			return false;
	}
	*ret_pid = peer.pid;
	/* As long as it lives its number is not another's: what was read above was about it. */
	return is_no_more_confined(peer_fd, own_fd) && !has_ended(pidfd) && began &&
	       process_began(peer.pid) == began;
}

bool pool_peer_shares_groups(pid_t pid)
{
	owned(fd_close) int peer_fd = open_proc(pid), own_fd = open_proc(getpid());
	char peer[GROUPS_TEXT_MAX], own[GROUPS_TEXT_MAX];

	return peer_fd >= 0 && own_fd >= 0 &&
	       file_read_small(peer_fd, "cgroup", peer, sizeof(peer)) > 0 &&
	       file_read_small(own_fd, "cgroup", own, sizeof(own)) > 0 && strcmp(peer, own) == 0;
}
