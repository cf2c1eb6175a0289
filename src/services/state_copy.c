/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state directory as of one instant: copied while the service runs, then brought up to date while it stands.
 *
 * The copy of a file bears the time of the original's last change as its own, so the second pass knows without a list what
 * has changed, and compares that block by block. Files that are mapped to be written are always compared.
 */
#include "services/service.h"

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
#include <sys/mman.h>
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

static int explain(const struct state_copy *copy, struct error *err)
{
	const struct service *service = copy->service;

	if (copy->outside)
		return error_set(
			err, ERROR_DENIED,
			"%s keeps files outside of %s (%s leads there), which are not cloned",
			service->name, service->dir, copy->outside);
	if (errno == ETIME)
		return error_set(
			err, ERROR_BUSY,
			"%s would have stood for longer than %d ms: the copy was given up, "
			"and it runs on",
			service->name, SERVICE_PAUSE_MS);
	return error_errno(err, ERROR_HOST, "copy of %s", service->dir);
}

static int copy_state(struct state_copy *copy, uint64_t *ret_pause_us, struct error *err)
{
	struct freeze freeze;
	int status;

	/* Twice: what changes during a long first pass is little after a short second one. */
	if (pass(copy, false, 0) < 0 || pass(copy, false, 0) < 0)
		return explain(copy, err);
	if (freeze_begin(copy->service->pid, SERVICE_PAUSE_MS, &freeze, err) < 0)
		return -1;
	uint64_t until_ns = freeze.began_ns + SERVICE_PAUSE_MS * UINT64_C(1000000) * 9 / 10;

	copy->is_final = true;
	freeze_mapped(&freeze, &copy->mapped);
	status = pass(copy, false, until_ns) < 0 ? -1 : pass(copy, true, until_ns);
	int failed = errno;

	*ret_pause_us = freeze_end(&freeze);
	errno = failed;
	/* Halted ourselves meanwhile, we may have read on behind the watchdog's back. */
	if (status == 0 && *ret_pause_us > SERVICE_PAUSE_MS * UINT64_C(1000)) {
		errno = ETIME;
		status = -1;
	}
	return status < 0 ? explain(copy, err) : 0;
}

struct as_user {
	struct state_copy copy;
	uint64_t *pause_us; /* shared memory */
};

static int copy_as_user(void *cookie, struct error *err)
{
	struct as_user *call = cookie;
	struct state_copy *copy = &call->copy;
	int status;

	copy->from_fd = open(copy->service->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (copy->from_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", copy->service->dir);
	status = copy_state(copy, call->pause_us, err);
	strv_done(&copy->mapped);
	free(copy->outside);
	fd_close(&copy->from_fd);
	return status;
}

int state_copy_frozen(const struct service *service, int dir_fd, uint64_t *ret_pause_us,
		      struct error *err)
{
	struct as_user call = { .copy = { .service = service, .to_fd = dir_fd } };
	int status;

	call.pause_us = mmap(NULL, sizeof(*call.pause_us), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (call.pause_us == MAP_FAILED)
		return error_errno(err, ERROR_HOST, "memory to share");
	status = service_do(service, copy_as_user, &call, err);
	*ret_pause_us = *call.pause_us;
	(void)munmap(call.pause_us, sizeof(*call.pause_us));
	return status;
}
