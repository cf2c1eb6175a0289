/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on demand: read once from the environment, counted at every call; only in builds with -Dfaults=true. */
#include "workspace/disk/sys_fault.h"

#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are the same number with the same flags. */
#define IOC_SHUTDOWN _IOR('X', 125, uint32_t)
#define SHUTDOWN_FLUSH_LOG 1u
#define SHUTDOWN_DROP_LOG 2u

enum action { ACT_NONE, ACT_KILL, ACT_FAIL, ACT_SHORT, ACT_DROP, ACT_FLUSH, ACT_PAUSE };

struct faults {
	bool is_read;
	unsigned long calls, at;
	enum action action;
	int errnum;
	bool nosync, noexchange, exdev;
};

static const struct {
	const char *word;
	enum action action;
	int errnum;
} words[] = {
	{ "KILL", ACT_KILL, 0 },	{ "SHORT", ACT_SHORT, 0 },
	{ "SHUTDOWN", ACT_DROP, 0 },	{ "SHUTDOWN_FLUSHED", ACT_FLUSH, 0 },
	{ "PAUSE", ACT_PAUSE, 0 },	{ "ENOSPC", ACT_FAIL, ENOSPC },
	{ "EIO", ACT_FAIL, EIO },	{ "EDQUOT", ACT_FAIL, EDQUOT },
	{ "EMFILE", ACT_FAIL, EMFILE }, { "EINTR", ACT_FAIL, EINTR },
	{ "EPERM", ACT_FAIL, EPERM },
};

static void read_word(struct faults *faults, const char *word, size_t len)
{
	char *rest;

	faults->nosync |= len == 6 && strncmp(word, "nosync", len) == 0;
	faults->noexchange |= len == 10 && strncmp(word, "noexchange", len) == 0;
	faults->exdev |= len == 5 && strncmp(word, "exdev", len) == 0;
	unsigned long at = strtoul(word, &rest, 10);

	if (*rest != ':')
		return;
	rest++;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t left = len - (size_t)(rest - word);

		if (strlen(words[i].word) != left || strncmp(rest, words[i].word, left) != 0)
			continue;
		faults->at = at;
		faults->action = words[i].action;
		faults->errnum = words[i].errnum;
	}
}

static struct faults *faults_get(void)
{
	static struct faults faults;
	const char *text = faults.is_read ? NULL : getenv("AISBX_FAULT");

	faults.is_read = true;
	while (text && *text) {
		size_t len = strcspn(text, ",");

		read_word(&faults, text, len);
		text += len + (text[len] == ',');
	}
	return &faults;
}

static void shut_down(uint32_t how)
{
	const char *target = getenv("AISBX_FAULT_TARGET");
	owned(fd_close) int fd = open(target ? target : ".", O_RDONLY | O_CLOEXEC);

	(void)ioctl(fd, IOC_SHUTDOWN, &how);
}

/* The count as it stands: a run that is not killed leaves the number of its calls. */
static void report_count(unsigned long calls)
{
	const char *path = getenv("AISBX_FAULT_COUNT");
	char text[24];

	if (!path)
		return;
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int len = snprintf(text, sizeof(text), "%lu\n", calls);

	if (fd >= 0 && len > 0 && write(fd, text, (size_t)len) < 0)
		abort();
}

int sys_fault(void)
{
	struct faults *faults = faults_get();

	report_count(++faults->calls);
	if (faults->action == ACT_NONE || faults->calls != faults->at)
		return 0;
	switch (faults->action) {
	case ACT_DROP:
	case ACT_FLUSH:
		shut_down(faults->action == ACT_DROP ? SHUTDOWN_DROP_LOG : SHUTDOWN_FLUSH_LOG);
		(void)raise(SIGKILL);
		return 0;
	case ACT_KILL:
		(void)raise(SIGKILL);
		return 0;
	case ACT_PAUSE:
		(void)raise(SIGSTOP);
		return 0;
	case ACT_FAIL:
		errno = faults->errnum;
		return -1;
	case ACT_SHORT:
	case ACT_NONE:
		break;
	}
	return 0;
}

size_t sys_fault_len(size_t len)
{
	const struct faults *faults = faults_get();
	bool is_short = faults->action == ACT_SHORT && faults->calls == faults->at;

	return is_short && len > 1 ? len / 2 : len;
}

bool sys_fault_nosync(void)
{
	return faults_get()->nosync;
}

bool sys_fault_noexchange(void)
{
	return faults_get()->noexchange;
}

static bool is_slot(int fd)
{
	char link[32], path[4096];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path));

	return len >= 5 && memcmp(path + len - 5, "/slot", 5) == 0;
}

bool sys_fault_exdev(int from_fd, int to_fd)
{
	return faults_get()->exdev && is_slot(from_fd) != is_slot(to_fd);
}

static void path_of(int fd, char ret_path[static PATH_MAX])
{
	char link[32];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, ret_path, PATH_MAX - 1);

	ret_path[len < 0 ? 0 : len] = '\0';
}

static void note(const char *line, int len)
{
	const char *path = getenv("AISBX_FAULT_LOG");
	owned(fd_close) int fd =
		path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd >= 0 && (len < 0 || write(fd, line, (size_t)len) != len))
		abort();
}

void sys_fault_note_rename(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	char from_dir[PATH_MAX], to_dir[PATH_MAX], line[4 * PATH_MAX];

	path_of(from_fd, from_dir);
	path_of(to_fd, to_dir);
	note(line, snprintf(line, sizeof(line), "rename %u\t%s/%s\t%s/%s\n", flags, from_dir, from,
			    to_dir, to));
}

void sys_fault_note_sync(const char *what, int fd)
{
	char path[PATH_MAX], line[2 * PATH_MAX];
	struct stat st = { 0 };

	path_of(fd, path);
	(void)fstat(fd, &st);
	note(line,
	     snprintf(line, sizeof(line), "%s %lld\t%s\n", what, (long long)st.st_size, path));
}
