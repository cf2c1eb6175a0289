/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, part one: memory of each kind, processes, threads (A079, A080, A082, A092). */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ul << 20)

static char *block_of(size_t bytes)
{
	char *block = malloc(bytes);

	if (block)
		memset(block, 0x5a, bytes);
	return block;
}

static unsigned long fill_anonymous(unsigned long mib)
{
	unsigned long done = 0;

	while (done < mib && block_of(MIB))
		done++;
	return done;
}

static unsigned long fill_file(int fd, unsigned long mib)
{
	char *block = block_of(MIB);
	unsigned long done = 0;

	while (fd >= 0 && done < mib && write(fd, block, MIB) == (ssize_t)MIB)
		done++;
	return done;
}

static unsigned long fill_sysv(unsigned long mib)
{
	unsigned long done = 0;

	while (done < mib) {
		int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
		void *map = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

		if (map == (void *)-1)
			break;
		memset(map, 1, MIB);
		done++;
	}
	return done;
}

/* Pipes and socket buffers are kernel memory: the descriptor limit must end it if the memory limit does not. */
static unsigned long fill_buffers(unsigned long mib, bool sockets)
{
	char *block = block_of(64 << 10);
	unsigned long bytes = 0;

	while (bytes < mib * MIB) {
		int fds[2];
		ssize_t len;

		if ((sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds) : pipe(fds)) != 0)
			break;
		fcntl(fds[1], F_SETFL, O_NONBLOCK);
		while ((len = write(fds[1], block, 64 << 10)) > 0)
			bytes += (unsigned long)len;
	}
	return bytes / MIB;
}

static unsigned long fill_queues(unsigned long mib)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	char name[64], block[8192] = { 0 };
	unsigned long bytes = 0;

	for (int i = 0; bytes < mib * MIB; i++) {
		mqd_t queue;

		snprintf(name, sizeof(name), "/escape-%d", i);
		queue = mq_open(name, O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attr);
		if (queue == (mqd_t)-1)
			break;
		while (mq_send(queue, block, sizeof(block), 0) == 0)
			bytes += sizeof(block);
	}
	return bytes / MIB;
}

/* Page tables: one byte in every 2 MiB of a huge mapping. */
static unsigned long fill_tables(unsigned long mib)
{
	size_t span = mib * MIB * 512;
	char *map = mmap(NULL, span, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long done = 0;

	if (map == MAP_FAILED)
		return 0;
	madvise(map, span, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < span; at += 2 * MIB) {
		map[at] = 1;
		done++;
	}
	return done / 128;
}

/* Keeps what was taken, so that whoever only looks from time to time sees it. Ends early, and true, when a child has ended. */
static bool stay(unsigned long seconds, int *ret_status)
{
	const struct timespec tick = { .tv_nsec = 100000000 };

	for (unsigned long i = 0; i < seconds * 10; i++) {
		nanosleep(&tick, NULL);
		if (waitpid(-1, ret_status, WNOHANG) > 0)
			return true;
	}
	return false;
}

/* Memory spread over children; one that was killed ends the try, and what is left of them goes with us. */
static unsigned long fill_children(unsigned long mib, unsigned long seconds)
{
	unsigned long done = 0;
	pid_t group = getpid();
	int status = 0;

	for (; done < mib; done += 8) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			fill_anonymous(8);
			while (getppid() == group)
				sleep(1);
			_exit(0);
		}
		if (waitpid(-1, &status, WNOHANG) > 0)
			break;
	}
	if (WIFSIGNALED(status) || stay(seconds, &status))
		kill(group, SIGKILL);
	return done;
}

struct wish {
	unsigned long mib, seconds;
};

static void *fill_and_tell(void *cookie)
{
	const struct wish *wish = cookie;
	unsigned long got = fill_anonymous(wish->mib);
	int ignored;

	(void)stay(wish->seconds, &ignored);
	report_text("took", "%lu", got);
	exit(0);
}

/* The memory of a process whose first thread has ended: the kernel then lists it as having none. */
static unsigned long fill_without_first_thread(unsigned long mib, unsigned long seconds)
{
	static struct wish wanted;
	pthread_t thread;

	wanted = (struct wish){ mib, seconds };
	if (pthread_create(&thread, NULL, fill_and_tell, &wanted) != 0)
		return 0;
	pthread_exit(NULL);
}

/* A080: ARGV: kind, MiB to take, seconds to keep all of them, 1 unless said. Says how far it came, if it lives to tell. */
int attack_memory(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[0] : "";
	unsigned long mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, got = 0;
	unsigned long seconds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	int ignored;

	if (strcmp(kind, "anon") == 0)
		got = fill_anonymous(mib);
	else if (strcmp(kind, "memfd") == 0)
		got = fill_file(memfd_create("bomb", 0), mib);
	else if (strcmp(kind, "tmpfs") == 0)
		got = fill_file(open("/tmp/bomb", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), mib);
	else if (strcmp(kind, "shm") == 0)
		got = fill_file(open("/dev/shm/bomb", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), mib);
	else if (strcmp(kind, "sysv") == 0)
		got = fill_sysv(mib);
	else if (strcmp(kind, "pipes") == 0 || strcmp(kind, "sockets") == 0)
		got = fill_buffers(mib, kind[0] == 's');
	else if (strcmp(kind, "mqueue") == 0)
		got = fill_queues(mib);
	else if (strcmp(kind, "tables") == 0)
		got = fill_tables(mib);
	else if (strcmp(kind, "children") == 0)
		got = fill_children(mib, seconds);
	else if (strcmp(kind, "headless") == 0)
		got = fill_without_first_thread(mib, seconds);
	else
		return 2;
	if (argc > 2 && got == mib)
		(void)stay(seconds, &ignored);
	report_text("took", "%lu", got);
	return 0;
}

/* A079: children that make children until the kernel says no, for ARGV[4] seconds; behind the tripwire. */
int attack_fork_bomb(int argc, char **argv)
{
	time_t end;
	int refused = 0, made = 0;

	if (argc < 5 || !tripwire_allows(argc, argv))
		return 3;
	end = time(NULL) + atoi(argv[4]);
	while (time(NULL) <= end) {
		pid_t pid = fork();
		struct timespec breath = { .tv_nsec = 10000000 };

		if (pid == 0)
			continue;
		if (pid > 0) {
			made++;
			continue;
		}
		if (refused++ == 0)
			report("fork", -1);
		nanosleep(&breath, NULL);
	}
	return made >= 0 ? 0 : 1;
}

static void *idle_thread(void *arg)
{
	(void)arg;
	sleep(600);
	return NULL;
}

/* A079: threads count as well. */
int attack_thread_bomb(int argc, char **argv)
{
	pthread_attr_t attr;
	int wanted = argc > 0 ? atoi(argv[0]) : 100, made = 0, rc = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32 << 10);
	for (; made < wanted; made++) {
		pthread_t thread;

		rc = pthread_create(&thread, &attr, idle_thread, NULL);
		if (rc != 0)
			break;
	}
	errno = rc;
	report("thread", rc ? -1 : 0);
	report_text("threads", "%d", made);
	/* Without a cgroup the supervisor tells what it sees, ten times a second. */
	usleep(300000);
	return 0;
}

/* A092: ARGV: processes, seconds; each spins. */
int attack_spin(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[0]) : 1, seconds = argc > 1 ? atoi(argv[1]) : 1;
	time_t end = time(NULL) + seconds;

	for (int i = 1; i < processes; i++)
		if (fork() == 0)
			break;
	while (time(NULL) < end)
		;
	while (wait(NULL) > 0)
		;
	return 0;
}

/* A082: ARGV[0] MiB are read from ARGV[1], a file of any size, again and again, and written to a removed file. */
int attack_pagecache(int argc, char **argv)
{
	char *block = block_of(MIB);
	unsigned long mib = argc > 1 ? strtoul(argv[0], NULL, 10) : 0, done = 0;

	while (done < mib) {
		int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
		ssize_t len;

		if (fd < 0)
			return 1;
		while ((len = read(fd, block, MIB)) > 0 && done < mib)
			done += (unsigned long)len >= MIB ? 1 : 0;
		close(fd);
	}
	report_text("read", "%lu", done);
	return 0;
}
