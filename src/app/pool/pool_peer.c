/* SPDX-License-Identifier: Apache-2.0 */
/* The process at the other end of the daemon's socket, as the kernel shows it. */
#include "app/pool/pool_peer.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "host/host.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's headers have none. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define STATUS_MAX 8192
#define IOPRIO_WHO_PROCESS 1

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

/* Whether the line of KEY is the same in both; a kernel may know no such line. */
static bool is_same_line(const char *peer, const char *own, const char *key)
{
	const char *one = strstr(peer, key), *other = strstr(own, key);

	if (!one || !other)
		return one == other;
	size_t len = strcspn(one + 1, "\n") + 1;

	return strncmp(one, other, len) == 0 && (other[len] == '\n' || !other[len]);
}

/* A whole file of /proc/PID. */
static bool read_fact(int proc_fd, const char *name, char *text, size_t size)
{
	ssize_t got = file_read_small(proc_fd, name, text, size);

	return got > 0 && (size_t)got < size - 1;
}

static bool is_as_confined(int peer_fd, int own_fd)
{
	static const char *const keys[] = {
		"\nUid:",	 "\nGid:",	    "\nGroups:",      "\nCapPrm:",
		"\nCapEff:",	 "\nCapBnd:",	    "\nSeccomp:",     "\nSeccomp_filters:",
		"\nNoNewPrivs:", "\nCpus_allowed:", "\nMems_allowed:"
	};
	char peer[STATUS_MAX], own[STATUS_MAX];

	if (!read_fact(peer_fd, "status", peer, sizeof(peer)) ||
	    !read_fact(own_fd, "status", own, sizeof(own)))
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!is_same_line(peer, own, keys[i]))
			return false;
	}
	/* The profile of a security module; without one it cannot be read. */
	bool has_label = read_fact(peer_fd, "attr/current", peer, sizeof(peer));

	return has_label == read_fact(own_fd, "attr/current", own, sizeof(own)) &&
	       (!has_label || strcmp(peer, own) == 0);
}

static bool is_scheduled_alike(pid_t pid)
{
	/* Not every C library asks the kernel for a scheduler. */
	return getpriority(PRIO_PROCESS, (id_t)pid) == getpriority(PRIO_PROCESS, 0) &&
	       syscall(SYS_sched_getscheduler, pid) == syscall(SYS_sched_getscheduler, 0) &&
	       syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, pid) ==
		       syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
}

static int open_proc(pid_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool pool_peer_is_equal(int fd, struct pool_peer *ret_peer)
{
	static const char *const places[] = { "ns/user", "ns/mnt",    "ns/pid", "ns/net",
					      "ns/time", "ns/cgroup", "root" };
	socklen_t size = sizeof(struct ucred);
	struct ucred peer;

	ret_peer->pidfd = -1;
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
	if (!is_as_confined(peer_fd, own_fd) || !is_scheduled_alike(peer.pid) ||
	    rlimit_read(peer.pid, &ret_peer->limits) < 0 ||
	    !read_fact(peer_fd, "cgroup", ret_peer->groups, sizeof(ret_peer->groups)))
		return false;
	/* As long as it lives its number is not another's: what was read above was about it. */
	if (has_ended(pidfd) || !began || process_began(peer.pid) != began)
		return false;
	ret_peer->pidfd = fd_take(&pidfd);
	ret_peer->pid = peer.pid;
	return true;
}

void pool_peer_done(struct pool_peer *peer)
{
	fd_close(&peer->pidfd);
}

static bool is_same_path(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Found anew: a plan's places are its maker's word. */
static bool are_places_of(const char *text, const struct spec_groups *places)
{
	owned(host_done) struct host host = { 0 };
	struct error ignored;

	if (host_read_groups_of(text, &host, &ignored) < 0)
		return false;
	const struct host_cgroup *found = &host.cgroup;

	return places->unified == (found->kind == CGROUP_V2 && !found->v2_is_own) &&
	       is_same_path(places->v2_path, places->unified ? found->v2_path : NULL) &&
	       is_same_path(places->memory_path, found->memory_path) &&
	       is_same_path(places->pids_path, found->pids_path) &&
	       is_same_path(places->cpu_path, found->cpu_path) &&
	       is_same_path(places->cpuacct_path, found->cpuacct_path);
}

/* Whether GROUP has a directory in the hierarchy of LINE, "NUMBER:CONTROLLERS:PATH". */
static bool has_hierarchy(const struct cgroup *group, const char *line)
{
	const struct {
		const char *name;
		int place;
	} rows[] = { { "memory", group->memory },
		     { "pids", group->pids },
		     { "cpu", group->cpu },
		     { "cpuacct", group->cpuacct } };
	const char *names = line + strcspn(line, ":\n");

	if (group->unified)
		return strncmp(names, "::", 2) == 0;
	while (*names == ':' || *names == ',') {
		size_t len = strcspn(++names, ",:\n");

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			if (rows[i].place >= 0 && strlen(rows[i].name) == len &&
			    strncmp(rows[i].name, names, len) == 0)
				return true;
		}
		names += len;
		if (*names == ':')
			break;
	}
	return false;
}

/* Whether TEXT has the line that begins at LINE. */
static bool has_line(const char *text, const char *line)
{
	size_t len = strcspn(line, "\n");

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		if (strncmp(text, line, len) == 0 && (text[len] == '\n' || !text[len]))
			return true;
	}
	return false;
}

bool pool_peer_is_held(const struct pool_peer *peer, const struct spec_groups *places,
		       const struct cgroup *group)
{
	owned(fd_close) int own_fd = open_proc(getpid());
	char own[PEER_GROUPS_MAX];

	if (own_fd < 0 || !read_fact(own_fd, "cgroup", own, sizeof(own)))
		return false;
	if (!group)
		return strcmp(peer->groups, own) == 0;
	for (const char *line = peer->groups; *line;) {
		if (!has_line(own, line) && !has_hierarchy(group, line))
			return false;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return are_places_of(peer->groups, places);
}
