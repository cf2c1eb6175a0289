/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of files, which Landlock does not hold: the supervisor changes them, beneath the copy alone.
 *
 * The payload's words are read once and never by the kernel: what it writes over them meanwhile changes nothing. A path is
 * resolved from the copy's own descriptor and cannot leave it; a descriptor is taken over and must lead to a file of the
 * copy. The payload owns all that is there, so nothing is done that it might not do itself.
 */
#include "driver/landlock/landlock_parts.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PER_STEP 64
#define FCHMODAT2 452
#define NONE 6 /* no such argument */

enum what { WHAT_MODE, WHAT_OWNER, WHAT_TIMES };
enum times { TIMES_NS, TIMES_US, TIMES_S };

/* Which argument is what. */
static const struct call {
	int nr;
	enum what what;
	uint8_t dir, path, value, flags;
	enum times times;
	bool is_link; /* never followed */
} calls[] = {
	{ SYS_fchmod, WHAT_MODE, 0, NONE, 1, NONE, 0, false },
	{ SYS_fchmodat, WHAT_MODE, 0, 1, 2, NONE, 0, false },
	{ FCHMODAT2, WHAT_MODE, 0, 1, 2, 3, 0, false },
	{ SYS_fchown, WHAT_OWNER, 0, NONE, 1, NONE, 0, false },
	{ SYS_fchownat, WHAT_OWNER, 0, 1, 2, 4, 0, false },
	{ SYS_utimensat, WHAT_TIMES, 0, 1, 2, 3, TIMES_NS, false },
#ifdef SYS_chmod
	{ SYS_chmod, WHAT_MODE, NONE, 0, 1, NONE, 0, false },
	{ SYS_chown, WHAT_OWNER, NONE, 0, 1, NONE, 0, false },
	{ SYS_lchown, WHAT_OWNER, NONE, 0, 1, NONE, 0, true },
	{ SYS_utime, WHAT_TIMES, NONE, 0, 1, NONE, TIMES_S, false },
	{ SYS_utimes, WHAT_TIMES, NONE, 0, 1, NONE, TIMES_US, false },
	{ SYS_futimesat, WHAT_TIMES, 0, 1, 2, NONE, TIMES_US, false },
#endif
};

struct asking {
	const struct copied_task *task;
	const struct notify_event *event;
	const struct call *call;
	int flags;
	int fd; /* what it is about */
};

static uint64_t arg(const struct asking *asking, uint8_t index)
{
	return index == NONE ? 0 : asking->event->args[index];
}

/* The path of a link that the kernel shows of a process; false where it is none of the copy. */
static bool read_place(const struct asking *asking, const char *link, char *ret_path, size_t size)
{
	const char *area = asking->task->area;
	size_t area_len = strlen(area);
	ssize_t len = readlink(link, ret_path, size - 1);

	if (len < 0 || (size_t)len == size - 1)
		return false;
	ret_path[len] = '\0';
	return strncmp(ret_path, area, area_len) == 0 &&
	       (ret_path[area_len] == '/' || !ret_path[area_len]);
}

/* A root caller's copy is a mount of its own: another file below the same path is on another mount. */
static bool is_of_copy(const struct asking *asking)
{
	struct statx found, copy;
	char path[PATH_MAX], link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", asking->fd);
	if (!read_place(asking, link, path, sizeof(path)))
		return false;
	if (asking->task->spec->ids.count <= 1)
		return true;
	(void)snprintf(link, sizeof(link), "/proc/%d/root%s", asking->event->pid,
		       asking->task->area);
	return statx(AT_FDCWD, link, 0, STATX_MNT_ID, &copy) == 0 &&
	       statx(asking->fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &found) == 0 &&
	       found.stx_mask & copy.stx_mask & STATX_MNT_ID && found.stx_mnt_id == copy.stx_mnt_id;
}

/* The directory that the copy, its home and its temporary files lie in is the supervisor's. */
static bool is_area(const struct asking *asking)
{
	struct stat area, found;

	return fstat(asking->task->area_fd, &area) < 0 || fstat(asking->fd, &found) < 0 ||
	       (area.st_dev == found.st_dev && area.st_ino == found.st_ino);
}

static int open_descriptor(struct asking *asking)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", asking->event->pid,
		       (int)arg(asking, asking->call->dir));
	asking->fd = open(link, O_PATH | O_CLOEXEC);
	if (asking->fd < 0)
		return EBADF;
	return is_of_copy(asking) && !is_area(asking) ? 0 : EPERM;
}

/* Where a relative path begins. */
static bool read_base(const struct asking *asking, char *ret_base, size_t size)
{
	int dir = asking->call->dir == NONE ? AT_FDCWD : (int)arg(asking, asking->call->dir);
	char link[64];

	if (dir == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", asking->event->pid);
	else
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", asking->event->pid, dir);
	return read_place(asking, link, ret_base, size);
}

static int open_path(struct asking *asking, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	const char *area = asking->task->area;
	owned(free_ptr) char *whole = NULL;
	char base[PATH_MAX] = "";

	if (asking->call->is_link || asking->flags & AT_SYMLINK_NOFOLLOW)
		how.flags |= O_NOFOLLOW;
	if (path[0] != '/' && !read_base(asking, base, sizeof(base)))
		return EPERM;
	whole = xasprintf("%s/%s", base, path[0] == '/' ? path + 1 : path);
	if (strncmp(whole, area, strlen(area)) != 0 || whole[strlen(area)] != '/')
		return EPERM;
	const char *below = whole + strlen(area);

	below += strspn(below, "/");
	asking->fd = (int)syscall(SYS_openat2, asking->task->area_fd, *below ? below : ".", &how,
				  sizeof(how));
	if (asking->fd < 0)
		return errno == EXDEV ? EPERM : errno;
	return is_area(asking) ? EPERM : 0;
}

/* Opens what the call names. 0, or the errno of the answer. */
static int open_target(struct asking *asking)
{
	char path[PATH_MAX];

	asking->flags = (int)arg(asking, asking->call->flags);
	if (asking->call->path == NONE || arg(asking, asking->call->path) == 0)
		return open_descriptor(asking);
	if (notify_read_text(asking->event->pid, arg(asking, asking->call->path), path,
			     sizeof(path)) < 0)
		return errno == ENAMETOOLONG ? ENAMETOOLONG : EFAULT;
	if (!path[0])
		return asking->flags & AT_EMPTY_PATH ? open_descriptor(asking) : ENOENT;
	return open_path(asking, path);
}

/* Nanoseconds, microseconds or seconds, as the call has them. 0, or an errno. */
static int read_times(const struct asking *asking, struct timespec ret_times[2])
{
	uint64_t address = arg(asking, asking->call->value);
	int64_t words[4];
	size_t size = asking->call->times == TIMES_S ? 2 * sizeof(words[0]) : sizeof(words);

	if (notify_read_bytes(asking->event->pid, address, words, size) != (ssize_t)size)
		return EFAULT;
	for (int i = 0; i < 2; i++) {
		bool is_whole = asking->call->times == TIMES_S;
		int64_t part = is_whole ? 0 : words[2 * i + 1];

		ret_times[i].tv_sec = is_whole ? words[i] : words[2 * i];
		ret_times[i].tv_nsec = (long)(asking->call->times == TIMES_US ? part * 1000 : part);
	}
	return 0;
}

static int set_times(const struct asking *asking, const char *link, bool is_link)
{
	struct timespec times[2];
	bool is_now = arg(asking, asking->call->value) == 0;
	int errnum = is_now ? 0 : read_times(asking, times);

	if (errnum)
		return errnum;
	const struct timespec *given = is_now ? NULL : times;

	return (is_link ? utimensat(asking->fd, "", given, AT_EMPTY_PATH)
			: utimensat(AT_FDCWD, link, given, 0)) < 0
		       ? errno
		       : 0;
}

/* It has one user and its groups, and nothing to give away. */
static int set_owner(const struct asking *asking, const struct stat *st)
{
	uid_t uid = (uid_t)arg(asking, asking->call->value);
	gid_t gid = (gid_t)arg(asking, (uint8_t)(asking->call->value + 1));

	return (uid == (uid_t)-1 || uid == st->st_uid) && (gid == (gid_t)-1 || gid == st->st_gid)
		       ? 0
		       : EPERM;
}

static int set_mode(const struct asking *asking, const char *link, bool is_link)
{
	mode_t mode = (mode_t)arg(asking, asking->call->value) & 07777;

	if (is_link)
		return EOPNOTSUPP;
	if (mode & S_ISUID)
		return EPERM;
	return chmod(link, mode) < 0 ? errno : 0;
}

static int change(const struct asking *asking)
{
	struct stat st;
	char link[40];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", asking->fd);
	if (fstat(asking->fd, &st) < 0)
		return errno;
	bool is_link = S_ISLNK(st.st_mode);

	switch (asking->call->what) {
	case WHAT_MODE:
		return set_mode(asking, link, is_link);
	case WHAT_OWNER:
		return set_owner(asking, &st);
	case WHAT_TIMES:
		return set_times(asking, link, is_link);
	}
	return EPERM;
}

static const struct call *find_call(int nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].nr == nr)
			return &calls[i];
	}
	return NULL;
}

static void answer(struct copied_task *task, const struct notify_event *event)
{
	struct asking asking = {
		.task = task, .event = event, .call = find_call(event->nr), .fd = -1
	};
	const char *layer = asking.call ? "landlock" : "net";
	int errnum = asking.call ? open_target(&asking) : EACCES;
	char what[48];

	/* Should the number have been given to another process, it was that one's memory. */
	if (errnum == 0)
		errnum = notify_is_waiting(task->listener_fd, event->id) ? change(&asking) : EPERM;
	/* Every lookup of a name tries a daemon's socket first, and does without. */
	bool is_reported = asking.call ? errnum == EPERM : (int)event->args[0] != AF_UNIX;

	if (is_reported) {
		(void)snprintf(what, sizeof(what), "%s(2)", event->name ? event->name : "call");
		denials_add(&task->task.denials, layer, what,
			    asking.call ? "only files of the copy" : "no network",
			    "use --driver linux");
	}
	(void)notify_finish(task->listener_fd, event->id, errnum);
	fd_close(&asking.fd);
}

void attribute_handle(struct copied_task *task)
{
	struct notify_event event;

	for (int i = 0; i < PER_STEP; i++) {
		if (notify_receive(task->listener_fd, &event) < 0)
			return;
		if (event.id)
			answer(task, &event);
	}
}
