/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state directory as of one instant: copied while the service runs, then brought up to date while it stands.
 *
 * The copy of a file bears the time of the original's last change as its own, so the second pass knows without a list what
 * has changed, and compares that block by block. Files that are mapped to be written are always compared.
 */
#include "services/instant.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/file/walk.h"
#include "base/text/clean_path.h"
#include "base/text/wildcard.h"
#include "workspace/disk/copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 65536
/* A change within one tick of the kernel's clock may bear the time of the one before. */
#define TICK_NS 20000000

struct state_copy {
	const struct service *service;
	int from_fd, to_fd;
	bool is_final; /* the processes stand */
	struct strv mapped;
	char *outside; /* a link that leads out of the directory */
};

static bool is_dropped(const struct service *service, const char *name)
{
	const char *words = recipe_get(service->recipe, "drop", 0);
	owned(free_ptr) char *list = words ? xstrdup(words) : NULL;
	char *rest = list;

	for (char *one; rest && (one = strsep(&rest, " "));) {
		if (wildcard_matches(one, name, 0))
			return true;
	}
	return false;
}

/* Whether the copy has all that the original has. */
static bool is_same(const struct state_copy *copy, const struct walk_entry *entry)
{
	struct stat st;

	if (fstatat(copy->to_fd, entry->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size != entry->st->stx_size ||
	    st.st_mtim.tv_sec != entry->st->stx_ctime.tv_sec ||
	    st.st_mtim.tv_nsec != (long)entry->st->stx_ctime.tv_nsec)
		return false;
	owned(free_ptr) char *path = xasprintf("%s/%s", copy->service->dir, entry->path);

	return !strv_has_sorted(&copy->mapped, path);
}

/* Writes the blocks of FROM that TO does not have. */
static int update_content(int from, int to)
{
	owned(free_ptr) char *mine = xmalloc(BLOCK), *theirs = xmalloc(BLOCK);
	off_t at = 0;

	for (;;) {
		ssize_t len = fd_read_at(from, theirs, BLOCK, at);
		ssize_t had = len > 0 ? fd_read_at(to, mine, (size_t)len, at) : 0;

		if (len < 0 || had < 0)
			return -1;
		if (len == 0)
			return ftruncate(to, at);
		if ((had != len || memcmp(mine, theirs, (size_t)len) != 0) &&
		    pwrite(to, theirs, (size_t)len, at) != len)
			return -1;
		at += len;
	}
}

static int copy_file(const struct state_copy *copy, const struct walk_entry *entry)
{
	owned(fd_close) int from =
		file_open(entry->dir_fd, entry->name, O_RDONLY | O_NOFOLLOW, NULL);
	owned(fd_close) int to =
		openat(copy->to_fd, entry->path,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = entry->st->stx_ctime.tv_sec,
				       .tv_nsec = entry->st->stx_ctime.tv_nsec } };
	struct timespec now;

	if (from < 0 || to < 0 || update_content(from, to) < 0 ||
	    fchmod(to, entry->st->stx_mode & 0777) < 0)
		return -1;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (clock_ns_of(&now) < clock_ns_of(&times[1]) + TICK_NS)
		times[1].tv_sec = times[1].tv_nsec = 0;
	return futimens(to, times);
}

static int copy_link(struct state_copy *copy, const struct walk_entry *entry)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(entry->dir_fd, entry->name, target, sizeof(target) - 1);

	if (len < 0)
		return -1;
	target[len] = '\0';
	if (strstr(target, "..") ||
	    (target[0] == '/' && !path_is_within(target, copy->service->dir))) {
		free(copy->outside);
		copy->outside = xstrdup(entry->path);
		errno = EXDEV;
		return -1;
	}
	return symlinkat(target, copy->to_fd, entry->path) < 0 && errno != EEXIST ? -1 : 0;
}

static int visit(const struct walk_entry *entry, void *cookie)
{
	struct state_copy *copy = cookie;
	mode_t mode = entry->st->stx_mode;
	int status = 0;

	if (entry->is_leaving)
		return 0;
	if (is_dropped(copy->service, entry->name))
		return WALK_SKIP;
	if (S_ISDIR(mode)) {
		if (mkdirat(copy->to_fd, entry->path, 0700 | (mode & 077)) < 0 && errno != EEXIST)
			status = -1;
	} else if (S_ISREG(mode) && !is_same(copy, entry)) {
		status = copy_file(copy, entry);
	} else if (S_ISLNK(mode)) {
		status = copy_link(copy, entry);
	}
	/* While the service runs, files come and go. */
	return status < 0 && errno == ENOENT && !copy->is_final ? 0 : status;
}

/* What the original has no more goes from the copy. */
static int visit_copy(const struct walk_entry *entry, void *cookie)
{
	const struct state_copy *copy = cookie;
	struct stat st;

	if (fstatat(copy->from_fd, entry->path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!entry->is_leaving || S_ISDIR(st.st_mode))
			return 0;
	} else if (errno != ENOENT) {
		return -1;
	}
	if (!S_ISDIR(entry->st->stx_mode))
		return unlinkat(entry->dir_fd, entry->name, 0);
	return entry->is_leaving ? unlinkat(entry->dir_fd, entry->name, AT_REMOVEDIR) : 0;
}

static int pass(struct state_copy *copy, bool of_copy, uint64_t until_ns)
{
	struct walk walk = { .purpose = copy->is_final ? WALK_REPLACE : WALK_MEASURE,
			     .visit = of_copy ? visit_copy : visit,
			     .cookie = copy,
			     .until_ns = until_ns };

	if (walk_tree(&walk, of_copy ? copy->to_fd : copy->from_fd, ".") < 0)
		return -1;
	if (walk.missed & ~(unsigned)WALK_FAILED) {
		errno = walk.missed & WALK_CLOSED ? EACCES : ETIME;
		return -1;
	}
	return 0;
}

static void explain(const struct state_copy *copy, struct error *err)
{
	const struct service *service = copy->service;

	if (copy->outside)
		error_set(err, ERROR_DENIED,
			  "%s keeps files outside of %s (%s leads there), which are not cloned",
			  service->name, service->dir, copy->outside);
	else if (errno == ETIME)
		service_give_up(service, err);
	else
		error_errno(err, ERROR_HOST, "copy of %s", service->dir);
}

/* Says how it went, or ends where the parent did. */
static void tell(int fd, const struct state_copy *copy, int status)
{
	struct error told = { .code = ERROR_NONE };

	if (status < 0)
		explain(copy, &told);
	if (fd_write_all(fd, &told, sizeof(told)) < 0 || status < 0)
		_exit(1);
}

void state_copy_run(const struct service_task *task, const struct freeze *freeze, int fd)
{
	struct state_copy copy = { .service = task->service, .from_fd = -1, .to_fd = task->dir_fd };
	uint64_t until_ns;
	int status = -1;

	if (service_become(copy.service) == 0)
		copy.from_fd =
			open(copy.service->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Twice: what changes during a long first pass is little after a short second one. */
	if (copy.from_fd >= 0 && pass(&copy, false, 0) == 0)
		status = pass(&copy, false, 0);
	tell(fd, &copy, status);
	if (read(fd, &until_ns, sizeof(until_ns)) != sizeof(until_ns))
		_exit(1);
	copy.is_final = true;
	freeze_mapped(freeze, &copy.mapped);
	status = pass(&copy, false, until_ns) < 0 ? -1 : pass(&copy, true, until_ns);
	tell(fd, &copy, status);
	_exit(0);
}
